"""The exercises of lesson 05, data parallelism: the same verdict with 0, 1 or N GPUs; texts: ``exercises.toml``."""
