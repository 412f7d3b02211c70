"""Explain an error that no entry knows, by its form and by the place that raised it.

Entries with the role ``form`` or ``other`` are asked in order where no cause was found. Their texts hold
``‹placeholders›``: the named groups of their patterns, and what the frames of the traceback tell::

      File "/venv/lib/python3.12/site-packages/trl/trainer/sft_trainer.py", line 9, in train
    AttributeError: module 'transformers' has no attribute 'HybridCache'

Here ‹package› is trl, ‹module› transformers, ‹name› HybridCache, and ‹packages› both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from bilingual import Bilingual
from torch_doctor.data import read_folder
from torch_doctor.errors.catalogue import CARD, Entry, entries, expressions

_FRAME = re.compile(
    r'^[ \t│|>❱*\[-]*(?:File "([^"\n]+)", line (\d+)|(?:File )?((?:[A-Za-z]:)?[^\s"\'<>|()\[\]:,]+\.py)'
    r"(?::(\d+)(?=[,:\s]|$)|\S* in )|(?:(Cell In ?\[\d+\]|<ipython-input[^>\n]*>)))",
    re.M,
)
_ERROR = re.compile(
    r"(?:^[ \t]*|(?<=[\s\]:>│\"(]))((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure)|(?:[a-z_]\w*\.)+[A-Z]\w+)"
    r"(?::\s+(?=\S)|(?=:?[ \t]*$))",
    re.M,
)
# What a log says of something that it does without.
_HARMLESS = re.compile(
    r"\b(?:INFO|DEBUG|WARN(?:ING)?|\w*Warning|warning|skipp?(?:ed|ing)|ignor\w+|optional\w*|fall(?:s|ing)? back|fallback"
    r"|disabled|retry(?:ing)?|errors?=(?:None|0)|0 errors?|no errors?)\b"
)
_HANDLED = "During handling of the above exception, another exception occurred"
_INSTALLED = re.compile(r".*(?:(?:site|dist)-packages|custom_nodes)/([\w.-]+?)(?:\.py|/|$)")
_STANDARD = re.compile(r"^<frozen|/lib(?:64)?/python3[.\d]*/|[:/]Lib/|^<__array_function__")
_PARTS = {  # of PyTorch
    "compile": r"torch/(?:_inductor|_dynamo|_functorch|_higher_order_ops|fx|_?export|_subclasses|_prims\w*|_refs|_decomp)/",
    "distributed": r"torch/(?:distributed|nn/parallel)/",
}
_WRAPPERS = {
    "ChildFailedError",
    "ProcessRaisedException",
    "ProcessExitedException",
    "CalledProcessError",
    "SignalException",
    "SystemExit",
}
_INNER = "See inner exception"  # RendezvousConnectionError and others, whose cause stands above them


@cache
def _data() -> dict[str, Any]:
    return read_folder("torch_doctor.errors.catalogue")["z_general"]


def _pip(module: str) -> str:
    """Return the name under which pip installs `module`."""
    top = module.split(".")[0]
    return _data()["pip"].get(top, top.replace("_", "-"))


def _place(path: str) -> tuple[str, str]:
    """Return where a file lies: ("own", ""), ("python", ""), ("package", its name), or a part of PyTorch and "torch"."""
    path = path.replace("\\", "/")
    if found := _INSTALLED.match(path):
        name = found[1]
    elif _STANDARD.search(path):
        return "python", ""
    else:  # paths that were shortened by hand, and copies that can be edited
        folders = re.findall(rf"(?:^|/)({_data()['known']['names']})(?=/)", path)
        if not folders or re.search(r"/(?:examples?|scripts|recipes|notebooks|benchmarks?|tests?)/", path):
            return "own", ""
        name = folders[-1]
    if name != "torch":
        return "package", name
    return next((part for part, where in _PARTS.items() if re.search(where, path)), "torch"), name


def errors(text: str, spans: list[tuple[int, int]], *, inline: bool = False) -> Iterator[re.Match[str]]:
    """Yield the errors in `text` that are in none of the known `spans` and wrap no other one: the type of each.

    Args:
        text: The cleaned text.
        spans: Start and end of what is known in it.
        inline: Whether to yield those in the middle of a line instead of those at its beginning.
    """
    for error in _ERROR.finditer(text):
        line = text[text.rfind("\n", 0, error.start()) + 1 : error.end() + 200].partition("\n")[0]
        begins = line.lstrip().startswith(error[1])
        # A message may begin on the line below its type (mp.spawn), therefore the 3 characters after the line.
        end = error.start() + len(line) + 3
        known = any(error.start() <= stop and start <= end for start, stop in spans)
        wrapper = error[1].rpartition(".")[2] in _WRAPPERS or _INNER in line or ": Traceback (most" in line
        if begins != inline and not (known or wrapper or (inline and _HARMLESS.search(line))):
            yield error


def _candidates(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, str]]:
    """Return position and text of what may be the error, best first: errors by their type, else lines without a type."""
    found = [*errors(text, spans)] or [*errors(text, spans, inline=True)]
    if not found and not spans:
        lines = list(re.finditer(r"^.*\S.*$", text, re.M))[-200:]
        return [(line.start(), line[0]) for line in lines if not (_HARMLESS.search(line[0]) or _ERROR.match(line[0]))]
    starts = [error.start(1) for error in found]
    handled = [_HANDLED in text[start:end] for start, end in zip(starts, [*starts[1:], len(text)])]
    if not all(handled):
        starts = [start for start, was in zip(starts, handled) if not was]
    return [(start, re.split(r"\n[ \t]*\n|\n *File |\nTraceback", text[start : start + 900])[0]) for start in starts]


def _frames(text: str, at: int) -> dict[str, str]:
    """Return what the frames before `at` tell: where, package, caller, file, line; absent if they do not."""
    begin = max(text.rfind("Traceback (most recent call last)", 0, at), 0)
    places = [(*_place(f[1] or f[3] or f[5]), f) for f in _FRAME.finditer(text, max(begin, at - 60_000), at)]
    known = [place for place in places if place[0] != "python"]
    if not known:
        return {}
    where, name, frame = known[-1]
    found = {"where": "environ" if places[-1][2][1] and "os" in places[-1][2][1][-6:] else where}
    if name:
        found["package"] = _pip(name)
    others = [other for _, other, _ in known if other not in ("torch", name, "")]
    if others and name:
        found["caller"] = _pip(others[-1])
    own = [frame for kind, _, frame in known if kind == "own"]
    if own:
        path, number = own[-1][1] or own[-1][3] or own[-1][5], own[-1][2] or own[-1][4]
        found["file"] = re.split(r"[\\/]", path)[-1] + (f":{number}" if number else "")
        if name:
            found.setdefault("caller", found["file"])
    return found


def general(text: str, spans: list[tuple[int, int]]) -> tuple[Entry, int, int] | None:
    """Return the entry for the form of the error in `text`, its texts filled in, and start and end of the error; or None.

    Args:
        text: The cleaned text.
        spans: Start and end of what is known in it.
    """
    forms = [entry for entry in entries().values() if entry.role in ("form", "other")]
    for at, error in _candidates(text, spans):
        words = _frames(text, at)
        for entry in forms:
            if entry.where and words.get("where", "unknown") not in entry.where:
                continue
            for pattern in expressions(entry.name):
                if hit := pattern.search(error):
                    return _filled(entry, words | {key.rstrip('234'): word for key, word in hit.groupdict().items() if word}), at, at + len(error)
    return None


def _filled(entry: Entry, words: dict[str, str]) -> Entry:
    """Return `entry` with a sentence about the place before its meaning, and with its ‹placeholders› filled in."""
    named = [words.get("package"), words.get("caller"), _pip(words["module"]) if words.get("module") else None]
    packages = dict.fromkeys(name for name in named if name and ".py" not in name and "[" not in name)
    if words.get("module"):
        words = {**words, "pip": _pip(words["module"]), "top": words["module"].split(".")[0]}
    words = {"asker": words.get("package", ""), **words, "packages": " ".join(packages)}
    key = words.get("where", "unknown") + ("-called" if words.get("package") and "caller" in words else "")
    place = _data()["place"].get(key, {"en": "", "zh": ""})

    def fill(text: str, language: str) -> str:
        standing = {name: pair[language] for name, pair in _data()["words"].items()}
        return re.sub(r"‹(\w+)›", lambda hole: (words.get(hole[1]) or standing[hole[1]]).replace("`", "'"), text)

    texts = {part: getattr(entry, part) for part in CARD}
    texts["meaning"] = Bilingual(
        f"{place['en']} {texts['meaning'].en}".strip(), place["zh"] + texts["meaning"].zh
    )
    return replace(entry, **{part: Bilingual(fill(t.en, "en"), fill(t.zh, "zh")) for part, t in texts.items()})
