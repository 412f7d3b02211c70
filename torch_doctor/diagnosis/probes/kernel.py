"""What the Linux kernel knows about NVIDIA's driver: its modules, its log, its device files, and who switched the card off.

No probe of its own: the probe ``bus`` loads this file, also in a Python that has no torch_doctor.
"""

from __future__ import annotations

import errno
import glob
import os
import re
from typing import Any

SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

# Where a driver lies that is built on this machine for each kernel, and where its modules are put.
DKMS = ("var/lib/dkms/nvidia*", "lib/modules/*/updates/dkms/nvidia*")

# Who signs modules with a key that every machine with this distribution knows.
DISTRIBUTIONS = "Canonical|Red Hat|Rocky|AlmaLinux|Oracle|SUSE|Debian Secure Boot"

# What the log says → the line that is shown. The lines are NVIDIA's (open-gpu-kernel-modules: nv-pci.c, nv.c and issues
# #171, #322, #789, #862) and the kernel's own (kernel/module/signing.c).
LOG = {
    "unsigned": r"Key was rejected by service|Required key not available|Loading of [\w ]*module[\w ]* is rejected"
    r"|unsigned module loading is restricted",
    "needs-open": r"requires use of the NVIDIA open kernel modules",
    "needs-closed": r"is not supported by open nvidia\.ko",
    "legacy": r"supported through the NVIDIA \d+\S* Legacy drivers",
    "unserved": r"installed in this system is not supported by the [\w. ]{0,40}",
    "invalid-region": r"This PCI I/O region assigned to your NVIDIA device is invalid",
    "gsp": r"RmInitAdapter: Cannot initialize GSP firmware RM",
    "not-started": r"RmInitAdapter failed![ (\w:)]*|rm_init_adapter failed",
    "off-the-bus": r"GPU has fallen off the bus",
    "other-kernel": r"nvidia: (?:version magic|disagrees about version of symbol)",
    "missing-symbol": r"nvidia\w*: Unknown symbol \w+",
}


def module_files(root: str) -> list[str]:
    """Return the Linux kernels that have a compiled driver (``nvidia.ko``, on Debian ``nvidia-current.ko``)."""
    found = []
    tops = ("lib/modules", "run/booted-system/kernel-modules/lib/modules")  # the second one: NixOS
    places = ("updates", "extra*", "weak-updates", "misc", "kernel/drivers/video", "kernel/nvidia*")
    ready = re.compile(r"nvidia(?:-current|-tesla[\w-]*)?\.ko")
    for folder in sorted(file for top in tops for file in glob.glob(os.path.join(root, top, "*"))):
        inside = (top for place in places for top in glob.glob(os.path.join(folder, place)))
        if any(ready.match(file) for top in inside for _, _, files in os.walk(top) for file in files):
            found.append(os.path.basename(folder))
    return found


def log(run_command: Any) -> dict[str, str]:
    """Return the lines about the driver that the kernel logged, of those in `LOG`; needs no rights on many systems."""
    text = run_command("dmesg") or ""
    # not for this user, or the machine has run for so long that it is gone
    if not re.search("NVRM|nvidia", text):
        text = run_command("journalctl", "-k", "-q", "--no-pager", "-o", "cat") or text
    # One message of the driver has several lines, each with its own time stamp and prefix.
    flat = re.sub(r"\s*\n\s*(?:\[[^\]\n]*\]\s*)?(?:NVRM:\s*)?", " ", text)
    found = {name: re.search(pattern, flat) for name, pattern in LOG.items()}
    return {name: match[0].strip() for name, match in found.items() if match}


def driver_source(root: str) -> str:
    """Return the version of the driver's source code in /usr/src, which NVIDIA's installer and packages leave there."""
    found = glob.glob(os.path.join(root, "usr/src/nvidia-*/dkms.conf"))
    versions = [os.path.basename(os.path.dirname(file)).rpartition("-")[2] for file in found]
    return max(versions, key=lambda version: [int(part) for part in re.findall(r"\d+", version)], default="")


def modinfo(run_command: Any) -> dict[str, str]:
    """Return version, license and signer of the module that would be loaded; open modules have ``Dual MIT/GPL``."""
    text = run_command("modinfo", "nvidia") or ""
    found = dict(re.findall(r"(?m)^(version|license|signer):\s*(.+?)\s*$", text))
    if "signer" in found and not re.search(DISTRIBUTIONS, found["signer"]):
        found["signer"] = "a key of this machine"  # its name contains that of the host
    return found


