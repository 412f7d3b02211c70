"""Remove private data: home folder, user names, host names, UUIDs, addresses, keys; for a bug report also folders."""

from __future__ import annotations

import getpass
import ipaddress
import os
import platform
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

# User and host names of common images. They are not private, and some of them occur in commands.
_ORDINARY = {"root", "ubuntu", "debian", "fedora", "centos", "admin", "user", "student", "guest", "docker", "container",
             "jupyter", "jovyan", "colab", "conda", "mamba", "mambauser", "nvidia", "jetson", "cuda", "gpu", "torch",
             "pytorch", "python", "ec2-user", "azureuser", "vscode", "runner", "localhost"}  # fmt: skip


@cache
def _private() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the replacements (pattern, replacement) for home folder, user names, host names and UUIDs of cards."""
    rules = []
    homes = {os.path.expanduser("~"), os.environ.get("HOME", ""), os.environ.get("USERPROFILE", "")}
    homes |= {os.path.realpath(home) for home in homes if home}
    for home in sorted((home for home in homes if len(home.strip("/\\~")) > 1), key=len, reverse=True):
        rules.append((re.compile(re.escape(home) + r"(?![\w.-])"), "~"))
    names = {
        os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "JUPYTERHUB_USER")
    }
    names |= {os.path.basename(home) for home in homes}
    try:
        names.add(getpass.getuser())
    except (OSError, KeyError, ImportError):
        pass  # in a container the user id may have no name
    hosts = {platform.node(), os.environ.get("HOSTNAME", ""), os.environ.get("COMPUTERNAME", "")}
    hosts |= {host.split(".")[0] for host in hosts}
    for given, shown, flags in ((names, "<user>", 0), (hosts, "<host>", re.IGNORECASE)):
        private = [name for name in given if len(name) > 1 and name.lower() not in _ORDINARY]
        for name in sorted(private, key=len, reverse=True):
            rules.append((re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", flags), shown))
    return (*rules, *_EVERYWHERE)


# The same on every machine. What looks random is taken for a key; mangled names of C++ begin with an underscore.
_EVERYWHERE = tuple((re.compile(pattern), shown) for pattern, shown in {
    r"\b(GPU|MIG)-[0-9a-f]{8}[0-9a-f-]*(?:/\d+)*": r"\1-<id>",
    r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b": "<id>",
    r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b": "<address>",  # MAC
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}": "<address>",
    r"(?i)((?:api[_-]?key|access[_-]?key|token|secret|passw(?:or)?d|credentials?|authorization)[\"']?\s*[:=]\s*[\"']?"
    r"(?:(?:bearer|basic)\s+)?)[^\s\"',;]+": r"\1<key>",
    r"\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|nvapi-|eyJ|A[KS]IA)[\w.-]{8,}": "<key>",
    r"\b[0-9A-Fa-f]{32,}\b": "<key>",
    r"\b(?=[A-Za-z+]*\d)(?=[a-z\d+]*[A-Z])(?=[A-Z\d+]*[a-z])[A-Za-z\d+]{32,}": "<key>",
}.items())  # fmt: skip
_DOMAIN = re.compile(
    r"\b(?:[\w-]+\.)+(?:com|org|net|edu|gov|local|lan|internal|corp|intranet|localdomain)\b", re.IGNORECASE
)


def _ipv4(found: re.Match[str]) -> str:
    # Version numbers with four parts (cuDNN 9.10.2.21) begin with a small number.
    return "<address>" if 10 <= int(found[1]) <= 255 and int(found[1]) != 127 else found[0]


def _ipv6(found: re.Match[str]) -> str:
    # IPv6. Addresses that every machine has (::1) are not private.
    try:
        address = ipaddress.IPv6Address(found[0].partition("%")[0])
    except ValueError:
        return found[0]
    return found[0] if address.is_loopback or address.is_unspecified else "<address>"


def clean(text: str) -> str:
    """Return `text` without private data: ``"/home/ada/x"`` becomes ``"~/x"``."""
    for pattern, shown in _private():
        text = pattern.sub(shown, text)
    text = re.sub(r"(?<![\w:.])[0-9A-Fa-f:]{4,39}(?:%\w+)?(?![\w:])", _ipv6, text)
    return re.sub(r"(?<![\d.])(\d{1,3})(?:\.\d{1,3}){3}(?![\d.])", _ipv4, text)


# --- for a bug report: the names of folders --------------------------------------------------------------

# Below these, everybody has the same files.
_SYSTEM = re.compile(
    r"/(?:usr/(?:local/(?:cuda|nvidia|bin|lib|lib64|sbin)|(?!local|home)[\w.-]+)|bin|sbin|lib\d*|etc|proc|sys|dev|boot"
    r"|run/(?!media|user)[\w.-]+|var/(?:lib/shim-signed|run)|opt/(?:conda|nvidia|cuda|rocm|hostedtoolcache)|nix|snap"
    r"|kaggle|content|System|Library)(?![\w.])|(?i:[a-z]:[\\/]+(?:windows|program files(?: \(x86\))?)(?![\w.]))"
)
# Components that tell nothing about their owner.
_PUBLIC = re.compile(
    r"~|\$HOME|%USERPROFILE%|\$env:USERPROFILE|<\w+>|\.{1,2}|bin|s?bin|lib(?:64|32|exec)?|include|share|Scripts|DLLs|Library"
    r"|(?:site|dist)-packages|envs?|\.?venv|pkgs|versions|targets|compat|stubs|src|python_embeded|python(?:\d[\d.]*)?"
    r"|(?:micro)?mamba|(?:mini|ana|mamba)(?:conda|forge)\d*|pypoetry|virtualenvs|\.?(?:cache|local|conda|pyenv|jupyter)"
    r"|(?:python|pip|uv|conda|nvidia-smi|torch-doctor)[\d.]*(?:\.exe)?|kernels|__init__\.py|(?:torch|nvidia|cuda|cudnn|triton)"
    r"(?:[-_]?(?:runtime|toolkit|cu\d+|vision|audio|doctor))?(?:-?\d[\d.]*)?(?:\.py)?|(?:x86_64|aarch64|sbsa)[\w-]*"
    r"|(?:lib)?(?:cu(?:da|dnn|blas|dart|fft|rand|sparse|solver|pti)|nccl|nv|torch|c10|gomp|iomp|shm|fbgemm|_C)[\w.+-]*"
    r"\.(?:so[\d.]*|dll|dylib|pyd)",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?P<url>\b[a-z][a-z0-9+.-]*://[^\s'\"<>]+)"
    r"|(?P<windows>(?<![A-Za-z0-9])[A-Za-z]:[\\/]+[^\r\n\"'<>|:*?;,]+|(?<![\w\\])\\\\[^\r\n\"'<>|:*?;,]+)"
    # Words with a slash behind them may go on with a path that has spaces in it.
    r"|(?P<posix>(?:(?<![\w.<>/~$%])|(?:~|\$HOME))/[^\s:;,'\"()\[\]{}|*?]+(?:(?: [^\s/:;,'\"]+){1,4}/[^\s:;,'\"]*)*)"
)
_PUBLIC_HOST = re.compile(
    r"(?:[\w-]+\.)*(?:pytorch\.org|nvidia\.com|github\.com|python\.org|colab\.research\.google\.com)",
    re.IGNORECASE,
)


def shortened(path: str) -> str:
    """Return `path` without the names of folders that only this machine has.

    ``/data/acme/venv/lib/python3.11/site-packages/torch/__init__.py`` becomes
    ``<folder>/venv/lib/python3.11/site-packages/torch/__init__.py``. System folders stay as they are.
    """
    if _SYSTEM.match(path):
        return path
    parts = [part for part in re.split(r"[\\/]+", path) if part and not re.fullmatch("[A-Za-z]:", part)]
    shown = [part if _PUBLIC.fullmatch(part) else "<folder>" for part in parts]
    kept = [part for at, part in enumerate(shown) if part != "<folder>" or shown[at - 1 : at] != ["<folder>"]]
    return "/".join(kept)


def _url(address: str) -> str:
    host = re.sub(r"^[^/]*//(?:[^/@]*@)?([^/:?#]*).*", r"\1", address, flags=re.DOTALL)
    kept = _PUBLIC_HOST.fullmatch(host) and "@" not in address and "?" not in address
    return address if kept else f"{address.partition('://')[0]}://<address>"


def without_folders(text: str) -> str:
    """Return `text` with each path in it :func:`shortened`; a path, or a list of them, may have spaces."""
    for separator in (":", ";"):
        pieces = text.split(separator)
        whole = r"/[^\n/][^\n]*" if separator == ":" else r"[A-Za-z]:[\\/][^\n]*"
        if all(re.fullmatch(whole, piece) for piece in pieces if piece) and any(pieces):
            return separator.join(shortened(piece) if piece else "" for piece in pieces)
    return _PATH.sub(lambda found: _url(found[0]) if found["url"] else shortened(found[0]), text)


def publishable(value: Any) -> Any:
    """Return `value` (a text, or plain data) as a bug report may hold it: :func:`clean`, and without private folders.

    The keys of plain data are the doctor's own words, and stay.
    """
    if isinstance(value, Mapping):
        return {key: publishable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [publishable(inner) for inner in value]
    if not isinstance(value, str):
        return value
    text = without_folders(clean(value))
    return _DOMAIN.sub(lambda found: found[0] if _PUBLIC_HOST.fullmatch(found[0]) else "<host>", text)
