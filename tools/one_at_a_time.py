"""``python tools/one_at_a_time.py COMMAND …``: run a command of the Makefile as soon as no other one runs in this folder.

The lock belongs to the command and to all that it starts: it ends with the last of them, however they end.
"""

import fcntl
import os
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the waiting without a traceback
lock = os.open("Makefile", os.O_RDWR)  # any file that make never replaces
os.set_inheritable(lock, True)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("Another make is installing the course's packages. This one waits for it and then goes on.")
    print("另一個 make 正在安裝課程的套件，等它裝完就會繼續執行。", flush=True)
    fcntl.flock(lock, fcntl.LOCK_EX)
except OSError:
    pass  # a file system without locks
os.execvp(sys.argv[1], sys.argv[1:])
