"""Shorten paths for a bug report: names of folders that only this machine has are left out.

``/data/acme/venv/lib/python3.11/site-packages/torch/__init__.py`` becomes
``<folder>/venv/lib/python3.11/site-packages/torch/__init__.py``. System folders stay as they are.
"""

from __future__ import annotations

import re

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
PUBLIC_HOST = re.compile(
    r"(?:[\w-]+\.)*(?:pytorch\.org|nvidia\.com|github\.com|python\.org|colab\.research\.google\.com)",
    re.IGNORECASE,
)


def _component(name: str) -> str:
    return name if _PUBLIC.fullmatch(name) else "<folder>"


def shortened(path: str) -> str:
    """Return `path` without the names of folders that only this machine has."""
    if _SYSTEM.match(path):
        return path
    shown = [
        _component(part) for part in re.split(r"[\\/]+", path) if part and not re.fullmatch("[A-Za-z]:", part)
    ]
    kept = [part for at, part in enumerate(shown) if part != "<folder>" or shown[at - 1 : at] != ["<folder>"]]
    return "/".join(kept)


def _url(address: str) -> str:
    host = re.sub(r"^[^/]*//(?:[^/@]*@)?([^/:?#]*).*", r"\1", address, flags=re.DOTALL)
    kept = PUBLIC_HOST.fullmatch(host) and "@" not in address and "?" not in address
    return address if kept else f"{address.partition('://')[0]}://<address>"


def without_folders(text: str) -> str:
    """Return `text` with each path in it :func:`shortened`; a path, or a list of them, may have spaces."""
    for separator in (":", ";"):
        pieces = text.split(separator)
        whole = r"/[^\n/][^\n]*" if separator == ":" else r"[A-Za-z]:[\\/][^\n]*"
        if all(re.fullmatch(whole, piece) for piece in pieces if piece) and any(pieces):
            return separator.join(shortened(piece) if piece else "" for piece in pieces)
    return _PATH.sub(lambda found: _url(found[0]) if found["url"] else shortened(found[0]), text)
