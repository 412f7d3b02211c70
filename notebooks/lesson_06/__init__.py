"""What only lesson 06 needs: texts, exercise checks, explorers, pictures."""
