"""Texts in English and Traditional Chinese: a pair, its small markup, and its forms for notebooks and terminals.

A text carries both languages as ``<span lang>`` pairs; a style sheet of the page may hide one of them. Standard library
only.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHOICES = ("en", "zh", "both")
LANGUAGE_VARIABLE = "TORCH_DOCTOR_LANGUAGE"


_only: str | None = None  # the one language of this process; None: both, and the page shows one or two
_convert: Callable[[str], str] = str  # another writing of that language


def use_only(language: str | None, convert: Callable[[str], str] = str) -> None:
    """Write all texts in one language from now on, without ``lang`` elements; for pages without a language switch.

    Args:
        language: ``"en"`` or ``"zh"``; None for both again.
        convert: Changes each text on the way, for example to Simplified characters.

    Raises:
        ValueError: `language` is not known.
    """
    global _only, _convert
    if language not in (None, "en", "zh"):
        raise ValueError(f"use_only({language!r}): choose 'en', 'zh' or None.")
    _only, _convert = language, convert


def only_language() -> str | None:
    """Return the one language of this process, ``"en"`` or ``"zh"``; None where there are two."""
    return _only


def chosen_language() -> str:
    """Return the language for plain text: the only one, else that of ``TORCH_DOCTOR_LANGUAGE``, else ``"both"``."""
    if _only:
        return _only
    given = os.environ.get(LANGUAGE_VARIABLE, "")
    return given if given in CHOICES else "both"


_MEASURED = re.compile(r"⟨([^⟨⟩]*)⟩")
_TOKEN = re.compile(rf"{_MEASURED.pattern}|`([^`]+)`|\*\*((?:[^*`⟨]|`[^`]+`|⟨[^⟨⟩]*⟩)+)\*\*")


def measured(value: object) -> str:
    """Mark `value` as something that differs between machines or runs: ``⟨value⟩``.

    In HTML the mark becomes ``<span class="measured">``. The notebook checks compare everything else.
    """
    return f"⟨{re.sub('[⟨⟩]', '', str(value))}⟩"


def _mark(text: str) -> str:
    # The notebook checks find a mark by its tag; no other tag may be inside but for a value in both languages.
    return f'<span class="measured">{plain(text)}</span>'


def _tag(token: re.Match[str]) -> str:
    mark, code, strong = token.groups()
    if mark is not None:
        return _mark(mark)
    if code is not None:  # ** is code here: `f(**a)`
        return f"<code>{_MEASURED.sub(lambda inside: _mark(inside[1]), code)}</code>"
    return f"<strong>{_TOKEN.sub(_tag, strong)}</strong>"


def markup(text: str) -> str:
    """Convert the markup of a text (`code`, **strong**, ⟨measured⟩) to HTML; everything else is escaped."""
    return _TOKEN.sub(_tag, html.escape(text, quote=False))


def _bare(token: re.Match[str]) -> str:
    mark, code, strong = token.groups()
    if mark is not None:
        return f"⟨{plain(mark)}⟩"
    return code if code is not None else plain(strong)


def plain(text: str) -> str:
    """Return `text` without markup; only ⟨measured⟩ marks stay."""
    return _TOKEN.sub(_bare, text)


@dataclass(frozen=True)
class Bilingual:
    """One text in both languages.

    Attributes:
        en: The English text; its markup is `code`, **strong** and ⟨measured⟩.
        zh: The same in Traditional Chinese; a program in English only may leave it out (see :func:`use_only`).

    Raises:
        ValueError: One of the texts is missing or empty.
    """

    en: str
    zh: str = ""

    def __post_init__(self) -> None:
        for name, text in (("en", self.en), ("zh", self.zh)):
            if name == "zh" and _only == "en":
                continue
            if not isinstance(text, str) or not text.strip():
                raise ValueError(
                    f"Bilingual() needs a text in both languages, but {name}={text!r}. Write the missing one."
                )

    def one(self) -> str | None:
        """Return the text in the only language, with its markup; None where there are two."""
        return _convert(self.en if _only == "en" else self.zh) if _only else None

    def html(self) -> str:
        """Return a pair of inline ``<span lang>`` elements, or one text if both are the same (a name)."""
        if self.en == self.zh:
            return markup(joined(self.en, self.zh))
        return spans(markup(self.en), markup(self.zh))

    def block(self) -> str:
        """Return a pair of paragraphs, one per language."""
        return spans(markup(self.en), markup(self.zh), "p")

    def format(self, **values: object) -> Bilingual:
        """Fill in the ``{placeholders}`` of both texts; a value may be a :class:`Bilingual` itself."""
        pairs = {name: (v.en, v.zh) if isinstance(v, Bilingual) else (v, v) for name, v in values.items()}
        en, zh = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
        return Bilingual(self.en.format(**en), self.zh.format(**zh))

    def __str__(self) -> str:
        return joined(plain(self.en), plain(self.zh))

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": f'<div class="course-note">{self.block()}</div>', "text/plain": str(self)}


def joined(en: str, zh: str, between: str = " · ") -> str:
    """Return two plain texts as one line, or what belongs to the only language; one of them if they are the same.

    Args:
        en: The English text.
        zh: The same in Traditional Chinese.
        between: What separates them.
    """
    if _only:
        return _convert(en if _only == "en" else zh)
    return en if en == zh else f"{en}{between}{zh}"


def spans(en: str, zh: str, tag: str = "span", kind: str = "") -> str:
    """Return a pair of elements with prepared HTML, or what belongs to the only language.

    Args:
        en: HTML in English.
        zh: The same in Traditional Chinese.
        tag: The element; a span is left out where there is one language only.
        kind: Its class, if any.
    """
    start = f'{tag} class="{kind}"' if kind else tag
    if _only:
        inside = _convert(en if _only == "en" else zh)
        return inside if tag == "span" else f"<{start}>{inside}</{tag}>"
    return f'<{start} lang="en">{en}</{tag}><{start} lang="zh-Hant">{zh}</{tag}>'


def measured_spans(text: Bilingual | None) -> str:
    """Return `text` as something that differs between machines; the elements are the same if there is none.

    (:meth:`Bilingual.html` writes what is the same in both languages once, and two empty marks are the same.)
    """
    en, zh = (markup(measured(words)) for words in ((text.en, text.zh) if text else ("", "")))
    return spans(en, zh)


def toml_of(module: str | Path) -> dict[str, Any]:
    """Return what the TOML file beside a module holds.

    Args:
        module: The module's ``__file__``; the file has the same name and ends in ``.toml``.
    """
    import tomllib  # here: torch_doctor needs none of this and runs on a Python without it

    return tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))


def texts(module: str | Path) -> dict[str, Any]:
    """Return the texts that stand in a TOML file beside their module: by name, or by table and name.

    Args:
        module: As for :func:`toml_of`.
    """
    return _texts(toml_of(module))


def _texts(part: Any) -> Any:
    if isinstance(part, list):
        return [_texts(own) for own in part]
    if not isinstance(part, dict):  # the same in both languages
        return part
    if isinstance(part.get("en"), str):
        return Bilingual(**part)
    return {name: _texts(own) for name, own in part.items()}


def pair(part: Mapping[str, Any], before: str = "") -> Bilingual:
    """Return a text of a table that has others besides: its `en` and `zh`, or with "why_" its `why_en` and `why_zh`."""
    return Bilingual(part[f"{before}en"], part[f"{before}zh"])


def measured_both(text: Bilingual) -> Bilingual:
    """Return `text` with both of its languages marked as measured."""
    return Bilingual(measured(text.en), measured(text.zh))


def all_of(*parts: Bilingual) -> Bilingual:
    """Return sentences one after the other, with a space between the English ones."""
    return Bilingual(" ".join(part.en for part in parts), "".join(part.zh for part in parts))


def enumerated(parts: Iterable[Any]) -> Bilingual:
    """Return texts one after the other: "a, b" · 「A、B」. Each has an `en` and a `zh`, or is the same in both languages."""
    both = [(part, part) if isinstance(part, str) else (part.en, part.zh) for part in parts]
    return Bilingual(", ".join(en for en, _ in both), "、".join(zh for _, zh in both))


@dataclass(frozen=True)
class Block:
    """HTML together with its plain text."""

    html: str
    text: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


@dataclass(frozen=True)
class Shown:
    """A widget, and static HTML and plain text for a page without a kernel."""

    widget: Any
    html: str
    text: str

    def _repr_mimebundle_(self, **_: object) -> Mapping[str, Any]:
        plain_text = {"text/plain": self.text}
        if not hasattr(self.widget, "_repr_mimebundle_"):
            # ipywidgets 7, which Colab has. It sends these two forms; which of two rich ones a page prefers is its own choice.
            view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
            return {"application/vnd.jupyter.widget-view+json": view} | plain_text
        return dict(self.widget._repr_mimebundle_() or {}) | {"text/html": self.html} | plain_text


def by_language(make: Any) -> list[Any]:
    """Build a widget once per language choice, of which the style sheet of the page shows one.

    The labels of ipywidgets are plain text, so that a label cannot contain both languages and hide one.

    Args:
        make: Builds the widget. It gets a function that returns the text of a :class:`Bilingual` for one choice.

    Returns:
        A widget for each of ``CHOICES``; one widget where there is one language only.
    """
    if _only:
        return [make(str)]
    picks = {"en": lambda text: plain(text.en), "zh": lambda text: plain(text.zh), "both": str}
    return [make(pick).add_class(f"course-only-{name}") for name, pick in picks.items()]
