"""The exercises of lesson 06; their texts are in ``exercises.toml``."""
