"""Rules about the driver's device files: are they here, and may this process open them?"""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line, mentions

from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, rule, when
from .machine import batch_system, holding, no_gpu_runtime, traces
from .shown import bus_line, cuinit_line, library_line, node_line, node_lines, nvml_line

RULES: dict[str, Rule] = {}

FRESH = 300  # seconds; a container that is younger has hardly lived through an update of its host


def _nothing_given(e: Evidence) -> bool:
    """Return whether this container has none of the files of a GPU."""
    if not e.container or e.gpu_nodes or e.get("bus.dxg") or e.works or e.get("bus.tegra_nodes"):
        return False
    # Another answer than "no device": the driver reaches something.
    return e.cuinit in (None, 100) and not no_gpu_runtime(e) and not batch_system(e)


def _without_libraries(e: Evidence) -> bool:
    """Return whether this is Apptainer, which shows the host's /dev, without the libraries that its option `--nv` brings."""
    bare = e.library is False and not e.get("driver.found_in") and e.get("nvml.init") is None
    return e.container == "apptainer" and bool(e.gpu_nodes) and bare and not batch_system(e)


@rule(RULES, "host-without-driver")
def host_without_driver(e: Evidence) -> RuleResult:
    """The container sees the card, but the host does not run NVIDIA's driver: nothing could be given to the container.

    Sure if another driver holds the card. A container shows the host's list of cards with their drivers.
    """
    held = {card.get("driver") or "" for card in e.cards()}
    if not _nothing_given(e) or not held or "nvidia" in held or e.get("bus.module") or e.wsl:
        return None
    return (SURE if all(held) else LIKELY), [bus_line, "bus.container-without-gpu"]


@rule(RULES, "container-without-gpu")
def container_without_gpu(e: Evidence) -> RuleResult:
    """The container was started without the GPU.

    Sure if the host's GPU and its driver can be seen from here, or if the host is a Jetson, which always has one.
    """
    if _without_libraries(e):
        return LIKELY, [library_line, nvml_line, node_line(e, "nvidia0", e.nodes.get("nvidia0", "ok"))]
    if not _nothing_given(e) or host_without_driver(e):
        return None
    asked = e.environment("NVIDIA_VISIBLE_DEVICES")
    set_to = "interpreter: NVIDIA_VISIBLE_DEVICES = {interpreter.environment.NVIDIA_VISIBLE_DEVICES!r}"
    given = "interpreter.gpus-not-asked" if asked is None else set_to
    lines = ["bus.container-without-gpu", bus_line, given]
    if e.cards() or e.get("bus.module"):
        return SURE, lines
    if e.jetson:
        return SURE, ["bus.jetson-without-gpu", lines]
    # In WSL the bus shows no card, but a container with the GPU would have /dev/dxg.
    if e.wsl:
        return LIKELY, lines
    # a sandbox without a list of cards
    wanted = asked not in (None, "", "void", "none") and not e.get("bus.pci")
    return (LIKELY, [lines, traces]) if wanted or traces(e) else None


# The driver runs and holds the card, but /dev has no file for it: on a server nothing but nvidia-modprobe makes them.
# Only likely: a service that systemd starts with PrivateDevices= sees a /dev without them, too.
RULES["nodes-missing"] = when(
    lambda e: e.get("bus.module") and holding(e) and e.cuinit != 0 and not (e.gpu_nodes or e.container or e.wsl or e.works),
    LIKELY, bus_line, "bus.no-nvidia0", cuinit_line,
)  # fmt: skip


@rule(RULES, "container-lost")
def container_lost(e: Evidence) -> RuleResult:
    """A running container lost its GPU: the host's systemd set its rules for devices anew (nvidia-docker#1671).

    Never sure: a container that `no-cgroups = true` never gave the GPU to looks the same
    (nvidia-container-toolkit#580). In a container that was started a moment ago the latter is likelier.
    """
    unknown = e.get("nvml.init") == 999 or mentions(e.smi_text, r"NVML: Unknown Error")
    if not e.container or e.container in ("lxc", "apptainer") or not (unknown and e.gpu_nodes):
        return None
    refused = node_lines(e, "EPERM")
    fresh = e.get("bus.container_age", FRESH) < FRESH
    return (LIKELY if refused and not fresh else POSSIBLE), [refused, _age(e), nvml_line]


def _age(e: Evidence) -> str:
    return "" if e.get("bus.container_age") is None else "bus.container-age"


@rule(RULES, "devices-denied")
def devices_denied(e: Evidence) -> RuleResult:
    """The container's rules for devices (its control group) do not allow the GPU: the files are here, opening fails."""
    refused = node_lines(e, "EPERM")
    if not e.container or not refused or batch_system(e) or (e.cuinit == 0 and e.devices):
        return None
    lost = container_lost(e)
    return (POSSIBLE if lost and lost[0] >= LIKELY else LIKELY), [refused, _age(e), cuinit_line]


def _refused(e: Evidence) -> list[Line]:
    lines = [line for line in node_lines(e, "EACCES", "EPERM") if "kfd" not in line.fact]
    return [] if batch_system(e) or (e.cuinit == 0 and e.devices) else lines


def _rights(e: Evidence) -> dict[str, str]:
    """Return rights, user and group of the device file of each NVIDIA GPU: ``{"nvidia0": "660 0 44"}``."""
    return {name: rights for name, rights in e.get("bus.node_owners", {}).items() if name != "kfd"}


def _for_all(e: Evidence) -> bool:
    """Return whether the rights of the refused files would allow everyone to read and write them."""
    modes = [rights.split()[0] for name, rights in _rights(e).items() if e.nodes.get(name) == "EACCES"]
    return bool(modes) and all(mode[-1:] in ("6", "7") for mode in modes)


@rule(RULES, "selinux")
def selinux(e: Evidence) -> RuleResult:
    """SELinux forbids a container to open the files of the GPU.

    Sure if everyone may open them by their rights, and this process has the label of a confined container.
    """
    kind = [*e.get("bus.label", "").split(":"), "", "", ""][2]
    confined = kind.endswith(("container_t", "lxc_net_t"))
    refused = [line for line in _refused(e) if "EACCES" in line.fact]
    if not refused or not e.container or not (confined or (e.get("bus.enforcing") and not kind)):
        return None
    closed = any(rights.split()[0][-1:] == "0" for rights in _rights(e).values())
    certainty = (SURE if confined else LIKELY) if _for_all(e) else POSSIBLE if closed else LIKELY
    return certainty, [Line("bus", f"SELinux: {kind or 'enforcing'}"), refused]


@rule(RULES, "no-permission")
def no_permission(e: Evidence) -> RuleResult:
    """The driver's device files exist, but this user may not open them. Sure if their rights say so."""
    refused = _refused(e)
    explained = (selinux(e) or (0,))[0] >= LIKELY
    if not refused or explained or (e.container and all("EPERM" in line.fact for line in refused)):
        return None
    rights = [e.line("bus.rights", name=name, rights=mode) for name, mode in sorted(_rights(e).items())]
    plain = any("EACCES" in line.fact for line in refused) and not _for_all(e)
    return (SURE if plain else LIKELY), [refused, rights[:1], cuinit_line]
