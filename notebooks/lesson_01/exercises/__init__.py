"""The exercises of lesson 01; their texts are in ``exercises.toml``."""
