"""practice_gpu from outside: its command line, and the examples of its README."""

import gc
import re
import sys
import types
import zipfile
from pathlib import Path

import pytest
import torch
from wheels import wheel_of

import practice_gpu
from practice_gpu.__main__ import main

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="it does not start beside a CUDA GPU")
FOLDER = Path(practice_gpu.__file__).parent
BLOCKS = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)
SCRIPT = """\
import sys, torch
device = torch.accelerator.current_accelerator()
x = torch.ones(1000, 1000).pin_memory().to(device, non_blocking=True)
for _ in range(3):
    x = x @ x
    if "ask" in sys.argv:
        x.sum().item()
if "early" in sys.argv:
    print(x.to("cpu", non_blocking=True).sum().item())
if "late" in sys.argv:
    torch.nn.functional.embedding(torch.tensor([9]).to(device), x[:4])
if "twice" in sys.argv:
    gpu = torch.get_device_module(device)
    gpu._sleep(10_000_000)
    with gpu.stream(gpu.Stream()):
        gpu._sleep(10_000_000)
    print(gpu.mem_get_info()[1])
if "fail" in sys.argv:
    sys.exit("as asked")
print(sys.argv[1:], x.device)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "step.py"
    file.write_text(SCRIPT)
    return str(file)


def test_a_script_is_run_and_reported(script: str, capfd: pytest.CaptureFixture[str]) -> None:
    practice_gpu.start()
    gc.collect()
    left = torch.get_device_module("practice").memory_allocated() / 2**20  # MiB, of other tests
    assert main(["--count", "2", script, "--epochs", "1", "--budget-waits", "0", "--", "--gpu", "x"]) == 0
    out, err = capfd.readouterr()
    assert out == "['--epochs', '1', '--gpu', 'x'] practice:0\n"
    peak = re.search(r"GPU 0: peak memory · \S+ (\d+\.\d) MiB, busy · \S+ \d\d% modelled\n", err)
    assert peak and 7.6 <= round(float(peak[1]) - left, 1) <= 7.9
    assert re.search(r"GPU 1: peak memory · \S+ 0\.0 MiB, busy · \S+ 0% modelled\n", err)
    assert "等待: 0\n" in err and "競爭條件: 0\n" in err and re.search(r"GPU 0 stream 0 +\|.*c#+.*\|", err)


@pytest.mark.parametrize("options, arguments, shown", [
    (["--budget-waits", "2"], ["ask"], "3 > 2"), (["--memory", "1MiB"], [], "practice out of memory"),
    ([], ["fail"], "as asked"), ([], ["late"], "device-side assert triggered"),
])  # fmt: skip
def test_the_exit_status_is_one(
    options: list[str], arguments: list[str], shown: str, script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*options, script, *arguments]) == 1
    assert shown in (err := capfd.readouterr().err) and "peak memory" in err
    assert "step.py:7 (x.sum().item())" in err or arguments != ["ask"]


def test_kernels_that_overlap_count_once_and_an_early_read_is_shown(
    script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["--memory", "1.5GiB", script, "twice"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith(str(3 * 2**29)) and 50 < int(re.findall(r"(\d+)% modelled", err)[0]) <= 100
    assert main([script, "early"]) == 0
    assert "競爭條件: 1\n" in (err := capfd.readouterr().err) and "step.py:9" in err


@pytest.mark.parametrize("arguments, why", [
    (["missing.py"], "no file missing.py"), (["--memory", "4GB", __file__], "4GiB"),
    (["--gpu", "GTX 9999", __file__], "knows no card 'GTX 9999'"), (["--count", "0", __file__], "at least one device"),
])  # fmt: skip
def test_wrong_arguments(arguments: list[str], why: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2 and why in capfd.readouterr().err


@pytest.mark.nightly
def test_the_package_can_be_installed_by_itself(tmp_path: Path) -> None:
    wheel = wheel_of(FOLDER, tmp_path)
    with zipfile.ZipFile(wheel) as file:
        names = {name.removeprefix("practice_gpu/") for name in file.namelist()}
    assert names >= {file.name for file in FOLDER.glob("*.py")} | {"profiles.toml", "py.typed"}


def test_the_first_example_of_the_readme(script: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path(script).write_text(BLOCKS[0], encoding="utf-8")
    assert main([script]) == 0
    early, race, after, time = capfd.readouterr().out.splitlines()
    assert (early, after) == ("0.0", "7000.0") and time.endswith(" modelled ms")
    assert race.count("step.py:") == 2


FAULTS = [
    ("", "", ""),
    ("_cpu", 'self.register_buffer("scale", torch.tensor([1.0, 2.0]))', "self.scale = torch.ones(2)"),
    ("_waits", "total += loss.detach()", "total += loss.item()"),
    ("_copy", "    torch.accelerator.synchronize()\n", ""),
]


@pytest.mark.parametrize(("test", "right", "wrong"), FAULTS)
def test_the_tests_of_the_readme(test: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    training, tests = types.ModuleType("training"), types.ModuleType("test_training")
    monkeypatch.setitem(sys.modules, "training", training)
    assert BLOCKS[1].count(right) == 1 or not test
    exec(BLOCKS[1].replace(right, wrong, 1), vars(training))
    exec(BLOCKS[2], vars(tests))
    failed = []
    for name in (names := [name for name in vars(tests) if name.startswith("test_")]):
        practice_gpu.start("T4")  # the fixture of these tests
        try:
            getattr(tests, name)(torch.device("practice"))
        except (AssertionError, RuntimeError):
            failed.append(name)
    assert len(names) == 3 and bool(failed) == bool(test) and test in "".join(failed[:1]), failed
