"""What only lesson 03 needs: texts, exercises, explorers and a histogram."""
