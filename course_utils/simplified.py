"""Simplified Chinese, made from the Traditional texts: OpenCC, then the course's own terms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


@cache
def _converter() -> Callable[[str], str]:
    from opencc import OpenCC

    return OpenCC("tw2sp").convert


def simplified(text: str) -> str:
    """Return a Traditional Chinese text (Taiwan) in Simplified characters and mainland terms.

    Raises:
        ImportError: OpenCC is not installed (``pip install opencc``).
    """
    return _converter()(text)
