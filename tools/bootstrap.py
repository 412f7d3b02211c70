# -*- coding: utf-8 -*-
"""Make the course's own environment in .venv, then run one of the course's commands in it.

    make lab      is      python3 tools/bootstrap.py lab       (Windows: py tools\\bootstrap.py lab)
    make test     is      python3 tools/bootstrap.py test

Needs nothing but a Python. It is written in the language that Python 2.7 and 3.4 to 3.14 share, because
whoever starts it with an old one shall read a sentence, not a SyntaxError: no type hints, no f-strings.

Exit status: that of the command; 1 without an environment, 2 for a wrong command, 130 when stopped.
"""

from __future__ import print_function, unicode_literals

import errno
import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "course-setup.json")
LOCK = os.path.join(ROOT, ".venv.lock")
WINDOWS = os.name == "nt"
SUPPORTED = ("3.13", "3.12", "3.11")  # newest first: the order in which they are looked for

# The direct dependencies. pip thinks that a package is installed even when its files were deleted.
MODULES = (
    "torch",
    "numpy",
    "matplotlib",
    "jupyterlab",
    "ipykernel",
    "ipywidgets",
    "filelock",
    "platformdirs",
    "psutil",
    "sklearn",
)

# name: (extras of the project, module to run and its arguments)
COMMANDS = {
    "setup": ("", None),
    "lab": ("", ["tools.lab"]),
    "test": ("test", ["tools.test"]),
    "check": ("test", ["tools.check", "notebooks"]),
    "mend": ("test", ["tools.check", "--mend", "notebooks"]),
    "record": ("test", ["tools.record"]),
    "verify-gpu": ("test", ["tools.verify_gpu"]),
    "take-evidence": ("test", ["tools.take_evidence"]),
    "constraints": ("test", ["tools.constraints"]),
    "clean": ("", None),
}

# What pip and venv print when something is wrong, and what to do about it. The first that fits is told.
CAUSES = (
    (
        "No space left on device|Errno 28|WinError 112|Disk quota exceeded|Errno 122",
        "The disk is full. Free some space (3 GB for the CPU build of torch, 10 GB for a CUDA build; also"
        " where TMPDIR points), then run this again.",
        "磁碟空間不足。請清出空間（torch 的 CPU 版約 3 GB，CUDA 版約 10 GB；TMPDIR 所在之處也要有空間），"
        "然後再執行一次。",
    ),
    (
        "CERTIFICATE_VERIFY_FAILED|SSLError",
        "The connection to the package index is not trusted. Behind the proxy of a school or company, set"
        " PIP_CERT to its certificate file; check this machine's date, too. Then run this again.",
        "與套件來源的連線不受信任。若位於學校或公司的代理伺服器之後，請將 PIP_CERT 設為其憑證檔，"
        "也請確認本機的日期，然後再執行一次。",
    ),
    (
        # hatchling runs on every machine: where pip finds none, it has found no index at all.
        "requirement hatchling|NewConnectionError|Failed to establish a new connection|getaddrinfo failed"
        "|name resolution|Name or service not known|nodename nor servname|Network is unreachable"
        "|Connection refused|Connection reset|ConnectTimeoutError|ReadTimeoutError|Read timed out|ProxyError"
        "|RemoteDisconnected",
        "The package index cannot be reached. Check the network (behind a proxy, set HTTPS_PROXY), then run"
        " this again; what was downloaded is kept.",
        "無法連上套件來源。請檢查網路（若使用代理伺服器，請設定 HTTPS_PROXY），然後再執行一次；"
        "已下載的檔案會保留。",
    ),
    (
        "Permission denied|Errno 13|WinError 5]|Read-only file system|Errno 30",
        "No permission to write here. Move the course to a folder of your own, then run this again.",
        "沒有寫入權限。請把課程移到自己的資料夾，然後再執行一次。",
    ),
    (
        "No matching distribution found|ResolutionImpossible|not a supported wheel",
        "pip finds no build of a package for this machine; the line above names it. torch needs 64-bit Linux"
        " or Windows, or macOS 14 on Apple silicon.",
        "pip 找不到適用於本機的套件版本，名稱見上一行。torch 需要 64 位元的 Linux、Windows，"
        "或搭載 Apple 晶片的 macOS 14 以上。",
    ),
)


class Problem(Exception):
    """Something that a person has to mend; carries the sentence to show, in English and in Chinese."""

    def __init__(self, english, chinese, status=1):
        super(Problem, self).__init__(english)
        self.english = english
        self.chinese = chinese
        self.status = status


