"""Run the whole course on a CUDA machine and pack the results into one archive, which another command reads.

``python -m tools.verify_gpu`` runs the steps (`steps`) in processes of their own (`session`), judges their results
(`findings`) and packs it (`archive`). ``python -m tools.take_evidence ARCHIVE`` puts the evidence into the course.
"""
