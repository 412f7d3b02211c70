"""Recording: what is stored, what is left alone, and README's table."""

import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import record
from tools.claim_summary import Declared
from tools.markdown_text import between
from tools.notebook_file import code_hash, read
from tools.record import CellFailed, execute, record_copies, replace, table


def notebook(path: Path, *sources: str) -> Path:
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    return path


def test_a_notebook_is_stored_and_its_run_is_strict_and_uses_nothing_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COURSE_STRICT", raising=False)
    names = ["COURSE_STRICT", "COURSE_DATA_DIR", "COURSE_RECORD", "IPYTHONDIR"]
    before = {name: os.environ.get(name) for name in names}
    path = notebook(
        tmp_path / "a.ipynb", f"import os\nx = {names}", "print(*(os.environ[name] for name in x), sep='\\n')"
    )
    journal = tmp_path / "journal.jsonl"
    execute(path, journal)
    cells = read(path).cells
    assert [cell.execution_count for cell in cells] == [1, 2]
    assert [cell.metadata.course.ran for cell in cells] == [code_hash(cell.source) for cell in cells]
    assert path.read_text(encoding="utf-8").endswith("}\n")
    strict, data, record, ipython = cells[1].outputs[0].text.split()
    assert (strict, record) == ("1", str(journal))
    assert data != before["COURSE_DATA_DIR"] and not Path(data).exists(), "a fresh folder, removed afterwards"
    assert not Path(ipython).exists()
    assert {name: os.environ.get(name) for name in names} == before


@pytest.mark.parametrize(
    "source, words",
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import os\nos._exit(1)", "died"),
        ("import time\ntime.sleep(600)", "timed out"),
    ],
)
def test_a_failing_notebook_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, words: str
) -> None:
    monkeypatch.setattr(record, "CELL_TIMEOUT", 2)
    path = notebook(tmp_path / "a.ipynb", "x = 2", source)
    before = path.read_bytes()
    with pytest.raises(CellFailed, match=rf"(?s)^cell 1 \(.*{words}"):
        execute(path, tmp_path / "journal.jsonl")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.ipynb"], "and nothing is left behind"


def test_copies_leave_the_notebook_alone_and_go_on_after_a_failure(tmp_path: Path, capsys: Any) -> None:
    path = notebook(
        tmp_path / "a.ipynb",
        "1 / 0",
        "import os\nprint(os.environ['COURSE_TRACES'])",
        "with open(os.environ['COURSE_RECORD'], 'a') as journal:\n    print('{\"key\": \"1.1\"}', file=journal)",
    )
    before, target = path.read_bytes(), tmp_path / "copies"
    assert not record_copies([path, notebook(tmp_path / "b.ipynb", "print(2)")], target)
    assert path.read_bytes() == before
    cells = read(target / "a.ipynb").cells
    assert cells[0].outputs[0].ename == "ZeroDivisionError" and cells[1].outputs[0].text == f"{target}\n"
    assert json.loads((target / "journal.jsonl").read_text(encoding="utf-8"))["key"] == "1.1"
    assert read(target / "b.ipynb").cells[0].outputs[0].text == "2\n"
    printed = capsys.readouterr()
    assert "b.ipynb: executed" in printed.out and "a.ipynb: FAILED; the cells " in printed.err


def test_of_a_kernel_that_died_the_copy_shows_how_far_it_came(tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb", "print(1)", "import os\nos._exit(1)", "print(3)")
    with pytest.raises(CellFailed, match="died"):
        execute(path, tmp_path / "journal.jsonl", target=tmp_path / "copy.ipynb")
    assert [len(cell.outputs) for cell in read(tmp_path / "copy.ipynb").cells] == [1, 0, 0]


def test_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = {str(number): Declared(None, (None, None)) for number in range(5)}
    monkeypatch.setattr(record, "claims_of_today", lambda: declared)
    assert "尚無紀錄" in table(tmp_path)
    for date, gpus, verdicts in (
        ("2026-01-01", 0, ["holds", "model", "model", "needs"]),
        ("2026-02-01", 2, ["holds", "holds", "unclear", "fails"]),
    ):
        machine = {
            "cpu": "Some | CPU",
            "gpus": [{"name": "H200"}] * gpus,
            "torch": "2.13.0",
            "python": "3.12.1",
        }
        claims = {str(number): {"verdict": verdict} for number, verdict in enumerate(verdicts)}
        claims["no longer made"] = {"verdict": "holds"}
        text = json.dumps({"machine": machine, "date": date, "claims": claims, "curves": {}})
        (tmp_path / f"{date}.json").write_text(text, encoding="utf-8")
    assert table(tmp_path).splitlines()[2:] == [
        "| 2 × H200 | 2.13.0 | 3.12.1 | 2026-02-01 | 2 | 1 | 1 | 0 | 1 |",
        "| Some \\| CPU | 2.13.0 | 3.12.1 | 2026-01-01 | 1 | 0 | 0 | 2 | 2 |",
    ]


def test_table_goes_between_the_markers(tmp_path: Path) -> None:
    start, end = "<!-- a:start -->", "<!-- a:end -->"
    readme = f"before\n{start}\nold \\1\n{end}\nafter\n"
    once = between(readme, "a", "new \\1")
    assert once == f"before\n{start}\nnew \\1\n{end}\nafter\n" == between(once, "a", "new \\1")
    for broken in ("", start, f"{start}{start}{end}"):
        with pytest.raises(ValueError, match="a:start"):
            between(broken, "a", "")
    (tmp_path / "a.txt").write_text("old", encoding="utf-8")
    replace(tmp_path / "a.txt", "new")
    assert {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()} == {"a.txt": "new"}


def test_the_table_for_teachers_has_the_slow_cells_with_their_sections(tmp_path: Path) -> None:
    cells = [
        new_code_cell("import time\nsetup('01')"),
        new_markdown_cell("## 1.1 One · 一\n\ntext"),
        new_code_cell("quick()"),
        new_markdown_cell("### Exercise · 練習"),
        new_code_cell("a | b" * 20),
        new_markdown_cell("## 1.10 Ten · 十"),
        new_code_cell("last"),
    ]
    path = tmp_path / "01_example.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    *first, _, _, _, one, two, three = record.slow_cells({path: [2.0, 1.9, 61.3, 120.0]}).splitlines()
    assert "3 of 4 code cells take 2 seconds or longer; all together 3 minutes" in " ".join(first)
    assert (one, three) == ("| 01 | [1] | `setup('01')` | 2.0 |", "| 1.10 | [4] | `last` | 120.0 |")
    assert two.startswith("| 1.1 | [3] | `a \\| ba") and two.endswith("…` | 61.3 |")