def show(line, stream):
    """Print a line on any terminal; what it cannot show becomes a question mark."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    print(line.encode(encoding, "replace").decode(encoding), file=stream)


def say(english, chinese, stream=None):
    """Print one line in each language; the Chinese one only where the terminal can show it."""
    stream = stream or sys.stdout
    show(english, stream)
    try:
        chinese.encode(getattr(stream, "encoding", None) or "ascii")
        show(chinese, stream)
    except UnicodeError:
        pass
    stream.flush()


# --- which Python -----------------------------------------------------------------------------------------

# Of a virtual environment this gives the Python that it was made with: .venv itself may be about to go.
PROBE = """
import platform, sys
print("%d.%d" % sys.version_info[:2])
print(platform.python_implementation())
print(sys.maxsize > 2 ** 32)
try:
    import ensurepip, venv
    print(True)
except ImportError:
    print(False)
inside = sys.prefix != getattr(sys, "base_prefix", sys.prefix)
print(getattr(sys, "_base_executable", sys.executable) if inside else sys.executable)
"""
Python = namedtuple("Python", "version implementation wide has_venv path")


def probe(command):
    """Ask a Python what it is; None where nothing answers."""
    try:
        process = subprocess.Popen(command + ["-c", PROBE], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except (OSError, ValueError):
        return None
    lines = process.communicate()[0].decode("utf-8", "replace").splitlines()
    if process.returncode or len(lines) != len(Python._fields):
        return None
    return Python(lines[0], lines[1], lines[2] == "True", lines[3] == "True", lines[4])


def fits(python):
    return python.version in SUPPORTED and python.implementation == "CPython" and python.wide


def describe(python):
    name = "Python" if python.implementation == "CPython" else python.implementation
    return "%s %s%s, %s" % (name, python.version, "" if python.wide else " (32 bit)", python.path)


def choose_python():
    """Find the Python to make the environment with: PYTHON if set, otherwise the first that fits.

    Raises Problem when there is none.
    """
    wanted = os.environ.get("PYTHON")
    if wanted:
        # A path may hold spaces; "py -3.12" is two words.
        commands = [[wanted]] if os.path.exists(wanted) else [shlex.split(wanted, posix=not WINDOWS)]
    else:
        named = [["py", "-" + version] if WINDOWS else ["python" + version] for version in SUPPORTED]
        commands = [[sys.executable]] + named + [["python3"], ["python"]]
    without_venv, unfit = None, []
    for command in commands:
        python = probe(command)
        if python is None:
            continue
        if fits(python) and python.has_venv:
            return python
        if fits(python):
            without_venv = without_venv or python
        elif describe(python) not in unfit:
            unfit.append(describe(python))

    if without_venv:
        names = (without_venv.version, without_venv.path, without_venv.version)
        raise Problem(
            "Python %s (%s) lacks the venv module. On Debian and Ubuntu: sudo apt install python%s-venv; then"
            " run this again." % names,
            "Python %s（%s）缺少 venv 模組。Debian、Ubuntu 請執行 sudo apt install python%s-venv，"
            "然後再執行一次。" % names,
        )
    if wanted and not unfit:
        raise Problem(
            "PYTHON=%s does not start a Python. Give the path of Python 3.11, 3.12 or 3.13." % wanted,
            "PYTHON=%s 無法啟動 Python。請指定 Python 3.11、3.12 或 3.13 的路徑。" % wanted,
        )
    raise Problem(
        "This course needs Python 3.11, 3.12 or 3.13 (64 bit), but there is only: %s. Install one from"
        " https://www.python.org/downloads/ or name yours: PYTHON=/path/to/python3.12 make lab"
        % ("; ".join(unfit) or "none at all"),
        "本課程需要 Python 3.11、3.12 或 3.13（64 位元），目前只有：%s。請到 https://www.python.org/downloads/"
        " 安裝，或自行指定：PYTHON=/path/to/python3.12 make lab" % ("；".join(unfit) or "無"),
    )


# --- the environment --------------------------------------------------------------------------------------


def venv_python():
    return os.path.join(VENV, "Scripts", "python.exe") if WINDOWS else os.path.join(VENV, "bin", "python")


def site_packages(version):
    if WINDOWS:
        return os.path.join(VENV, "Lib", "site-packages")
    return os.path.join(VENV, "lib", "python" + version, "site-packages")


def venv_version():
    """The Python version of .venv; None where that Python is gone or was replaced by another version."""
    python = probe([venv_python()])
    if python is None or not fits(python) or not os.path.isdir(site_packages(python.version)):
        return None
    return python.version


def clean_environment():
    """The variables for what runs in .venv: nothing from outside gets onto its import path."""
    environment = dict(os.environ)
    for name in ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__", "PIP_TARGET", "PIP_PREFIX"):
        environment.pop(name, None)
    environment["PIP_USER"] = "0"  # a pip.conf with user=true would install past the environment
    environment["VIRTUAL_ENV"] = VENV
    environment["PATH"] = os.path.dirname(venv_python()) + os.pathsep + environment.get("PATH", "")
    return environment


def fingerprint(version):
    """What the environment is made from: three files, the Python, the folder (an environment cannot move)."""
    digest = hashlib.sha256((version + "\n" + ROOT).encode("utf-8"))
    for name in ("pyproject.toml", "constraints.txt", os.path.join("tools", "jupyterlab_defaults.json")):
        with open(os.path.join(ROOT, name), "rb") as file:
            # Only the part that says what is installed: who edits the rules of ruff need not install again.
            digest.update(file.read().replace(b"\r\n", b"\n").split(b"\n[tool.pytest")[0])
    return digest.hexdigest()


def read_stamp():
    try:
        with io.open(STAMP, encoding="utf-8") as file:
            stamp = json.load(file)
    except (OSError, IOError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(**stamp):
    with open(STAMP + ".new", "wb") as file:
        file.write(json.dumps(stamp, indent=1, sort_keys=True).encode("utf-8"))
    getattr(os, "replace", os.rename)(STAMP + ".new", STAMP)  # whole or not at all


def packages(version):
    """Names of what is installed, without versions: whoever put in another torch on purpose may keep it."""
    names = os.listdir(site_packages(version))
    return sorted(name.split("-")[0] for name in names if name.endswith(".dist-info"))


def missing_modules(version):
    folder = site_packages(version)
    return [name for name in MODULES if not os.path.exists(os.path.join(folder, name, "__init__.py"))]


def ready(extras):
    """Whether .venv is complete and made from these very files. The quick path: one process, few look-ups."""
    stamp = read_stamp()
    if stamp.get("state") != "ready" or extras not in ("", stamp["extras"]):
        return False
    version = venv_version()
    return (
        why_rebuild(stamp, version) is None
        and stamp["key"] == fingerprint(version)
        and set(stamp["packages"]) <= set(packages(version))
    )


def why_rebuild(stamp, version):
    """The reason to throw .venv away and start again, in both languages; None where it can be kept."""
    if stamp.get("state") == "installing":
        return "the last set-up did not finish", "上次的安裝沒有完成"
    if stamp.get("root", ROOT) != ROOT:
        return "its folder was moved", "資料夾已被移動"
    if version is None:
        return "its Python is gone or does not fit", "其中的 Python 已不存在或不適用"
    if os.environ.get("PYTHON") and version != choose_python().version:
        return "PYTHON asks for another version", "PYTHON 指定了另一個版本"
    gone = ", ".join(missing_modules(version)) if stamp.get("state") == "ready" else ""
    if gone:
        return "files of %s are gone" % gone, "%s 的檔案不見了" % gone
    return None


def remove_venv():
    if os.path.isdir(VENV) and not os.path.islink(VENV):
        try:
            write_stamp(state="installing")  # interrupted half-way, this is not an environment any more
        except EnvironmentError:
            pass  # a full disk has no room for that; removing makes some
        shutil.rmtree(VENV)
    elif os.path.lexists(VENV):
        os.unlink(VENV)


def make_venv():
    """Make an empty .venv, or keep the one that is there if it is sound."""
    there, stamp = os.path.lexists(VENV), read_stamp()
    reason = why_rebuild(stamp, venv_version()) if there else None
    if there and reason is None:
        return
    if there and not stamp:
        raise Problem(
            "%s was not made by this course, and %s. Rename or remove it, then run this again."
            % (VENV, reason[0]),
            "%s 不是由本課程建立，而且%s。請改名或移除，然後再執行一次。" % (VENV, reason[1]),
        )
    python = choose_python()  # before anything is removed
    if there:
        say("The environment in .venv is made anew: %s." % reason[0], "重新建立 .venv 環境：%s。" % reason[1])
        remove_venv()
    say("Making .venv with Python %s …" % python.version, "以 Python %s 建立 .venv …" % python.version)
    os.mkdir(VENV)
    write_stamp(state="installing")
    process = subprocess.Popen(
        [python.path, "-m", "venv", VENV],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output = process.communicate()[0].decode("utf-8", "replace")
    if process.returncode:
        show(output, sys.stderr)
        raise explain(output, "python -m venv")


def pip_install(extras, quietly):
    """Install the project with its constraints. pip's progress is shown; its errors are read as well."""
    project = ".[%s]" % extras if extras else "."
    command = [venv_python(), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["-c", "constraints.txt", "-e", project] + (["--quiet"] if quietly else [])
    process = subprocess.Popen(command, cwd=ROOT, env=clean_environment(), stderr=subprocess.PIPE)
    errors = []
    for line in iter(process.stderr.readline, b""):
        errors.append(line.decode("utf-8", "replace"))
        if not errors[-1].startswith("WARNING: Retrying"):
            show(errors[-1].rstrip(), sys.stderr)
    process.stderr.close()
    if process.wait():
        raise explain("".join(errors), "pip install")


def explain(output, step):
    """Turn what pip or venv printed into a Problem that says what to do next."""
    for signs, english, chinese in CAUSES:
        if any(sign in output for sign in signs.split("|")):
            return Problem(english, chinese)
    return Problem(
        "%s failed; the lines above say why. To start afresh: make clean, then make lab." % step,
        "%s 失敗，原因見上方訊息。若要重新開始，請先執行 make clean，再執行 make lab。" % step,
    )


def set_up(extras):
    """Make .venv complete; does nothing when it is."""
    if ready(extras):
        return
    with Lock():
        if ready(extras):  # another set-up has just done it
            return
        make_venv()
        before = read_stamp()
        extras = extras or before.get("extras", "")  # `make lab` keeps the test tools usable
        renewed = before.get("state") == "ready" and before["extras"] == extras
        if renewed:
            say("Bringing .venv up to date …", "更新 .venv …")
        else:
            say(
                "Installing the course's packages (torch is large: a few minutes the first time) …",
                "安裝課程所需的套件（torch 很大，第一次需要幾分鐘）…",
            )
        write_stamp(state="installing")
        try:
            pip_install(extras, quietly=renewed)
        except Problem:
            # pip has undone what it began; next time the same environment is simply completed.
            write_stamp(state="incomplete", root=ROOT)
            raise
        version = venv_version()
        gone = ", ".join(missing_modules(version))
        if gone:
            raise Problem(
                "Files of %s are missing. To start afresh: make clean, then make lab." % gone,
                "缺少 %s 的檔案。若要重新開始，請先執行 make clean，再執行 make lab。" % gone,
            )
        write_stamp(
            state="ready", root=ROOT, key=fingerprint(version), extras=extras, packages=packages(version)
        )


class Lock(object):
    """Only one set-up at a time in this folder. The system lets go of it when the process ends, however."""

    def __enter__(self):
        self.file = open(LOCK, "w")
        waiting = False
        while self.taken():
            if not waiting:
                say("Another set-up runs in this folder; waiting …", "這個資料夾正在進行另一個安裝；等待中 …")
            waiting = True
            time.sleep(0.5)

    def taken(self):
        try:
            if WINDOWS:
                import msvcrt

                msvcrt.locking(self.file.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (OSError, IOError) as error:
            # Any other error: a file system without locks. Go on; the lock is a courtesy.
            return error.errno in (errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK)
        return False

    def __exit__(self, *error):
        self.file.close()


# --- commands ---------------------------------------------------------------------------------------------


def run(module, arguments):
    """Run a module in .venv from the project's folder; returns its exit status."""
    command = [venv_python(), "-m"] + module + arguments
    os.chdir(ROOT)
    if module == ["tools.lab"] and not WINDOWS:
        os.execve(command[0], command, clean_environment())  # Ctrl-C goes straight to JupyterLab
    process = subprocess.Popen(command, env=clean_environment())
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass  # the command got it as well and decides itself


def main(arguments):
    if not arguments or arguments[0] not in COMMANDS:
        commands = "|".join(sorted(COMMANDS))
        raise Problem(
            "Say what to do: python3 tools/bootstrap.py %s" % commands,
            "請指定要做什麼：python3 tools/bootstrap.py %s" % commands,
            status=2,
        )
    name, rest = arguments[0], arguments[1:]
    if name == "clean":
        with Lock():
            remove_venv()
        return 0
    extras, module = COMMANDS[name]
    set_up(extras)
    return run(module, rest) if module else 0


if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
    except KeyboardInterrupt:
        say("Stopped. Run it again to go on.", "已停止。再執行一次即可繼續。", sys.stderr)
        status = 130
    except (Problem, EnvironmentError) as error:
        if not isinstance(error, Problem):  # the disk, or permissions, in the middle of our own work
            show(str(error), sys.stderr)
            error = explain(str(error), "The set-up")
        say(error.english, error.chinese, sys.stderr)
        status = error.status
    sys.exit(status)
