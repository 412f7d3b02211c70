"""On a stand-in for a machine with CUDA the lessons do what they do without one, and the stand-in is like CUDA."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.cuda_standin.__main__ import LESSONS, ROOT, Report, kernel_environment, run
from tools.cuda_standin.driver import build
from tools.cuda_standin.profiles import SOUND

pytestmark = [
    pytest.mark.nightly,  # to compile it takes twenty seconds
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("g++") is None, reason="the stand-in is for Linux with g++"
    ),
]
NOTEBOOKS = {path.name[:2]: path for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("cuda_standin"))


def unexplained(report: Report) -> list[str]:
    return [f"{finding.kind} {finding.where}: {finding.what}" for finding in report.unexplained()]


def lesson(number: str, profile: str, library: Path, cells: str) -> Report:
    """Execute some cells of a lesson; every id must be there."""
    report = run(NOTEBOOKS[number], profile, library, only=cells.split())
    assert report.cells >= len(cells.split())
    return report


# --- the stand-in -------------------------------------------------------------------------------------

DEVICES = """
import torch
x = torch.ones(3, 3, device="cuda")
def says(text, action):
    try:
        action()
    except Exception as error:
        assert text in f"{type(error).__name__}: {error}", error
        return
    raise AssertionError(f"no error: {text}")
says("found at least two devices, cuda:0 and cpu!", lambda: x + torch.ones(3, 3))
says("mat2 is on cpu, different from other tensors on cuda:0", lambda: x @ torch.ones(3, 3))
says("TypeError: can't convert cuda:0 device type tensor to numpy", lambda: x.numpy())
says("AcceleratorError: CUDA error: invalid device ordinal", lambda: torch.ones(1, device="cuda:1"))
assert (x + torch.tensor(1.0)).device == x.device and (x @ x).sum().item() == 27
model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(8, 2)).cuda()
model(torch.rand(5, 1, 4, 4, device="cuda")).sum().backward()
assert all(p.grad.is_cuda for p in model.parameters())
with torch.autocast("cuda", dtype=torch.float16):
    assert (x @ x).dtype == torch.float16
assert (torch.arange(4, device="cuda") * 10 // 4).tolist() == [0, 2, 5, 7]
"""

MEMORY = """
import torch
before = torch.cuda.memory_allocated()
x = torch.zeros(1000, device="cuda")
assert torch.cuda.memory_allocated() - before == 4096
assert torch.cuda.memory_stats()["requested_bytes.all.current"] == 4000
torch.zeros(2**20, device="cuda")
assert torch.cuda.max_memory_allocated() - before == 4096 + 2**22
assert torch.cuda.memory_reserved() > torch.cuda.memory_allocated()
torch.cuda.set_per_process_memory_fraction(0.01)
try:
    torch.empty(2**30, device="cuda")
    raise AssertionError("not refused")
except torch.OutOfMemoryError as error:
    assert "Tried to allocate 4.00 GiB. GPU 0 has a total capacity of" in str(error) and "allowed" in str(error)
pinned = torch.ones(3).pin_memory()
assert pinned.is_pinned() and not torch.ones(3).is_pinned()
"""

STREAMS = """
import torch
side, main = torch.cuda.Stream(), torch.cuda.current_stream()
x = torch.zeros(4, device="cuda")
side.wait_stream(main)
with torch.cuda.stream(side):
    torch.cuda._sleep(1000)
    x.fill_(7)
    done = side.record_event()
early = x.clone()
assert not done.query()
done.synchronize()
assert done.query() and early.sum().item() == 0 and x.sum().item() == 28
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record(), x.mul_(2), end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) > 0
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = (x + 1) * 2
x.fill_(1)
graph.replay()
assert y.tolist() == [4] * 4
"""

HIDDEN = """
import torch
from course_utils import lesson_gpus, setup
architectures = torch.cuda.get_arch_list()
torch.cuda.get_arch_list = lambda: architectures if torch.cuda.is_available() else []  # as in PyTorch 2.11
setup("05", gpus=2)
assert [device.type for device in lesson_gpus.gpus()] == ["practice", "practice"]
assert "single GPU" in lesson_gpus.plan().en
"""


@pytest.mark.parametrize(
    "code", [DEVICES, MEMORY, STREAMS, HIDDEN], ids=["devices", "memory", "streams", "a hidden GPU"]
)
def test_the_stand_in_is_like_cuda(code: str, library: Path, tmp_path: Path) -> None:
    environment = kernel_environment("h100", library, tmp_path)
    done = subprocess.run(
        # Without the interpreter's own end: it would stop the threads of autograd's engine inside of C++, which may abort.
        [sys.executable, "-c", f"{code}\nimport os\nos._exit(0)"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr


# --- the lessons --------------------------------------------------------------------------------------


def test_a_device_that_computes_wrongly_is_not_usable(library: Path) -> None:
    cells = "setup there-functions usable-proof"
    assert unexplained(lesson("01", "h100", library, cells)) == []
    (found,) = lesson("01", "broken", library, cells).findings
    assert found.where == "usable-proof" and "False" in found.what


def test_streams_are_in_order(library: Path) -> None:
    cells = "setup streams-race streams-wait streams-claim early-claim overlap-build overlap-measure overlap-streams prefetch-on-gpu"
    report = lesson("04", "h100", library, cells)
    assert unexplained(report) == []
    assert "race" in [finding.kind for finding in report.findings]  # the one that the lesson shows
    assert {"4.13", "4.4", "4.16"} <= set(report.claims)


@pytest.mark.parametrize("profile", SOUND)
@pytest.mark.parametrize("number", LESSONS)
def test_a_lesson_on_a_machine_with_cuda(number: str, profile: str, library: Path) -> None:
    assert unexplained(run(NOTEBOOKS[number], profile, library)) == []
