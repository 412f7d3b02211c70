"""Typical wrong answers to the exercises with scripts: source, and words of the hint in English and Chinese."""

from __future__ import annotations

from functools import partial

from lesson_07.check_scripts import SCRIPTS
from shared.script_exercise import changed

_save_once, _resume = (partial(changed, SCRIPTS / f"{name}_solution.py") for name in ("save_once", "resume"))
_REPLACE = '    os.replace("checkpoint.part", "checkpoint.pt")\n'

WRONG_SCRIPTS: dict[str, list[tuple[str, str, str]]] = {
    "save_once": [
        (_save_once(("if rank == 0:\n", "if rank >= 0:\n"), (_REPLACE, '    if rank == 0:\n        os.replace("checkpoint.part", "checkpoint.pt")\n')), "Both ranks write", "兩個 rank 都在寫"),
        (_save_once(("if rank == 0", 'if os.environ["LOCAL_RANK"] == "0"')), "once on every machine", "每台機器都有一個"),
        (_save_once(("rank == 0", "rank == 1")), "there is no rank 1", "就沒有 rank 1 了"),
        (_save_once(("checkpoint.part\")  #", "checkpoint.pt\")  #"), (_REPLACE, "")), "straight into `checkpoint.pt`", "直接寫進 `checkpoint.pt`"),
        (_save_once(("import os\n", "import os, shutil\n"), ("os.replace(", "shutil.copy(")), "in one step", "一步"),
        (_save_once((_REPLACE, "")), "the file is not there", "找不到檔案"),
        (_save_once(("dist.barrier()\n", "")), "the file is not there", "找不到檔案"),
        (_save_once(("dist.barrier()", "time.sleep(2.5)")), "nothing makes rank 1 wait", "無法確保 rank 1 會等到檔案寫好"),
        (_save_once(("dist.barrier()", "    dist.barrier()")), "It stands in an `if` that rank 1 did not enter", "rank 1 沒有進入的 `if`"),
        (_save_once(("dist.barrier()", "    dist.barrier()"), ("weights =", "time.sleep(2)\nweights =")), "out of step", "沒有同步"),
        (_save_once(("weights = torch.load", "weights = rank and [] or torch.load"), ("rank and []", "rank and [1]")), "Rank 1 does not read", "rank 1 沒有讀取"),
    ],
    "resume": [
        (_resume(('first = state["epoch"] + 1', "first = 0")), "began with epoch 0", "從第 0 個開始"),
        (_resume(("if found:", "if rank == 0 and found:")), "rank 0 has reached its end after 20 steps, rank 1 waits in line 32 after 20 steps", "rank 1 更新 20 步後在第 32 行等待"),
        (_resume(('state["epoch"] + 1', "2")), "fits this interruption only", "只適用於這一次"),
        (_resume(('["epoch"] + 1', '["epoch"]')), "your script goes on with [1]", "從 [1] 接續"),
        (_resume(('    ddp.module.load_state_dict(state["model"])\n', "")), "not those of the checkpoint", "不是檢查點裡的"),
        (_resume(('    optimizer.load_state_dict(state["optimizer"])\n', "")), "forgotten its momentum", "動量沒有還原"),
        (_resume(("ddp.module.load_state_dict", "ddp.load_state_dict")), "Missing key(s) in state_dict", "Missing key(s) in state_dict"),
        (_resume(("range(first, 4)", "range(first, first + 4)")), "your script makes 40", "做了 40 步"),
    ],
}  # fmt: skip
