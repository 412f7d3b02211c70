"""Rules about training that hangs: how the probe `job` ended, a tiny all-reduce with a known result and a timeout.

An example of its evidence (``copy`` and ``nccl`` need two GPUs)::

    {"gloo": {"how": "failed", "error": "RuntimeError: …"}, "gloo-loopback": {"how": "right", "value": 101.0}}
"""

from __future__ import annotations

from torch_doctor.data import screen
from torch_doctor.diagnosis.evidence import Evidence, Line, mentions

from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, rule, when

RULES: dict[str, Rule] = {}

_TRIED = screen("evidence", "tried")


def attempt(e: Evidence, name: str) -> str:
    """Return how the attempt `name` of the job ended: ``"right"``, ``"wrong"``, ``"failed"``, ``"slow"`` or ``""``."""
    return e.get(f"job.tries.{name}.how", "")


def error(e: Evidence, name: str) -> str:
    """Return the error of the attempt `name`, or ``""``."""
    return e.get(f"job.tries.{name}.error", "")


def too_late(e: Evidence, name: str) -> bool:
    """Return whether the attempt `name` only ran out of time, on a machine that may just be busy.

    Initializing NCCL alone takes seconds. With three times the usual limit, that is no excuse any more.
    """
    timed_out = attempt(e, name) == "slow" or bool(mentions(error(e, name), r"[Tt]imed? ?out"))
    return timed_out and e.get("job.patience", 1.0) < 3


def error_line(e: Evidence, name: str) -> Line | str:
    """Return the error of the attempt `name` as evidence, if there is one."""
    return error(e, name) and Line("job", error(e, name)[:200])


def outcome(e: Evidence, name: str) -> Line:
    """Return how the attempt `name` ended as evidence."""
    how, value = attempt(e, name), e.get(f"job.tries.{name}.value")
    fact = "job.sum-right" if how == "right" and value == 101 else "job.tried"
    return e.line(fact, name=name, how=_TRIED[how or "not"], value=value)


def in_nccl_file(e: Evidence, variable: str) -> list[str]:
    """Return the file of NCCL that sets `variable`, and its value, where no environment variable comes before it."""
    return [] if e.environment(variable) else e.get(f"interpreter.nccl_files.{variable}", [])


def wrong_interface(e: Evidence) -> str:
    """Return the variable that names a network interface which this machine does not have, or ``""``."""
    messages = {"gloo": r"Unable to find address for", "nccl": r"no socket interface found"}
    for name, message in messages.items():
        variable = f"{name.upper()}_SOCKET_IFNAME"
        said = f"{error(e, name)}\n{e.get('job.nccl_says', '')}"
        named = e.environment(variable) or in_nccl_file(e, variable)
        if named and attempt(e, name) == "failed" and mentions(said, message):
            return variable
    return ""


@rule(RULES, "hang-ifname")
def ifname(e: Evidence) -> RuleResult:
    """A variable names a network interface that this machine does not have.

    Sure if the library's error repeats it: ``Unable to find address for: eth9`` (gloo), ``no socket interface found`` (NCCL).
    """
    variable = wrong_interface(e)
    file, value = in_nccl_file(e, variable) or ("", e.environment(variable))
    named = Line("interpreter", f"{file}: {variable} = {value}" if file else f"{variable} = {value}")
    return (SURE, [named, error_line(e, variable.split("_")[0].lower())]) if variable else None


# The processes cannot connect by the host name, but they can over the loopback interface.
RULES["hang-interface"] = when(
    lambda e: attempt(e, "gloo") in ("failed", "slow") and attempt(e, "gloo-loopback") == "right" and not ifname(e),
    LIKELY, lambda e: [outcome(e, "gloo"), outcome(e, "gloo-loopback"), error_line(e, "gloo")],
    lambda e: e.get("job.resolves") and "job.host-name", sure=lambda e: not too_late(e, "gloo"),
)  # fmt: skip


@rule(RULES, "hang-transport")
def transport(e: Evidence) -> RuleResult:
    """Two processes on this machine cannot exchange even one number. Running out of time alone does not show that."""
    bad, names = ("failed", "slow", "wrong"), ("gloo", "gloo-loopback")
    if attempt(e, "gloo") not in bad or attempt(e, "gloo-loopback") not in (*bad, "") or ifname(e):
        return None
    tried = [name for name in names if attempt(e, name)]
    if all(too_late(e, name) for name in tried):
        return None
    return LIKELY, [[outcome(e, name) for name in tried], error_line(e, "gloo")]


