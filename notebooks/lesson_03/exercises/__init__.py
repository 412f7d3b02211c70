"""The exercises of lesson 03, data types and batch size; their texts are in ``exercises.toml``."""
