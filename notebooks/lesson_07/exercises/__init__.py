"""The exercises of lesson 07; their texts are in ``exercises.toml``."""
