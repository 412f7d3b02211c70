"""What only lesson 01 needs: texts, exercises, explorers and pictures."""
