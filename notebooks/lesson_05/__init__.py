"""What only lesson 05 needs: texts, exercise checks, explorers, pictures."""
