"""Remove private data from a report: home folder, user names, host names, UUIDs of cards, IP addresses."""

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
    for given, shown in ((names - _ORDINARY, "<user>"), (hosts - _ORDINARY, "<host>")):
        for name in sorted((name for name in given if len(name) > 1), key=len, reverse=True):
            rules.append((re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"), shown))
    rules.append((re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}[0-9a-f-]*(?:/\d+)*"), r"\1-<id>"))
    return tuple(rules)


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


def clean(value: Any) -> Any:
    """Return `value` (a text, or plain data) without private data: ``"/home/ada/x"`` becomes ``"~/x"``."""
    if isinstance(value, Mapping):
        return {clean(key): clean(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(inner) for inner in value]
    if not isinstance(value, str):
        return value
    for pattern, shown in _private():
        value = pattern.sub(shown, value)
    value = re.sub(r"(?<![\w:.])[0-9A-Fa-f:]{4,39}(?:%\w+)?(?![\w:])", _ipv6, value)
    return re.sub(r"(?<![\d.])(\d{1,3})(?:\.\d{1,3}){3}(?![\d.])", _ipv4, value)
