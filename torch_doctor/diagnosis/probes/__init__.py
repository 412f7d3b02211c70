"""The probes. Each file runs in a subprocess of its own with a timeout, and imports nothing of this package.

A probe is a function ``probe(root, emit)``: `root` is ``"/"``, or the folder of a made-up machine in the tests;
``emit(name=value, …)`` reports at once what was found, so that it is not lost if the probe is killed later. Probes only
read.
"""
