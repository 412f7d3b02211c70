"""Explain error messages: a catalogue of known errors (data), a matcher, and cards that show an entry."""
