"""The exercises of lesson 08; their texts are in ``exercises.toml``."""
