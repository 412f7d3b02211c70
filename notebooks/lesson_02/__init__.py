"""What only lesson 02 needs: texts, exercises, explorers, and a checkpoint from another machine."""
