"""Tools for authors and CI. Lessons and course_utils never import from here."""
