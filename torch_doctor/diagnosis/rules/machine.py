"""Rules about the machine: is there an NVIDIA GPU that this process may use?"""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions
from torch_doctor.diagnosis.rules.base import (
    LIKELY,
    POSSIBLE,
    SURE,
    Rule,
    RuleResult,
    bus_line,
    library_fact,
    node_lines,
    nothing_here,
    rule,
)
from torch_doctor.diagnosis.rules.install import amd, intel

RULES: dict[str, Rule] = {}


@rule(RULES, "no-gpu-runtime")
def no_gpu_runtime(e: Evidence) -> RuleResult:
    """Colab or Kaggle, with a runtime that has no GPU."""
    where = [name for name in ("colab", "kaggle") if e.get(f"bus.{name}")]
    if where and nothing_here(e):
        return SURE, [
            Line(
                "bus",
                f"{where[0].capitalize()}: no /dev/nvidia0",
                f"{where[0].capitalize()}：沒有 /dev/nvidia0",
            ),
            Line("driver", library_fact(e)),
        ]
    return None


@rule(RULES, "batch-system")
def batch_system(e: Evidence) -> RuleResult:
    """The batch system or the JupyterHub gave this job no GPU, or this is a login node."""
    if e.works:
        return None
    hidden = e.environment("CUDA_VISIBLE_DEVICES")
    refused = [name for name in e.gpu_nodes if e.nodes[name] in ("EPERM", "EACCES")]
    gave = [e.environment(name) for name in ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE")]
    if e.get("bus.slurm") and not any(gave):
        line = Line("interpreter", f"SLURM_JOB_ID = {e.environment('SLURM_JOB_ID')}, SLURM_JOB_GPUS = None")
        if hidden is not None and hidden.strip() in ("", "NoDevFiles", "-1"):
            return SURE, [line, Line("interpreter", f"CUDA_VISIBLE_DEVICES = {hidden!r}")]
        if e.gpu_nodes and len(refused) == len(e.gpu_nodes):
            return SURE, [line, *node_lines(e, "EPERM", "EACCES")]
        if nothing_here(e) and not e.cards():
            return SURE, [line, bus_line(e)]
    if e.get("bus.slurm_tools") and not e.get("bus.slurm") and nothing_here(e) and not e.cards():
        tools, unset = e.get("bus.slurm_tools"), "SLURM_JOB_ID = None"
        return LIKELY, [Line("bus", f"command: {tools}; {unset}", f"指令：{tools}；{unset}"), bus_line(e)]
    if e.get("bus.jupyterhub") and nothing_here(e):
        line = Line("bus", "JUPYTERHUB_API_URL; no /dev/nvidia0", "JUPYTERHUB_API_URL；沒有 /dev/nvidia0")
        return LIKELY, [line, bus_line(e)]
    return None


@rule(RULES, "integrated-mode")
def integrated_mode(e: Evidence) -> RuleResult:
    """A laptop uses its integrated graphics, and the NVIDIA GPU is switched off."""
    mode = e.get("bus.prime")
    if mode == "intel" and not e.works and e.cuinit != 0:
        return SURE, [Line("bus", "prime-select query: intel"), bus_line(e)]
    asleep = [
        card for card in e.cards() if card.get("power") == "suspended" and card.get("driver") != "nvidia"
    ]
    if (
        asleep
        and e.get("bus.laptop")
        and e.cuinit != 0
        and not e.get("bus.module")
        and not e.get("bus.module_files")
    ):
        return LIKELY, [Line("bus", "power/runtime_status = suspended"), bus_line(e)]
    return None


@rule(RULES, "no-gpu")
def no_gpu(e: Evidence) -> RuleResult:
    """This machine has no NVIDIA GPU. Nothing is broken."""
    if e.card_here or e.wsl or e.jetson or e.os == "darwin":
        return None
    if any(explains(e) for explains in (no_gpu_runtime, batch_system, integrated_mode, amd, intel)):
        return None
    if e.os == "windows":
        names = e.get("bus.video")
        if names is None:
            lines = [Line("driver", library_fact(e)), Line("smi", e.ended("smi"))]
            return (LIKELY, lines) if e.library is False else None
        return None if mentions(joined(names), "NVIDIA") else (SURE, [Line("bus", f"video: {joined(names)}")])
    if e.library is None and not e.get("bus.pci"):
        return None
    # A virtual machine may have no PCI bus, therefore no list of cards.
    return (SURE if e.get("bus.pci") else LIKELY), [bus_line(e), Line("driver", library_fact(e))]


@rule(RULES, "container-without-gpu")
def container_without_gpu(e: Evidence) -> RuleResult:
    """The container was started without the GPU."""
    if not e.container or e.gpu_nodes or e.get("bus.dxg") or no_gpu_runtime(e) or batch_system(e) or e.works:
        return None
    if e.cuinit not in (None, 100):
        return None  # the driver reaches something
    asked = e.environment("NVIDIA_VISIBLE_DEVICES")
    lines = [
        Line("bus", f"container: {e.container}; no /dev/nvidia0", f"容器：{e.container}；沒有 /dev/nvidia0"),
        bus_line(e),
        Line("interpreter", f"NVIDIA_VISIBLE_DEVICES = {asked!r}"),
    ]
    # In WSL the bus shows no card, but a container with the GPU would have /dev/dxg.
    if e.wsl and not e.cards():
        return LIKELY, lines
    return (SURE if e.cards() else POSSIBLE), lines