@rule(RULES, "hang-copy")
def copy(e: Evidence) -> RuleResult:
    """Data that is copied from one GPU to another does not arrive.

    Sure if it arrived changed; pytorch/pytorch#84803. A copy that failed with an error has other causes (no memory).
    """
    if attempt(e, "copy") == "wrong":
        return SURE, ["job.copied-wrong", outcome(e, "copy")]
    if attempt(e, "copy") == "slow" and not too_late(e, "copy"):
        return LIKELY, [outcome(e, "copy"), "job: cuda:0 -> cuda:1"]
    return None


# NCCL hangs or is wrong, but gloo and copies between GPUs work; deepspeedai/DeepSpeed#4433.
RULES["hang-nccl"] = when(
    lambda e: attempt(e, "nccl") in ("failed", "wrong", "slow") and not too_late(e, "nccl")
    and attempt(e, "copy") in ("right", "") and not (ifname(e) or small_shm_of_nccl(e)),
    LIKELY, lambda e: [outcome(e, "nccl"), e.get("job.nccl_says") and "job: NCCL: {job.nccl_says}", error_line(e, "nccl")],
    lambda e: [outcome(e, "gloo"), outcome(e, "copy")],
)  # fmt: skip


def small_shm_of_nccl(e: Evidence) -> bool:
    """Return whether NCCL itself says that it got no shared memory."""
    return bool(mentions(f"{error(e, 'nccl')}\n{e.get('job.nccl_says', '')}", r"/dev/shm|shared memory"))


@rule(RULES, "hang-shm")
def shm(e: Evidence) -> RuleResult:
    """Shared memory is too small for NCCL and for the workers of a DataLoader; pytorch/pytorch#1355."""
    size = e.get("bus.shm")
    line = size and Line("bus", f"/dev/shm: {size / 2**20:.0f} MiB")
    if small_shm_of_nccl(e):
        return LIKELY, [line, error_line(e, "nccl")]
    if not size or size > 128 * 2**20:
        return None
    # Docker's default. Outside a container, nobody makes it so small, and little uses it.
    return (LIKELY if e.container and size <= 64 * 2**20 else POSSIBLE), line


# The copy between two GPUs ended with an error, which says nothing about a job that hangs.
RULES["hang-gpu-error"] = when(
    lambda e: attempt(e, "copy") == "failed", LIKELY,
    lambda e: outcome(e, "copy"), lambda e: error_line(e, "copy"),
)  # fmt: skip


@rule(RULES, "hang-world")
def world(e: Evidence) -> RuleResult:
    """Variables of a launcher are set here, so that a job waits for processes that are never started.

    In a batch job or a pod they usually belong there, and with LOCAL_RANK a launcher has set them.
    """
    size, rank = e.environment("WORLD_SIZE"), e.environment("RANK")
    if not size or size == "1" or e.environment("TORCHELASTIC_RUN_ID"):
        return None
    launched = e.get("bus.slurm") or e.container == "kubernetes" or e.environment("LOCAL_RANK")
    line = Line("interpreter", f"WORLD_SIZE = {size}, RANK = {rank}, TORCHELASTIC_RUN_ID = None")
    return (POSSIBLE if launched else LIKELY), line


# The default port is in use: by an old job, or by another notebook.
RULES["hang-leftover"] = when(lambda e: e.get("job.port_taken"), POSSIBLE, "job.port-taken")
# On Windows and macOS, processes cannot find what is defined in a notebook; pytorch/pytorch#51344.
RULES["hang-spawn"] = when(
    lambda e: e.os in ("windows", "darwin") and e.get("caller.notebook"), POSSIBLE, "bus.starts-with-spawn"
)
# Partitions of a GPU (MIG) cannot communicate. Source: NVIDIA's MIG user guide, "no GPU to GPU P2P".
RULES["hang-mig"] = when(
    lambda e: any(gpu.get("mig") for gpu in e.get("nvml.devices", [])), POSSIBLE,
    lambda e: e.line("nvml.mig-on", count=sum(bool(gpu.get("mig")) for gpu in e.get("nvml.devices", []))),
)  # fmt: skip
# The direct way between the GPUs passed the small test, and may yet fail under load; chenyilun95/DSGN2#20.
RULES["hang-p2p"] = when(
    lambda e: attempt(e, "nccl") == "right" and e.get("job.nccl_says") == "P2P", POSSIBLE, "job.via-p2p"
)
