"""Run the lessons on staged machines: other instruction sets, threads, memory, fonts, compilers, releases.

``python -m tools.machines`` runs them, ``--list`` says what there is. A machine is a record in `catalogue`; what it
consists of is in `staging`, which also asks the staged machine itself whether it is what it should be.
"""
