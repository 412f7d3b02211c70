"""torchrun, as its command starts it; which ranks failed, and how, is written down for the notebook.

Started by `supervisor` as a script, in a process of its own.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import main as torchrun


def main() -> int:
    """Run torchrun with the words of the command line and return its exit status."""
    try:
        torchrun()
        return 0
    except SystemExit as end:  # torchrun does not know an option, say
        return end.code if isinstance(end.code, int) else 1
    except ChildFailedError as error:
        statuses = {rank: failure.exitcode for rank, failure in error.failures.items()}
        path = os.path.join(os.environ["COURSE_RUN_FOLDER"], f"agent-{os.getpid()}")
        with open(f"{path}.part", "w") as file:
            json.dump(statuses, file)
        os.replace(f"{path}.part", f"{path}.json")  # never seen half written
    except BaseException:
        traceback.print_exc()
    return 1


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # half a second earlier than PyTorch would be unloaded
