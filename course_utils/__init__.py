"""What every lesson uses: setup, measuring, claims, predictions, exercises, figures, launching processes.

What is taught is plain PyTorch in the notebooks; only the plumbing is here.
"""

import logging

from bilingual import Bilingual
from course_utils.claims import claim
from course_utils.exercise_card import check
from course_utils.fresh_process import run_fresh
from course_utils.lesson_gpus import choose_card, gpus
from course_utils.lesson_setup import setup
from course_utils.machine import smi_query, try_gpu
from course_utils.measure import best_time, compare
from course_utils.predictions import predict, reveal
from course_utils.tables import facts, message
from course_utils.torch_state import preserved_state
from notebook_torchrun import launch

__all__ = [
    "Bilingual",
    "best_time",
    "check",
    "choose_card",
    "claim",
    "compare",
    "facts",
    "figures",  # noqa: F822  (a subpackage, imported by `from course_utils import figures`, and matplotlib with it)
    "gpus",
    "launch",
    "message",
    "predict",
    "preserved_state",
    "reveal",
    "run_fresh",
    "setup",
    "smi_query",
    "try_gpu",
]

# Matplotlib tells on stderr what it does where it cannot write to the home, and when it looks for fonts on a slow
# machine. Neither needs an answer, and both would come out of a lesson's first cell.
_EXPECTED = ("mkdir -p failed for path", "created a temporary cache directory", "is building the font cache")
for _name in ("matplotlib", "matplotlib.font_manager"):
    logging.getLogger(_name).addFilter(
        lambda record: not any(text in record.getMessage() for text in _EXPECTED)
    )
