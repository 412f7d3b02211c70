"""Rules about the machine: is there an NVIDIA GPU that this process may use?"""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions

from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, nothing_here, rule, when
from .other_gpus import amd, intel
from .shown import bus_line, library_line, node_lines

RULES: dict[str, Rule] = {}


def holding(e: Evidence) -> list[dict[str, object]]:
    """Return the cards that NVIDIA's driver holds."""
    return [card for card in e.cards() if card.get("driver") == "nvidia"]


# --- places that give GPUs out ------------------------------------------------------------------------


# Colab or Kaggle, with a runtime that has no GPU. Sure: with a GPU, both show /dev/nvidia0.
no_gpu_runtime = RULES["no-gpu-runtime"] = when(
    lambda e: (e.get("bus.colab") or e.get("bus.kaggle")) and nothing_here(e), SURE,
    lambda e: e.line("bus.no-gpu-file", where="Colab" if e.get("bus.colab") else "Kaggle"), library_line,
)  # fmt: skip


@rule(RULES, "job-without-gpu")
def job_without_gpu(e: Evidence) -> RuleResult:
    """The batch system gave this job no GPU.

    Sure if Slurm itself hides or refuses the GPUs of this node, or if Slurm's own daemon started this process on a node
    that shows none. The shell that `salloc` opens on a login node has the job's number, too.
    """
    gave = [e.environment(name) for name in ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE")]
    if e.works or not e.get("bus.slurm") or any(gave):
        return None
    hidden = e.environment("CUDA_VISIBLE_DEVICES")
    # Slurm's control group answers EPERM; EACCES comes from the rights of the files.
    refused = [name for name in e.gpu_nodes if e.nodes[name] == "EPERM"]
    if hidden is not None and hidden.strip() in ("", "NoDevFiles"):
        # An empty value may also be the user's own, on a cluster that does not hand out GPUs one by one.
        own = hidden.strip() == "" and e.devices
        variable = "interpreter: CUDA_VISIBLE_DEVICES = {interpreter.environment.CUDA_VISIBLE_DEVICES!r}"
        return (LIKELY if own else SURE), ["interpreter.job-without-gpus", variable]
    if e.gpu_nodes and len(refused) == len(e.gpu_nodes):
        return SURE, ["interpreter.job-without-gpus", node_lines(e, "EPERM")]
    if nothing_here(e) and not e.cards():
        return (SURE if e.get("bus.slurm_node") else LIKELY), ["interpreter.job-without-gpus", bus_line]
    return None


# A machine with Slurm's commands, outside of any job, and without a GPU.
login_node = RULES["login-node"] = when(
    lambda e: not e.works and e.get("bus.slurm_tools") and not e.get("bus.slurm") and nothing_here(e) and not e.cards(),
    LIKELY, "bus.outside-of-jobs", bus_line,
)  # fmt: skip
# A JupyterHub server that was started without a GPU.
hub_without_gpu = RULES["hub-without-gpu"] = when(
    lambda e: not e.works and e.get("bus.jupyterhub") and nothing_here(e) and not e.get("bus.slurm"),
    LIKELY, "bus.hub-without-gpu", bus_line,
)  # fmt: skip


def batch_system(e: Evidence) -> RuleResult:
    """Return the verdict of one of the three above: whoever gives the GPUs out gave none to this process."""
    return job_without_gpu(e) or login_node(e) or hub_without_gpu(e)


# --- a card that is switched off ----------------------------------------------------------------------


# A laptop uses its integrated graphics, and a tool has switched the NVIDIA GPU off.
# Sure: each tool's own setting says so, and no driver reaches the card.
integrated_mode = RULES["integrated-mode"] = when(
    lambda e: e.get("bus.switched_off") and not e.works and e.cuinit != 0 and not e.container and not holding(e),
    SURE, "bus.switched-off", bus_line,
)  # fmt: skip


def listed(e: Evidence) -> bool:
    """Return whether Windows lists an NVIDIA card."""
    return bool(mentions(joined(e.get("bus.video") or []), "NVIDIA"))


def _video(e: Evidence) -> Line:
    return e.line("bus.video", names=joined(e.get("bus.video") or []))


# On a Windows laptop the driver is installed, but Windows lists no NVIDIA card: a mode that saves power hides it.
# Only likely: an external GPU that is not plugged in looks the same. Whether it is a laptop may not be known (None).
card_off = RULES["card-off"] = when(
    lambda e: e.os == "windows" and e.get("bus.video") and not listed(e) and not e.card_here
    and e.get("bus.laptop") is not False and traces(e),
    LIKELY, _video, lambda e: traces(e),
)  # fmt: skip


@rule(RULES, "card-disabled")
def card_disabled(e: Evidence) -> RuleResult:
    """The Device Manager of Windows has disabled the card (its code 22 means exactly that)."""
    off = [name for name, code in e.get("bus.video_errors", {}).items() if code == 22 and "NVIDIA" in name]
    return (SURE, [e.line("bus.disabled", name=name) for name in off]) if off and not e.works else None


# --- no card ------------------------------------------------------------------------------------------


def traces(e: Evidence) -> list[Line]:
    """Return what says that NVIDIA's driver is installed here, so that a GPU is or was expected."""
    found = []
    path = str(e.get("driver.path", ""))
    if e.library and not mentions(path, r"/compat/", r"/stubs/"):
        found.append(Line("driver", f"libcuda = {path or 'nvcuda.dll'}"))
    if e.get("bus.module"):
        found.append(e.line("bus: /proc/driver/nvidia/version: {bus.module}"))
    elif e.module_built and not e.container:
        found.append(e.line("bus: nvidia.ko: {bus.kernel}"))
    if e.ended("smi") == "answered":
        first = next(iter(e.smi_text.splitlines()), "")[:100]
        found.append(Line("smi", f"nvidia-smi: {first}"))
    return found


@rule(RULES, "card-not-listed")
def card_not_listed(e: Evidence) -> RuleResult:
    """NVIDIA's driver is installed, but the system lists no NVIDIA card.

    Only likely to be a fault: an image of a disk, or a card that was taken out, looks the same.
    """
    if e.card_here or e.wsl or e.container or e.os == "darwin" or not traces(e):
        return None
    if any(one(e) for one in (no_gpu_runtime, batch_system, integrated_mode, card_off, card_disabled)):
        return None
    if e.os == "windows":
        return (LIKELY, [_video, traces]) if e.get("bus.video") and not listed(e) else None
    return (LIKELY, [bus_line, traces]) if e.get("bus.pci") else None


@rule(RULES, "no-gpu")
def no_gpu(e: Evidence) -> RuleResult:
    """This machine has no NVIDIA GPU. Nothing is broken.

    Sure only if the list of cards could be read and nothing belongs to a driver of NVIDIA: no library, no module, no
    nvidia-smi, no switch of a laptop. A container sees what its host shows it, and the firmware of a laptop can hide a
    card without a trace: never sure there.
    """
    if e.card_here or e.wsl or e.os == "darwin" or traces(e) or card_disabled(e):
        return None
    if any(one(e) for one in (no_gpu_runtime, batch_system, integrated_mode, amd, intel)):
        return None
    # whatever there is to compute with, something else is broken
    if e.torch in ("broken", "missing", "slow"):
        return POSSIBLE, bus_line
    if e.os == "windows":
        if e.get("bus.video") is None:
            return (LIKELY, library_line) if e.library is False else None
        return None if listed(e) else (LIKELY if e.get("bus.laptop") else SURE, _video)
    if e.library is None and not e.get("bus.pci"):
        return None
    # A virtual machine may have no PCI bus, therefore no list of cards.
    known = e.get("bus.pci") and not e.container and not e.get("bus.laptop")
    return (SURE if known else LIKELY), [bus_line, library_line]
