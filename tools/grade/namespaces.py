"""A view of the machine of its own for the calling process: Linux namespaces and an empty folder.

What runs inside sees the system's programs and libraries, Python and the course, all of them read-only, and an empty
folder with a limited size. It sees no home, no other process and no network except the loopback that torchrun needs.
Everything disappears with the first process.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from pathlib import Path

from tools.grade.course import IMPORTABLE, ROOT

NOBODY = 65534
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/sys")
DEVICES = ("null", "zero", "full", "random", "urandom")
WORK = "/work-folder"

# From linux/sched.h, linux/mount.h, linux/prctl.h and linux/capability.h; the number of the system call is the same
# on all processors that PyTorch knows.
_NEW_USER = 0x10000000
_NEW = 0x20000 | 0x4000000 | 0x8000000 | 0x20000000 | 0x40000000  # mounts, host name, IPC, processes, network
_BIND, _REC, _PRIVATE = 4096, 16384, 1 << 18
_NOSUID, _NODEV, _NOEXEC = 2, 4, 8
_MOUNT_SETATTR, _AT_RECURSIVE, _RDONLY_NOSUID = 442, 0x8000, 0x1 | 0x2
_DEATH_SIGNAL, _SUBREAPER, _NO_NEW_PRIVILEGES = 1, 36, 38


class Unavailable(Exception):
    """This machine does not let the calling process make namespaces; the argument says what failed."""


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library, which must not fail."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) < 0:
        raise Unavailable(f"{name}: {os.strerror(ctypes.get_errno())}")


def _mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    texts = [text.encode() if text is not None else None for text in (source, target, kind)]
    _call("mount", *texts, ctypes.c_ulong(flags), options.encode())


def user() -> tuple[int, int]:
    """Return the user and group inside: the caller; for root nobody, who can harm no process of anybody else."""
    return (os.getuid(), os.getgid()) if os.getuid() else (NOBODY, NOBODY)


def adopt_orphans() -> None:
    """Become the parent of descendants whose parents end, where the system knows that (Linux)."""
    if sys.platform.startswith("linux"):
        _call("prctl", _SUBREAPER, 1, 0, 0, 0)


def separate() -> None:
    """Move this process, and for processes its next child, into namespaces of its own, or raise `Unavailable`."""
    if not sys.platform.startswith("linux"):
        raise Unavailable(sys.platform)
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", _NEW | _NEW_USER if uid else _NEW)
    if uid:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def needed() -> list[Path]:
    """Return the folders inside, none of them below another one."""
    paths = map(Path, (*SYSTEM, ROOT, sys.prefix, sys.base_prefix, *IMPORTABLE, *sys.path))
    found: list[Path] = []
    for path in sorted({form for p in paths if p.exists() for form in (p.absolute(), p.resolve())}):
        if path.is_symlink() or not any(
            path.is_relative_to(other) and not other.is_symlink() for other in found
        ):
            found.append(path)
    return found


def enter(folder: Path, size: int, files: int) -> None:
    """Leave only what is needed, in the first process of the new namespaces, and give up all privileges.

    Args:
        folder: An empty folder; it is not changed.
        size: Limit of what the process can write, in bytes; as much again in shared memory.
        files: Limit of how many files it can make.
    """
    uid, gid = user()
    top = str(folder)
    _mount("none", "/", None, _REC | _PRIVATE)
    _mount("tmpfs", top, "tmpfs", _NOSUID | _NODEV, f"size={size},nr_inodes={files},mode=755")
    for path in needed():
        inside = Path(top + str(path))
        inside.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            inside.symlink_to(path.readlink())
        elif path.is_dir():
            inside.mkdir(exist_ok=True)
            _bind(str(path), str(inside))
    for name in ("proc", "dev/shm", WORK[1:]):
        os.makedirs(f"{top}/{name}", exist_ok=True)
    _mount("proc", f"{top}/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    shared = f"size={size},nr_inodes={files},mode=700,uid={uid},gid={gid}"
    _mount("tmpfs", f"{top}/dev/shm", "tmpfs", _NOSUID | _NODEV, shared)
    for name in DEVICES:
        Path(f"{top}/dev/{name}").touch()
        _mount(f"/dev/{name}", f"{top}/dev/{name}", None, _BIND)
    os.chown(top + WORK, uid, gid)
    os.makedirs(f"{top}/tmp", exist_ok=True)  # where PyTorch keeps what it compiles
    os.chmod(f"{top}/tmp", 0o1777)
    socket.sethostname("localhost")
    _loopback()
    os.chroot(top)
    os.chdir(WORK)
    give_up(uid, gid)


def _bind(source: str, target: str) -> None:
    _mount(source, target, None, _BIND | _REC)
    attributes = struct.pack("QQQQ", _RDONLY_NOSUID, 0, 0, 0)
    _call("syscall", _MOUNT_SETATTR, -100, target.encode(), _AT_RECURSIVE, attributes, len(attributes))


def _loopback() -> None:
    """Switch on ``lo``, the only network interface in the new namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def give_up(uid: int, gid: int) -> None:
    """Become, for good, an ordinary user without capabilities, who ends with the process outside."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    if sys.platform.startswith("linux"):
        _call("capset", struct.pack("Ii", 0x20080522, 0), bytes(24))
        _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _call("prctl", _DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
