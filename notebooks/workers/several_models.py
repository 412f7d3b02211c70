"""Run forecast.py for several models, one after the other, in one process: several_models.py SCRIPT OPTIONS MODEL=EPOCHS …

PyTorch is imported once for all.
"""

import os
import runpy
import sys
from pathlib import Path

script, options, *models = sys.argv[1:]
sys.path.insert(0, str(Path(script).parent))
os.environ.pop("RANK", None)  # as with `python forecast.py`: no process group

for model in models:
    name, _, epochs = model.partition("=")
    sys.argv = [script, *options.split(), "--model", name, "--epochs", epochs]
    runpy.run_path(script, run_name="__main__")  # it makes an optimizer and trains
