"""What the tests of a file cost is printed, also of several processes, with those that a test waited for."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUSY = "import time\nwhile time.process_time() < 0.4: pass"
TESTS = {
    "test_here.py": f"def test():\n    exec({BUSY!r}.replace('0.4', str(__import__('time').process_time() + 0.4)))",
    "test_child.py": f"import subprocess, sys\ndef test():\n    subprocess.run([sys.executable, '-c', {BUSY!r}])",
    "test_left.py": "import subprocess, sys\nleft = []\ndef test():\n"
    f"    left.append(subprocess.Popen([sys.executable, '-c', {BUSY + chr(10)!r} + 'print()'], stdout=-1))\n"
    "    left[0].stdout.readline()",  # and is not waited for
    "test_idle.py": "def test(): pass",
}


@pytest.mark.parametrize(
    "processes", [pytest.param([], marks=pytest.mark.nightly), ["-n2", "--dist=loadfile"]]
)
def test_each_file_is_listed_with_its_seconds(processes: list[str], tmp_path: Path) -> None:
    for name, source in TESTS.items():
        (tmp_path / name).write_text(source)
    options = ["-q", "-p", "xdist", "-p", "tools.cpu_seconds", f"--rootdir={tmp_path}", *processes]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    printed = subprocess.run(command, cwd=ROOT, env=quick, capture_output=True, text=True, timeout=200).stdout
    seconds = {
        name: float(value) for value, name in re.findall(r"([\d.]+)  .*?(test_\w+\.py)$", printed, re.M)
    }
    assert set(seconds) == set(TESTS), printed
    left = seconds.pop("test_left.py")
    assert min(seconds["test_here.py"], seconds["test_child.py"]) >= 0.35 > seconds["test_idle.py"]
    assert left >= 0.35 or sys.platform != "linux"
