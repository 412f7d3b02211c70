"""A script that behaves like the capstone's forecast.py: it writes a results folder, slowly, and heeds the file stop."""

import json
import math
import os
import sys
import time
from pathlib import Path

folder, steps, pause, end = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
if end == "never begins":
    raise ValueError("--batch 63 must be a multiple of 2 ranks")
first = os.environ.get("RANK", "0") == "0"
if first:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"steps": steps, "epochs": 4, "name": "made up"}))
    print(f"results: {folder}", flush=True)


def append(name: str, line: dict) -> None:
    if first:
        with (folder / name).open("a") as file:
            file.write(json.dumps(line) + "\n")


start = time.monotonic()
stopped = False
for step in range(1, steps + 1):
    time.sleep(pause)
    line = {"step": step, "epoch": (step - 1) * 4 // steps, "seconds": time.monotonic() - start}
    line |= {"loss": math.exp(-step / steps), "windows_per_second": 64 / pause}
    append("log.jsonl", line | ({"val_mse": 0.5 + 1 / step} if step * 4 % steps == 0 else {}))
    device = {"device": "cpu", "name": "made-up <processor>", "busy": 50.0, "memory": 2e9, "total": 8e9}
    append("devices.jsonl", device | {"seconds": time.monotonic() - start, "cost": 0.001 * step})
    if step == steps // 2 and end == "fails":
        if first:
            time.sleep(600)  # until torchrun stops it
        raise RuntimeError("CUDA error: out of memory")
    if (folder / "stop").exists() and end != "deaf":
        stopped = True
        break
if first and stopped:
    (folder / "checkpoint.pt").write_text("all that the next step needs")
    print(f"stopped: resume with --resume {folder}")
elif first:
    (folder / "metrics.json").write_text(json.dumps({"windows_per_second": 64 / pause}))
