"""Diagnose CUDA on this machine: probes collect evidence, rules turn it into causes, and a report shows them."""

QUESTIONS = ("cuda", "slow", "hang")
