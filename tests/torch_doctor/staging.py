"""How a machine of a case is built: the steps that its table names, one after the other.

A step is a method of :class:`fake_machines.Machine` or a function below. What the table says is its argument: a list has
several, a table has named ones, and a list of lists or tables repeats the step. Of :data:`EACH`, a table has one call per key.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fake_machines import Machine

EACH = {"file", "package", "project", "command", "report", "link"}
NOTHING = "(none)"  # TOML has no word for None

OS_RELEASE = {
    "ubuntu": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nVERSION_CODENAME=noble',
    "mint": 'ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="21.3"',
    "debian": 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm',
    "fedora": "ID=fedora\nVERSION_ID=41",
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"',
    "arch": "ID=arch\nBUILD_ID=rolling",
    "cachyos": "ID=cachyos\nID_LIKE=arch\nBUILD_ID=rolling",
    "suse": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\nVERSION_ID="20250601"',
    "nixos": 'ID=nixos\nVERSION_ID="24.11"',
    "alpine": "ID=alpine\nVERSION_ID=3.20.1",
}
UNDER_WINDOWS = {"os": "windows", "release": "11", "arch": "AMD64", "module": "", "laptop": False, "kernel": "", "pci": 0,
                 "prime": None, "cards": [], "nodes": {}, "module_files": []}  # fmt: skip


def build(machine: Machine, steps: Mapping[str, Any]) -> Machine:
    """Carry out `steps` on `machine`, in their order."""
    for name, given in steps.items():
        several = isinstance(given, list) and all(isinstance(one, (list, dict)) for one in given) and given
        for one in given if several else [given]:
            _step(machine, name, plain(one))
    return machine


def plain(value: Any) -> Any:
    """Return a value of a table as the code has it: with None."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return None if value == NOTHING else value


def _step(machine: Machine, name: str, given: Any) -> None:
    act = partial(globals()[name], machine) if name in globals() else getattr(machine, name)
    if name in EACH:
        for key, value in given.items():
            act(key, value)
    elif isinstance(given, dict):
        act(**given)
    elif isinstance(given, list):
        act(*given)
    else:
        act(*([] if given is True else [given]))


def python(m: Machine, kind: str = "venv", prefix: str = "/home/ann/venv") -> None:
    r"""Say in which environment the probes ran, as they report it.

    Args:
        m: The machine.
        kind: ``"venv"`` (switched on, with pip), ``"uv"`` (made by uv: without pip), ``"conda"`` or ``"system"``.
        prefix: Its folder. If it begins with ``C:\``, this is Windows, and commands are typed in PowerShell.
    """
    on_windows = prefix.startswith("C:")
    if on_windows:
        executable = prefix + (r"\python.exe" if kind == "conda" else r"\Scripts\python.exe")
    else:
        executable = prefix + ("/bin/python3" if kind == "system" else "/bin/python")
    uv = kind == "uv"
    found = {
        "executable": executable, "prefix": prefix, "word": "python3" if kind == "system" else "python",
        "shell": "powershell" if on_windows else "posix", "home": r"C:\Users\ann" if on_windows else "/home/ann",
        "folder": r"C:\Users\ann\project" if on_windows else "/home/ann/project", "managed": False, "project": {},
        "pip": not uv, "ensurepip": not uv, "tools": [kind] if kind in ("uv", "conda") else [], "pythons": [],
        "conda": kind == "conda",
    }  # fmt: skip
    for key, value in found.items():
        m.report(f"interpreter.{key}", value)


def interpreter(m: Machine, executable: str, torch: str = "", **more: Any) -> None:
    """Say which Python asks, with the release `torch` of torch, and what else the probe reports about it (`more`)."""
    on_windows = "\\" in executable
    prefix = executable
    for end in ("\\python.exe", "\\Scripts", "/python", "/python3", "/bin"):
        prefix = prefix.removesuffix(end)
    home = r"C:\Users\ann" if on_windows else "/home/ann"
    found = {
        "executable": executable, "prefix": prefix, "word": "python", "shell": "posix", "home": home, "folder": home,
        "environment": {}, "pip": True, "ensurepip": True, "tools": [], "pythons": [], "project": {}, "managed": False,
        "conda": False, "conda_torch": [], "torch_copies": [torch] if torch else [], **more,
    }  # fmt: skip
    found["packages"] = {**({"torch": torch} if torch else {}), **more.get("packages", {})}
    for key, value in found.items():
        m.report(f"interpreter.{key}", value)


