"""What only lesson 07 needs: texts, exercise checks, explorers, pictures."""
