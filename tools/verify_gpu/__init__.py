"""The whole course on a CUDA machine, in one command that leaves one archive; and a second that reads it at home.

``python -m tools.verify_gpu`` runs the steps (`steps`) in processes of their own (`session`), judges what they left
(`findings`) and packs it (`archive`). ``python -m tools.take_evidence ARCHIVE`` puts the evidence into the course.
"""
