"""The exercises of lesson 02; their texts are in ``exercises.toml``."""
