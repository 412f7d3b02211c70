"""Rules about the Windows Subsystem for Linux (WSL): the GPU and its driver come from Windows."""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line

from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, failing, rule
from .driver_library import compat, library_not_on_path, stub
from .shown import cuinit_line, library_fact, nvml_line

RULES: dict[str, Rule] = {}


@rule(RULES, "wsl-1")
def wsl_1(e: Evidence) -> RuleResult:
    """WSL 1, in which Linux programs run without a Linux kernel: GPUs exist in WSL 2 only (Microsoft's manual).

    Sure for release 4.4, which WSL 1 always claims to be; a kernel that somebody built for WSL 2 may have any name.
    """
    kernel = str(e.get("bus.kernel", ""))
    if e.wsl == 1 and not e.container and not e.get("bus.dxg"):
        return (SURE if kernel.startswith("4.4.") else LIKELY), [_no_dxg(e), Line("bus", f"kernel {kernel}")]
    return None


@rule(RULES, "wsl-old")
def wsl_old(e: Evidence) -> RuleResult:
    """WSL 2, but Windows passes no GPU on. An old Windows or WSL, or the option gpuSupport: only likely."""
    if e.wsl == 2 and not e.get("bus.dxg") and not e.container and not e.devices:
        return LIKELY, [_no_dxg(e), Line("bus", f"kernel {e.get('bus.kernel')}")]
    return None


def _no_dxg(e: Evidence) -> Line:
    return Line("bus", f"WSL {e.wsl}, no /dev/dxg", f"WSL {e.wsl}，沒有 /dev/dxg")


@rule(RULES, "wsl-shadowed")
def wsl_shadowed(e: Evidence) -> RuleResult:
    """A Linux driver inside WSL is loaded instead of the one from Windows.

    Sure: the library is not the one that Windows provides, and cannot reach the GPU. If Windows provides none, the Linux
    driver hides nothing, and `wsl-without-driver` is as likely. In a container the toolkit mounts the right one into
    /usr/lib/x86_64-linux-gnu, so there the path proves nothing.
    """
    path = str(e.get("driver.path", ""))
    if e.container or compat(e) or stub(e):
        return None
    if e.wsl == 2 and e.get("bus.dxg") and e.library and failing(e) and path and "/usr/lib/wsl/" not in path:
        lines = [Line("driver", f"libcuda = {path}"), cuinit_line(e), Line("bus", "/dev/dxg")]
        return (POSSIBLE if e.get("driver.windows_library") is False else SURE), lines
    return None


@rule(RULES, "wsl-without-driver")
def wsl_without_driver(e: Evidence) -> RuleResult:
    """WSL can use a GPU, but Windows gave it no NVIDIA driver. Only likely: that is also so without an NVIDIA card."""
    seen = e.get("smi.gpus", 0) or e.get("nvml.count", 0) or library_not_on_path(e)
    none = e.library is False or (e.get("driver.windows_library") is False and failing(e))
    if e.wsl == 2 and e.get("bus.dxg") and none and not e.container and not seen:
        missing = Line("driver", "no /usr/lib/wsl/lib/libcuda.so.1", "沒有 /usr/lib/wsl/lib/libcuda.so.1")
        return LIKELY, [Line("bus", "/dev/dxg"), missing, Line("driver", library_fact(e))]
    return None


@rule(RULES, "docker-desktop-old")
def docker_desktop_old(e: Evidence) -> RuleResult:
    """In a container on WSL, libcuda does not find its counterpart (500), because Docker mounted an incomplete driver.

    Updating Docker Desktop mended it in jhj0517/Whisper-WebUI#279 and YanWenKun/ComfyUI-Docker#74.
    """
    if e.cuinit == 500 and e.wsl and e.container:
        where = Line("bus", f"container: {e.container}, WSL {e.wsl}", f"容器：{e.container}，WSL {e.wsl}")
        return LIKELY, [cuinit_line(e), where, nvml_line(e)]
    return None
