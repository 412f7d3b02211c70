"""What is remembered between notebooks: losing it costs a click, and never more."""

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from course_utils import settings

DAMAGED = [
    b"", b"{", b"\xff\xfe", b"[1, 2]", b"null", b'{"01": 3}', b'{"01": "on_gpu"}', b'{"01": [["a"], {}]}',
    b'{"01": {"on_gpu": "\\udc80"}}', b'{"00": ' + b'{"a":' * 800 + b"1" + b"}" * 800 + b"}", b"[" * 100_000,
    b'{"01": 1', b'{"00": NaN}', b'{"00": ' + b"9" * 5000 + b"}",
]  # fmt: skip


def test_what_is_written_is_read_again_and_nothing_is_remembered_at_first(data: Path) -> None:
    assert settings.read("progress") == {} and settings.solved("01") == set()
    assert not data.exists(), "reading may not write"
    assert settings.write("settings", {"language": "zh", "name": "中文"})
    assert settings.read("settings") == {"language": "zh", "name": "中文"}
    assert os.listdir(data) == ["settings.json"], "no temporary file is left"


def test_solved_exercises_are_remembered_with_their_first_day() -> None:
    settings.write("progress", {"01": {"physical": "2020-02-02"}})
    for lesson, name in (("01", "on_gpu"), ("02", "mover"), ("01", "physical")):
        settings.mark_solved(lesson, name)
    assert settings.solved("01") == {"on_gpu", "physical"} and settings.solved("02") == {"mover"}
    assert settings.read("progress")["01"]["physical"] == "2020-02-02"


@pytest.mark.parametrize("content", DAMAGED, ids=lambda content: repr(content[:24]))
def test_a_damaged_file_harms_nothing(content: bytes, data: Path) -> None:
    data.mkdir()
    (data / "progress.json").write_bytes(content)
    before = settings.solved("01")
    settings.mark_solved("01", "physical")
    assert settings.solved("01") == before | {"physical"}


def test_progress_of_other_lessons_survives_a_damaged_one() -> None:
    settings.write("progress", {"01": [3], "02": {"mover": "2020-02-02"}})
    settings.mark_solved("01", "physical")
    assert settings.solved("01") == {"physical"} and settings.solved("02") == {"mover"}


# --- where nothing can be written -------------------------------------------------------------------


def refuse(error: int) -> Callable[..., object]:
    def call(*_: object, **__: object) -> None:
        raise OSError(error, os.strerror(error))

    return call


@pytest.mark.parametrize(
    "how", ["a file in its place", "a folder in the file's place", "read-only", "disk full"]
)
def test_where_nothing_can_be_saved_nothing_breaks(
    how: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "a file in its place":
        data.write_text("in the way")
    elif how == "a folder in the file's place":
        (data / "progress.json" / "full").mkdir(parents=True)
    elif how == "read-only":
        monkeypatch.setattr(tempfile, "mkdtemp", refuse(errno.EROFS))
    else:
        monkeypatch.setattr(json, "dumps", refuse(errno.ENOSPC))
    assert settings.write("progress", {"01": {}}) is False
    settings.mark_solved("01", "on_gpu")
    assert settings.solved("01") == set()
    assert not data.is_dir() or not list(data.glob(".progress-*")), "nothing temporary is left"


def test_an_interrupted_write_leaves_the_old_file_whole(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.mark_solved("01", "on_gpu")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "replace", interrupted)
        settings.mark_solved("01", "physical")
    assert settings.solved("01") == {"on_gpu"}
    assert os.listdir(data) == ["progress.json"]
    settings.mark_solved("01", "physical")
    assert settings.solved("01") == {"on_gpu", "physical"}


def test_many_writers_at_once_leave_a_whole_file(data: Path) -> None:
    """Of notebooks that save at the same moment the last one wins; none may fail or leave half a file."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(settings.__file__).parent)!r}); import settings\n"  # not all of the package
        "for number in range(60):\n"
        "    settings.mark_solved('01', f'{sys.argv[1]}-{number}')\n"
        "    assert isinstance(settings.read('progress')['01'], dict)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(writer)]) for writer in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert settings.solved("01")
    assert os.listdir(data) == ["progress.json"]


def test_without_an_override_the_users_own_folder_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COURSE_DATA_DIR")
    folder = settings.folder()
    assert folder.is_absolute() and folder.name == "pytorch-gpu-course"
    assert not folder.is_relative_to(Path(settings.__file__).parents[1]), "never inside the repository"