def forbidden(root: str, read: Any) -> list[str]:
    """Return the configuration files that keep the module ``nvidia`` from being loaded."""
    forbids = r"(?m)^\s*(?:blacklist nvidia\s*$|alias nvidia off|install nvidia /\S*bin/(?:true|false))"
    folders = ("etc/modprobe.d", "run/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d")
    files = [file for top in folders for file in sorted(glob.glob(os.path.join(root, top, "*.conf")))]
    found = [file for file in files if re.search(forbids, read("/", file))]
    return ["/" + os.path.relpath(file, root).replace(os.sep, "/") for file in found]


def switched_off(root: str, read: Any, run_command: Any) -> str:
    """Return which tool switched the card of a laptop off, or ``""``.

    Read from the files that the tools themselves read: ``prime-select`` (nvidia-prime), envycontrol (its
    ``get_current_mode``), supergfxctl (``/etc/supergfxd.conf``), system76-power, and the kernel's switch for ASUS
    (``Documentation/ABI/testing/sysfs-platform-asus-wmi``).
    """
    if run_command("prime-select", "query") == "intel":
        return "prime-select"
    rules = [os.path.join(root, top, "udev/rules.d/50-remove-nvidia.rules") for top in ("etc", "lib")]
    forbidden = os.path.join(root, "etc/modprobe.d/blacklist-nvidia.conf")
    if any(map(os.path.exists, rules)) and os.path.exists(forbidden):
        return "envycontrol"
    if re.search(r'"mode"\s*:\s*"Integrated"', read(root, "etc/supergfxd.conf")):
        return "supergfxctl"
    if re.search(r"(?m)^blacklist nvidia\s*$", read(root, "etc/modprobe.d/system76-power.conf")):
        return "system76-power"
    armoury = "sys/class/firmware-attributes/asus-armoury/attributes/dgpu_disable/current_value"
    switches = (read(root, "sys/devices/platform/asus-nb-wmi/dgpu_disable"), read(root, armoury))
    return "asus-wmi" if "1" in switches else ""


def signatures(root: str, read: Any) -> bool | None:
    """Return whether the kernel loads signed modules only; None if it does not say.

    Secure Boot alone does not decide that: Arch's kernels load any module, and so does `mokutil --disable-validation`.
    """
    lockdown = read(root, "sys/kernel/security/lockdown")  # none [integrity] confidentiality
    enforced = read(root, "sys/module/module/parameters/sig_enforce")
    if not lockdown:
        return True if enforced == "Y" else None
    return "[none]" not in lockdown or enforced == "Y"


def opened(path: str) -> str:
    """Open a device file and return ``"ok"``, or the name of the error (``"EACCES"``)."""
    try:
        os.close(os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)))
        return "ok"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))


def nodes(root: str) -> dict[str, str]:
    """Open the driver's device files, and return how that ended: ``{"nvidiactl": "ok", "nvidia0": "EACCES"}``."""
    names = {"nvidiactl", "nvidia-uvm"} if glob.glob(os.path.join(root, "dev/nvidia*")) else set()
    names |= {os.path.basename(file) for file in glob.glob(os.path.join(root, "dev/nvidia[0-9]*"))}
    if os.path.exists(os.path.join(root, "dev/kfd")):
        names.add("kfd")
    return {name: opened(os.path.join(root, "dev", name)) for name in sorted(names)}


def node_owners(root: str) -> dict[str, str]:
    """Return rights, user and group of the GPUs' device files: ``{"nvidia0": "660 0 44"}``."""
    found = {}
    for file in [*glob.glob(os.path.join(root, "dev/nvidia[0-9]*")), os.path.join(root, "dev/kfd")]:
        try:
            status = os.stat(file)
        except OSError:
            continue
        found[os.path.basename(file)] = f"{status.st_mode & 0o777:o} {status.st_uid} {status.st_gid}"
    return found


def from_files(root: str, read: Any) -> dict[str, Any]:
    """Return what files say about the driver's modules."""
    kernel = read(root, "proc/sys/kernel/osrelease")
    return {
        "module_files": module_files(root),
        "module_folder": os.path.isdir(os.path.join(root, "lib/modules", kernel)),
        "module_open": "Open Kernel Module" in read(root, "proc/driver/nvidia/version"),
        # Four bytes of attributes, then 1 where it is on.
        "secure_boot": read(root, SECURE_BOOT)[4:] == "\1",
        "signatures": signatures(root, read),
        "driver_source": driver_source(root),
        "dkms": any(glob.glob(os.path.join(root, path)) for path in DKMS),
        "forbidden": forbidden(root, read),
    }


def from_commands(root: str, read: Any, run_command: Any, card: bool) -> dict[str, Any]:
    """Return what commands say, each of which may be slow; without a `card`, nobody is asked for log and module."""
    return {
        "switched_off": switched_off(root, read, run_command),
        "modinfo": modinfo(run_command) if card else {},
        "kernel_log": log(run_command) if card else {},
    }
