"""The content of a report as a list of sections, which the terminal and the notebook render each in their own way."""

from __future__ import annotations

from dataclasses import dataclass

from torch_doctor.bilingual import Bilingual
from torch_doctor.diagnosis.diagnose import Diagnosis, Verdict
from torch_doctor.diagnosis.evidence import PROBES, Line

HEADINGS = {
    "cuda": Bilingual("Doctor: does CUDA work here?", "診斷：這裡的 CUDA 能用嗎？"),
    "slow": Bilingual("Doctor: why is it slow?", "診斷：為什麼這麼慢？"),
    "hang": Bilingual(
        "Doctor: why does training with several processes hang?", "診斷：用多個行程訓練時，為什麼會卡住？"
    ),
}
SURENESS = {
    3: Bilingual("sure", "確定"),
    2: Bilingual("likely", "很可能"),
    1: Bilingual("possible", "有可能"),
}
ENDED = {  # of a probe without a full answer
    "slow": Bilingual("stopped at its time limit", "時間到，已中止"),
    "stuck": Bilingual("could not be stopped", "無法停止"),
    "failed": Bilingual("failed", "失敗"),
}
MARKS = {"fine": "[ok]", "fault": "[!!]", "unknown": "[??]", "remark": "[--]"}
LABELS = {
    "evidence": Bilingual("Evidence", "證據"),
    "next": Bilingual("Next step", "下一步"),
    "check": Bilingual("To make sure", "如何確認"),
    "others": Bilingual("Less likely, and how to tell", "可能性較低的原因，以及分辨方法"),
    "beside": Bilingual("Also found", "同時發現"),
    "remarks": Bilingual("Worth knowing", "補充說明"),
    "asked": Bilingual("What was checked", "檢查項目"),
    "nothing": Bilingual("Nothing to do.", "不需要做任何事。"),
    "details": Bilingual("What else was found, and what was checked", "其他發現與檢查項目"),
}


@dataclass(frozen=True)
class Item:
    """One item of a section; what it does not have is left out.

    Attributes:
        text: The text.
        sure: How sure it is (a key of :data:`SURENESS`).
        lines: The evidence.
        note: A text after the evidence.
        command: Commands, one per line.
    """

    text: Bilingual | None = None
    sure: int | None = None
    lines: tuple[Line, ...] = ()
    note: Bilingual | None = None
    command: str = ""


@dataclass(frozen=True)
class Section:
    """A heading and its items.

    Attributes:
        label: The heading.
        items: The items; a section without items is shown by the notebook only.
        form: ``"plain"``, ``"numbers"`` or ``"bullets"``.
        details: Whether the notebook hides it until a click.
    """

    label: Bilingual
    items: tuple[Item, ...]
    form: str = "plain"
    details: bool = True


def sections(diagnosis: Diagnosis) -> list[Section]:
    """Return the sections of a report after its verdict and before the list of probes."""
    first = diagnosis.first.cause
    steps = tuple(Item(step.text, command=step.run) for step in first.steps)
    parts = [
        Section(LABELS["evidence"], (Item(lines=diagnosis.first.lines),), details=False),
        Section(LABELS["next"], steps, "numbers", details=False),
    ]
    if first.check:
        parts.append(Section(LABELS["check"], (Item(note=first.check_text, command=first.check),)))
    others = diagnosis.verdicts[1:]
    for label, verdicts in (
        ("beside", [verdict for verdict in others if verdict.sure > 1]),
        ("others", [verdict for verdict in others if verdict.sure == 1]),
    ):
        if verdicts:
            parts.append(Section(LABELS[label], tuple(map(_other, verdicts)), "bullets"))
    if diagnosis.remarks:
        remarks = tuple(Item(verdict.cause.title) for verdict in diagnosis.remarks)
        parts.append(Section(LABELS["remarks"], remarks, "bullets"))
    return parts


def _other(verdict: Verdict) -> Item:
    cause = verdict.cause
    return Item(cause.title, verdict.sure, verdict.lines, cause.check_text, cause.check)


def in_language(text: Bilingual, language: str) -> list[str]:
    """Return `text` in ``"en"``, ``"zh"`` or both languages (once, if both are the same)."""
    both = [text.en, text.zh] if text.en != text.zh else [text.en]
    return {"en": [text.en], "zh": [text.zh]}.get(language, both)


def label(text: Bilingual, language: str) -> str:
    """Return a short text in one line: ``"Evidence · 證據"``."""
    return " · ".join(in_language(text, language))


def _aside(text: str, language: str) -> str:
    """Return `text` in the brackets of the language, to stand behind something."""
    return f"（{text}）" if language == "zh" else f" ({text})"


def sureness(sure: int, language: str) -> str:
    """Return how sure a verdict is, in parentheses: ``"(likely)"``."""
    return _aside(label(SURENESS[sure], language), language).strip()


def probes_asked(diagnosis: Diagnosis, language: str) -> str:
    """Return which probes ran and how long: ``"PyTorch 1.2 s, nvidia-smi 6.0 s (stopped at its time limit)"``."""
    evidence = diagnosis.evidence
    parts = []
    for name, title in PROBES.items():
        ended = evidence.ended(name)
        if evidence.get(f"{name}.seconds") is None or ended == "absent":
            continue
        note = _aside(label(ENDED[ended], language), language) if ended in ENDED else ""
        parts.append(f"{label(title, language)} {evidence.get(f'{name}.seconds'):.1f} s{note}")
    return ("、" if language == "zh" else ", ").join(parts)
