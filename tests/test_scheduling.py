"""Measurements, and where there is a GPU all that uses it, run in the first process, before anything else runs there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.scheduling import uses_gpu

ROOT = Path(__file__).parents[1]
CONFTEST = """
import os, time
import pytest

class Cell(pytest.Item):
    def runtest(self):
        time.sleep(0.05)

class Notebook(pytest.File):
    def collect(self):
        return [Cell.from_parent(self, name=str(number)) for number in range(4)]

def pytest_collect_file(file_path, parent):
    return Notebook.from_parent(parent, path=file_path) if file_path.suffix == ".ipynb" else None

def pytest_runtest_call(item):
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all") or "none"
    with open("log", "a") as log:
        print(os.environ["PYTEST_XDIST_WORKER"], item.path.stem, visible, *cores, file=log)
"""
TEST = """
import time
import pytest

@pytest.mark.parametrize("number", range(4))
def test_one(number):
    time.sleep(0.05)
"""
TIMED, ON_GPU = ["01_a", "test_measure", "test_measure_2"], ["06_b", "09_c", "test_y"]
OTHERS = ["test_a", "test_b", "test_c", "test_d", "test_z"]


@pytest.mark.parametrize(
    "processes, gpus",
    [(2, 1), *(pytest.param(*pair, marks=pytest.mark.nightly) for pair in ((1, 1), (2, 0)))],
)
def test_measurements_have_the_first_process(processes: int, gpus: int, tmp_path: Path) -> None:
    files = {f"tests/unit/{n}.py": TEST for n in [*TIMED, *ON_GPU, *OTHERS] if n.startswith("test")}
    files |= {f"notebooks/{n}.ipynb": "" for n in [*TIMED, *ON_GPU] if not n.startswith("test")}
    files["tests/unit/test_y.py"] += "test_one = pytest.mark.cuda(test_one)\n"
    files["conftest.py"] = CONFTEST
    files["torch.py"] = f"class cuda:\n    device_count = staticmethod(lambda: {gpus})\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    options = ["-p", "tools.scheduling", "-p", "xdist", "-c", os.devnull, "--rootdir=."]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests", "notebooks", f"--numprocesses={processes}"]
        + ["--dist=loadfile"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "CUDA_VISIBLE_DEVICES": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert f"{4 * (len(files) - 2)} passed" in result.stdout, result.stdout + result.stderr
    log = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    first = TIMED + ON_GPU * gpus
    assert {file for worker, file, *_ in log if worker == "gw0"} >= {*first}
    assert {*[file for worker, file, *_ in log if worker == "gw0"][: 4 * len(first)]} == {*first}
    assert {worker for worker, *_ in log} == {f"gw{number}" for number in range(processes)}
    for name in [*TIMED, *ON_GPU, *OTHERS]:
        assert len({worker for worker, file, *_ in log if file == name}) == 1, f"{name} was divided"
    seen = {worker: visible for worker, _, visible, *_ in log}
    assert seen == {"gw0": "0"} | ({"gw1": "none" if gpus else "0"} if processes > 1 else {})
    if processes > 1 and hasattr(os, "sched_setaffinity") and (usable := len(os.sched_getaffinity(0))) > 1:
        cores = {worker: set(cores) for worker, _, _, *cores in log}
        assert len(cores["gw0"]) == (usable // 2 if gpus else 1)
        assert all(not used & cores["gw0"] for worker, used in cores.items() if worker != "gw0")


def test_where_the_doctor_examines_this_machine_it_sees_the_gpu() -> None:
    assert uses_gpu(ROOT / "tests/torch_doctor/test_doctor.py") and not uses_gpu(ROOT / "tests/test_style.py")