def packages(m: Machine, *names: str) -> None:
    """Install packages, of which only the metadata matters: ``"torchvision-0.20.1"``."""
    for name in names:
        package, version = name.rsplit("-", 1)
        text = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        m.package(f"{name}.dist-info/METADATA", text)


def environment(m: Machine, variable: str, name: str, version: str, cuda: str) -> None:
    """Make another environment beside the machine's, with a torch in it, and let `variable` name it."""
    folder = m.folder / name / "lib/python3.12/site-packages/torch"
    folder.mkdir(parents=True)
    text = f"from typing import Optional\n__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\n"
    (folder / "version.py").write_text(text)
    m.set(**{variable: m.folder / name})


def linux(m: Machine, distribution: str, kernel: str = "") -> None:
    """Say which Linux this is (a key of :data:`OS_RELEASE`), and which kernel it runs; Python is that of a venv."""
    if kernel:
        m.file("proc/version", f"Linux version {kernel}").file("proc/sys/kernel/osrelease", kernel)
    m.file("etc/os-release", OS_RELEASE[distribution])
    python(m)


def windows(m: Machine, *video: str) -> None:
    """Make it a Windows machine with these graphics cards, as the probes report them there, and a venv."""
    for key, value in {**UNDER_WINDOWS, "video": list(video)}.items():
        m.report(f"bus.{key}", value)
    python(m, "venv", r"C:\Users\ann\venv")


def container(m: Machine, kind: str = "docker") -> None:
    """Make it a container of this kind."""
    if kind == "podman":
        m.file("run/.containerenv", 'engine="podman-5.2.0"\n')
    elif (
        kind == "lxc"
    ):  # with the second version of control groups only the first process's environment tells
        m.file("proc/1/environ", "container=lxc\0").file("run/systemd/container", "lxc\n")
    elif kind == "kubernetes":
        m.set(KUBERNETES_SERVICE_HOST="10.96.0.1").file("proc/1/cgroup", "0::/\n")
    else:
        m.file(".dockerenv")


def docker(m: Machine, *mounts: str) -> None:
    """Make it a Docker container of root, with Docker's small shared memory, and these files mounted from outside."""
    container(m)
    m.file("proc/self/uid_map", "0 0 4294967295").report("bus.shm", 64 * 2**20)
    lines = ["700 600 0:200 / / rw,relatime - overlay overlay rw"]
    for number, path in enumerate(mounts, 701):
        lines.append(f"{number} 700 8:2 /{path} /{path} ro,nosuid,nodev - ext4 /dev/sda2 rw")
    m.file("proc/self/mountinfo", "\n".join(lines) + "\n")


def wsl(m: Machine, kernel: str = "5.15.167.4") -> None:
    """Make it WSL 2 with a Windows that passes its GPU."""
    m.file("proc/version", f"Linux version {kernel}-microsoft-standard-WSL2").nodes("dxg")


def modinfo(m: Machine, version: str, license: str = "NVIDIA", signer: str = "") -> None:
    """Let the module on the disk, for the running kernel, be of this version; the open one is ``Dual MIT/GPL``."""
    fields = {"version": version, "license": license, "signer": signer}
    lines = "".join(f"echo '{key}:        {value}';" for key, value in fields.items() if value)
    m.command(
        "modinfo", f'case "$*" in *version*) echo {version};; *license*) echo "{license}";; *) {lines} esac'
    )


def kernel_log(m: Machine, *lines: str) -> None:
    """Let the kernel have logged these lines; its log is restricted, and journalctl shows it to administrators."""
    m.command("dmesg", 'echo "dmesg: read kernel buffer failed: Operation not permitted" >&2\nexit 1')
    m.command("journalctl", "\n".join(["/bin/cat <<'EOF'", *lines, "EOF"]))


def complains(m: Machine, text: str) -> None:
    """Let torch say what the real one says: in a warning of is_available(), and when it is initialized."""
    warning = f"CUDA initialization: {text} (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)"
    m.report("pytorch.warnings", [warning]).report("pytorch.init_error", f"RuntimeError: {text}")


def without_library(m: Machine) -> None:
    """Take libcuda away again; NVML stays."""
    file = m.library_folder / "libcuda.so.1"
    file.unlink()
    file.touch()
