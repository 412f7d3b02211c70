"""The exercise of lesson 00; its texts are in ``exercises.toml``."""
