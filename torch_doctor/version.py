"""The version of torch_doctor, in a module of its own: the build reads it, and the report names it."""

__version__ = "0.2.0"
