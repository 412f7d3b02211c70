"""What is remembered between notebooks: losing it costs a click, and never more."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock

from course_utils import progress, store

DAMAGED = [
    b"",
    b"{",
    b"\xff\xfe",
    b"[1, 2]",
    b"7",
    b"null",
    b'"text"',
    b'{"01": 3}',
    b'{"01": null}',
    b'{"01": "on_gpu"}',
    b'{"01": [["a"], {}]}',
    b'{"01": {"on_gpu": "\\udc80"}}',
    b'{"00": ' + b'{"a":' * 800 + b"1" + b"}" * 800 + b"}",
    b"[" * 100_000,
]


def left(data: Path) -> list[str]:
    """Return the names of the files in the course's folder without the locks, which stay."""
    return sorted(path.name for path in data.iterdir() if path.suffix != ".lock")


def test_nothing_is_remembered_at_first(data: Path) -> None:
    assert store.read("progress") == {} and progress.solved("01") == set()
    assert not data.exists(), "reading may not write"


def test_what_is_written_is_read_again(data: Path) -> None:
    assert store.write("settings", {"language": "zh", "name": "中文"})
    assert store.read("settings") == {"language": "zh", "name": "中文"}
    assert [path.name for path in data.iterdir()] == ["settings.json"], "no temporary file is left"


def test_solved_exercises_are_remembered() -> None:
    progress.solve("01", "on_gpu")
    progress.solve("02", "mover")
    progress.solve("01", "physical")
    assert progress.solved("01") == {"on_gpu", "physical"}
    assert progress.solved("02") == {"mover"}


def test_the_first_day_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    store.write("progress", {"01": {"on_gpu": "2020-02-02"}})
    progress.solve("01", "on_gpu")
    assert store.read("progress") == {"01": {"on_gpu": "2020-02-02"}}


def test_progress_outlives_the_process() -> None:
    code = "from course_utils import progress; progress.solve('01', 'on_gpu')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert progress.solved("01") == {"on_gpu"}


@pytest.mark.parametrize("content", DAMAGED, ids=lambda content: repr(content[:24]))
def test_a_damaged_file_harms_nothing(content: bytes, data: Path) -> None:
    data.mkdir()
    (data / "progress.json").write_bytes(content)
    before = progress.solved("01")
    progress.solve("01", "physical")
    assert progress.solved("01") == before | {"physical"}


def test_progress_of_other_lessons_survives_a_damaged_one() -> None:
    store.write("progress", {"01": [3], "02": {"mover": "2020-02-02"}})
    progress.solve("01", "physical")
    assert progress.solved("01") == {"physical"} and progress.solved("02") == {"mover"}


def test_a_deleted_file_harms_nothing(data: Path) -> None:
    progress.solve("01", "on_gpu")
    (data / "progress.json").unlink()
    assert progress.solved("01") == set()
    progress.solve("01", "physical")
    assert progress.solved("01") == {"physical"}


def test_a_deleted_folder_harms_nothing(data: Path) -> None:
    progress.solve("01", "on_gpu")
    shutil.rmtree(data)
    progress.solve("01", "physical")
    assert progress.solved("01") == {"physical"}


# --- where nothing can be written -------------------------------------------------------------------


def unwritable(how: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the course's folder one in which nothing can be saved."""
    if how == "a file in its place":
        data.write_text("in the way")
    elif how == "a folder in the file's place":
        (data / "progress.json").mkdir(parents=True)
        (data / "progress.json" / "full").touch()
    elif how == "read-only":
        data.mkdir()

        def refuse(*_: object, **__: object) -> None:
            raise OSError(errno.EROFS, "Read-only file system")

        monkeypatch.setattr(tempfile, "mkstemp", refuse)
    elif how == "disk full":
        real = os.fdopen

        def full(handle: int, *mode: str, **options: str) -> object:
            file = real(handle, *mode, **options)

            def write(_: str) -> int:
                raise OSError(errno.ENOSPC, "No space left on device")

            monkeypatch.setattr(file, "write", write, raising=False)
            return file

        monkeypatch.setattr(os, "fdopen", full)


@pytest.mark.parametrize(
    "how", ["a file in its place", "a folder in the file's place", "read-only", "disk full"]
)
def test_where_nothing_can_be_saved_nothing_breaks(
    how: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwritable(how, data, monkeypatch)
    assert store.write("progress", {"01": {}}) is False
    progress.solve("01", "on_gpu")
    assert progress.solved("01") == set()
    if data.is_dir():
        assert not list(data.glob(".progress-*")), "no temporary file is left"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_harms_nothing(data: Path) -> None:
    data.mkdir(mode=0o500)
    progress.solve("01", "on_gpu")
    assert progress.solved("01") == set()


def test_an_interrupted_write_leaves_the_old_file_whole(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress.solve("01", "on_gpu")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "replace", interrupted)
        progress.solve("01", "physical")
    assert progress.solved("01") == {"on_gpu"}
    assert left(data) == ["progress.json"]
    with FileLock(data / ".progress.lock", timeout=0):
        pass  # it is free again
    progress.solve("01", "physical")
    assert progress.solved("01") == {"on_gpu", "physical"}


def test_many_writers_at_once_lose_nothing(data: Path) -> None:
    """Notebooks may save in the same moment: none may fail, leave half a file, or undo what another one saved."""
    code = (
        "import sys; from course_utils import progress, store\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "for number in range(60):\n"
        "    progress.solve('01', f'{sys.argv[1]}-{number}')\n"
        "    assert isinstance(store.read('progress')['01'], dict)\n"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(writer)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for writer in range(3)
    ]  # fmt: skip
    for writer in writers:  # all have imported the package before one begins
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    assert progress.solved("01") == {f"{writer}-{number}" for writer in range(3) for number in range(60)}
    assert left(data) == ["progress.json"]


def test_a_lock_that_is_never_freed_harms_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LONGEST_WAIT", 0.05)
    data.mkdir()
    with FileLock(data / ".progress.lock"):
        progress.solve("01", "on_gpu")
    assert progress.solved("01") == {"on_gpu"}


def test_where_nothing_can_be_locked_it_is_saved_all_the_same(data: Path) -> None:
    (data / ".progress.lock").mkdir(parents=True)
    progress.solve("01", "on_gpu")
    assert progress.solved("01") == {"on_gpu"}


def test_without_an_override_the_users_own_folder_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COURSE_DATA_DIR")
    folder = store.folder()
    assert folder.is_absolute() and folder.name == "pytorch-gpu-course"
    assert not folder.is_relative_to(Path(store.__file__).parents[1]), "never inside the repository"
