"""What only lesson 00 needs: its texts, its exercise, and the map of the course."""
