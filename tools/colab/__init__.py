"""Colab, as far as it can be staged: what it has installed, a run with those versions, outputs in frames of their own."""
