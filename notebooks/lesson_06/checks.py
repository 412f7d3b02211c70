"""The exercises of lesson 06: those that run in the notebook, and the scripts for two processes."""

from __future__ import annotations

from lesson_06 import check_kernel, check_scripts

EXERCISES = (*check_kernel.EXERCISES, *check_scripts.EXERCISES)
