"""Fresh processes: what they print, what they are told, and how they fail."""

import os
import sys
import time

import pytest

from course_utils.fresh_process import run_fresh


def test_what_another_process_with_the_same_python_prints_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_TEST_KEPT", "kept 中文")
    code = "import os, sys; print('  ', sys.executable, os.getpid(), os.environ['NEW'], os.environ['COURSE_TEST_KEPT'])"
    where, number, rest = run_fresh(code, NEW="2,0").split(" ", 2)
    assert where == sys.executable and int(number) != os.getpid() and rest == "2,0 kept 中文"
    assert "NEW" not in os.environ and run_fresh("") == ""


@pytest.mark.parametrize("code, words", [
    ("raise ValueError('on purpose')", "ended with status 1:(?s:.*)ValueError: on purpose"),
    ("import sys; sys.exit(3)", "ended with status 3"),
    # a child that inherits the pipe must not hold the caller after the time limit
    ("import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(100)'])", "still running after 0.5 s"),
])  # fmt: skip
def test_a_failure_is_told_with_its_reason(code: str, words: str) -> None:
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=words):
        run_fresh(code, seconds=0.5 if "still" in words else 60)
    assert time.monotonic() - start < 60
