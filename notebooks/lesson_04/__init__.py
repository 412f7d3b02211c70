"""What only lesson 04 needs: texts, exercise checks, explorers, pictures."""
