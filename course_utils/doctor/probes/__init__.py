"""The questions themselves. Each file stands alone: it is run in a process of its own, with a time limit.

A probe is a function ``probe(root, emit)``: `root` is ``"/"``, or the folder of a made-up machine in the tests, and
``emit(name=value, …)`` reports what was found so far, so that nothing is lost when the rest takes too long. Probes
only read.
"""
