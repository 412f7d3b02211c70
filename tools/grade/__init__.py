"""Grading: execute the exercises of handed-in notebooks again, each in a sandbox, and count points."""
