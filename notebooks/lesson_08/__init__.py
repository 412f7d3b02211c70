"""The room of lesson 08, the capstone."""
