"""Fresh processes: what they print, what they are told, and how they fail."""

import os
import time

import pytest

from course_utils.fresh_process import run_fresh


def test_what_it_prints_comes_back() -> None:
    assert run_fresh("print('  two\\nlines 中文 ')") == "two\nlines 中文"
    assert run_fresh("") == ""


def test_it_is_another_process_with_the_same_python() -> None:
    import sys

    where, number = run_fresh("import os, sys; print(sys.executable); print(os.getpid())").splitlines()
    assert where == sys.executable and int(number) != os.getpid()


def test_variables_are_set_for_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_TEST_KEPT", "kept")
    code = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'], os.environ['COURSE_TEST_KEPT'])"
    assert run_fresh(code, CUDA_VISIBLE_DEVICES="2,0") == "2,0 kept"
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


@pytest.mark.parametrize("code, words", [
    ("raise ValueError('on purpose')", "ended with status 1:(?s:.*)ValueError: on purpose"),
    ("import sys; sys.exit(3)", "ended with status 3"),
    ("this is no Python", "SyntaxError"),
])  # fmt: skip
def test_a_failure_is_told_with_its_reason(code: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        run_fresh(code)


def test_a_program_that_does_not_end_is_stopped() -> None:
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="still running after 0.5 seconds"):
        run_fresh("while True: pass", seconds=0.5)
    assert time.monotonic() - start < 60


def test_its_children_do_not_keep_us_waiting() -> None:
    """A child that inherits the pipe must not hold the caller after the time limit."""
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(100)'])"
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="still running"):
        run_fresh(code, seconds=1)
    assert time.monotonic() - start < 60
