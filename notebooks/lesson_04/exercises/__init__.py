"""The exercises of lesson 04, judged with simulations and counters, so that no GPU is needed; texts: ``exercises.toml``."""
