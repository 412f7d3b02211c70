"""``python tools/quietly.py LOG COMMAND …``: run a command whose output goes to a file; say now and then that it goes on.

Only if it fails, the end of the file is printed. (Standard library only: the environment is not there yet.)
"""

import subprocess
import sys
import time

PATIENCE = 20  # seconds between two lines

log, *command = sys.argv[1:]
begin = time.monotonic()
with open(log, "wb") as output:
    running = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    while True:
        try:
            status = running.wait(timeout=PATIENCE)
            break
        except subprocess.TimeoutExpired:
            print(f"  … {time.monotonic() - begin:.0f} s ({log})", flush=True)
        except KeyboardInterrupt:  # the command was told as well
            status = running.wait() and 130
            break
if status and status != 130:
    with open(log, encoding="utf-8", errors="replace") as file:
        print("".join(file.readlines()[-15:]), end="")
sys.exit(status)
