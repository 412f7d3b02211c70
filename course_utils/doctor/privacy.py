"""What a report must not tell: home folder, user names, host names, card numbers, addresses."""

from __future__ import annotations

import getpass
import ipaddress
import os
import platform
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

# Names that images and installers give to everybody. They tell nothing, and some of them stand in our commands.
_ORDINARY = {"root", "ubuntu", "debian", "fedora", "centos", "admin", "user", "student", "guest", "docker", "container",
             "jupyter", "jovyan", "colab", "conda", "mamba", "mambauser", "nvidia", "jetson", "cuda", "gpu", "torch",
             "pytorch", "python", "ec2-user", "azureuser", "vscode", "runner", "localhost"}  # fmt: skip


@cache
def _private() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return what is replaced in everything that is shown: home folder, user names, host names, card numbers."""
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
        pass  # a container may run as a number without a name
    hosts = {platform.node(), os.environ.get("HOSTNAME", ""), os.environ.get("COMPUTERNAME", "")}
    hosts |= {host.split(".")[0] for host in hosts}
    for given, shown in ((names - _ORDINARY, "<user>"), (hosts - _ORDINARY, "<host>")):
        for name in sorted((name for name in given if len(name) > 1), key=len, reverse=True):
            rules.append((re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"), shown))
    rules.append((re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}[0-9a-f-]*(?:/\d+)*"), r"\1-<id>"))
    return tuple(rules)


def _address(found: re.Match[str]) -> str:
    # Releases of four numbers (cuDNN 9.10.2.21) begin with small ones.
    return "<address>" if 10 <= int(found[1]) <= 255 and int(found[1]) != 127 else found[0]


def _long_address(found: re.Match[str]) -> str:
    # Of the sixth version. Those that every machine has (::1) tell nothing.
    try:
        one = ipaddress.IPv6Address(found[0].partition("%")[0])
    except ValueError:
        return found[0]
    return found[0] if one.is_loopback or one.is_unspecified else "<address>"


def clean(value: Any) -> Any:
    """Return `value` (a text, or plain data) without home folder, user, host, card numbers and addresses."""
    if isinstance(value, Mapping):
        return {clean(key): clean(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(inner) for inner in value]
    if not isinstance(value, str):
        return value
    for pattern, shown in _private():
        value = pattern.sub(shown, value)
    value = re.sub(r"(?<![\w:.])[0-9A-Fa-f:]{4,39}(?:%\w+)?(?![\w:])", _long_address, value)
    return re.sub(r"(?<![\d.])(\d{1,3})(?:\.\d{1,3}){3}(?![\d.])", _address, value)
