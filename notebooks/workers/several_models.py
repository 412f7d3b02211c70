"""Run forecast.py several times, one after the other, in one process: several_models.py SCRIPT OPTIONS OWN-OPTIONS …

PyTorch is imported once for all.
"""

import os
import runpy
import sys
from pathlib import Path

script, options, *runs = sys.argv[1:]
sys.path.insert(0, str(Path(script).parent))
os.environ.pop("RANK", None)  # as with `python forecast.py`: no process group

for own in runs:
    sys.argv = [script, *options.split(), *own.split()]
    runpy.run_path(script, run_name="__main__")  # it makes an optimizer and trains
