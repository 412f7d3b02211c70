"""The content of a report as a list of sections, which the terminal and the notebook render each in their own way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bilingual import Bilingual
from torch_doctor.data import screen
from torch_doctor.diagnosis.commands import placeholders, typed
from torch_doctor.diagnosis.diagnose import Diagnosis, Verdict
from torch_doctor.diagnosis.evidence import PROBES, Line
from torch_doctor.diagnosis.typed_in import typed_in
from torch_doctor.diagnosis.words import Word, words_of
from torch_doctor.errors.catalogue import errors_of
from torch_doctor.terminal import label

HEADINGS = screen("report", "heading")
SURENESS = {int(sure): text for sure, text in screen("report", "sure").items()}
ENDED = screen("report", "ended")  # of a probe without a full answer
MARKS = {"fine": "[ok]", "fault": "[!!]", "unknown": "[??]", "remark": "[--]"}
LABELS = screen("report", "label")
EVIDENCE_LINES, OTHERS, STEPS_OF_OTHERS = 3, 2, 2  # shown without details


@dataclass(frozen=True)
class Item:
    """One item of a section; what it does not have is left out.

    Attributes:
        text: The text. It announces the command.
        sure: How sure it is, to stand behind the text.
        lines: The evidence.
        place: Where to type the command, if that does not go without saying.
        command: Commands, one per line.
        then: The text after the command.
        items: What belongs to it.
    """

    text: Bilingual | None = None
    sure: Bilingual | None = None
    lines: tuple[Line, ...] = ()
    place: Bilingual | None = None
    command: str = ""
    then: Bilingual | None = None
    items: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Section:
    """A heading and its items.

    Attributes:
        label: The heading.
        items: The items.
        form: ``"plain"``, ``"numbers"`` or ``"bullets"``.
    """

    label: Bilingual
    items: tuple[Item, ...]
    form: str = "plain"


def _check(verdict: Verdict, notebook: bool) -> Item | None:
    """Return the check of a verdict, or None if there is none or if it is one of the steps."""
    cause = verdict.cause
    if not cause.check or cause.check in [step.run for step in cause.steps]:
        return None
    place = typed_in(cause.check, notebook)
    return Item(LABELS["check"], place=place, command=cause.check, then=cause.check_text)


def actions(verdict: Verdict, notebook: bool = False) -> list[Item]:
    """Return what to do about a verdict, in this order.

    The check comes first if it can save somebody from a wrong step: where the verdict is not sure, and where a step costs
    something. It changes nothing.
    """
    steps = verdict.cause.steps
    check = _check(verdict, notebook) if verdict.sure < 3 or any(step.costs for step in steps) else None
    places = [typed_in(step.run, notebook, step.text.en) for step in steps]
    items = [Item(one.text, place=at, command=one.run, then=one.then) for one, at in zip(steps, places)]
    return [check, *items] if check else items


def sections(diagnosis: Diagnosis) -> list[Section]:
    """Return the sections of a report after its verdict: what somebody needs who wants to mend it."""
    first, others, notebook = diagnosis.first, diagnosis.verdicts[1 : OTHERS + 1], in_notebook(diagnosis)
    steps = actions(first, notebook)
    parts = [Section(LABELS["next"], tuple(steps), "numbers")] if steps else []
    if not steps and first.cause.kind == "fine":
        parts = [Section(LABELS["next"], (Item(LABELS["nothing"]),))]
    parts.append(Section(LABELS["evidence"], (Item(lines=first.lines[: _facts(first)]),)))
    possible = "others" if first.cause.kind == "fault" else "possible"
    for name, chosen, count in (
        ("beside", [verdict for verdict in others if verdict.sure > 1], STEPS_OF_OTHERS),
        (possible, [verdict for verdict in others if verdict.sure == 1], STEPS_OF_OTHERS),
        ("remarks", diagnosis.remarks, None),
    ):
        items = [
            Item(one.cause.title, sureness(one), items=tuple(actions(one, notebook)[:count]))
            for one in chosen
        ]
        parts += [Section(LABELS[name], tuple(items), "bullets")] if items else []
    return parts


def _facts(verdict: Verdict) -> int:
    """Return how much evidence is shown without details. Where the cause is not known, it is all there is to say."""
    return len(verdict.lines) if verdict.cause.kind == "unknown" else EVIDENCE_LINES


def more(diagnosis: Diagnosis, cut: bool = False) -> Bilingual | None:
    """Return how to see what :func:`sections` leaves out, or None if that is nothing that would matter.

    Args:
        diagnosis: The diagnosis.
        cut: Whether the terminal has left out more.
    """
    hidden = len(diagnosis.first.lines) - _facts(diagnosis.first), len(diagnosis.verdicts) - 1 - OTHERS
    cut = cut or any(len(actions(verdict)) > STEPS_OF_OTHERS for verdict in diagnosis.verdicts[1:])
    if in_notebook(diagnosis) or (max(hidden) <= 0 and not cut):
        return None  # a notebook has them in its closed part
    command = f"`{placeholders(diagnosis.evidence)['command']} {diagnosis.question} --details`"
    return LABELS["more"].format(command=command)


def details(diagnosis: Diagnosis, language: str) -> list[Section]:
    """Return the sections for somebody who wants to know everything: all causes with their evidence, all probes."""
    notebook, causes = in_notebook(diagnosis), []
    for verdict in (*diagnosis.verdicts, *diagnosis.remarks):
        steps, check = actions(verdict, notebook), _check(verdict, notebook)
        checks = [check] if check and check not in steps else []
        steps = checks + steps if verdict in diagnosis.verdicts[1:] else checks
        causes.append(Item(verdict.cause.title, sureness(verdict), verdict.lines, items=tuple(steps)))
    errors = errors_of(diagnosis.first.cause.name)[:3]
    messages = [Item(Bilingual(f"`{entry.message}`", f"`{entry.message}`")) for entry in errors]
    if errors:
        command = typed(f"{{command}} errors {errors[0].name}", placeholders(diagnosis.evidence))
        messages.append(Item(LABELS["card"], place=typed_in(command, notebook), command=command))
    probes = probes_asked(diagnosis, language)
    asked = (Item(Bilingual(probes, probes)),) if probes else ()
    found = (
        ("all", tuple(causes), "bullets"),
        ("errors", tuple(messages), "bullets"),
        ("asked", asked, "plain"),
    )
    return [Section(LABELS[name], items, form) for name, items, form in found if items]


def words(diagnosis: Diagnosis, parts: list[Section], language: str) -> list[Word]:
    """Return the technical words of the verdict and `parts`, in the order in which they occur."""

    def said(item: Item, side: str) -> Iterator[str]:
        for text in (item.text, item.place, item.command, item.then):
            yield getattr(text, side, text or "")  # a command is the same on both sides
        for line in item.lines:
            yield f"{getattr(PROBES[line.probe], side)} {line.said(side)}"
        for inner in item.items:
            yield from said(inner, side)

    cause = diagnosis.first.cause
    whole = Item(cause.title, then=cause.why, items=tuple(item for part in parts for item in part.items))
    return words_of("\n".join(said(whole, "en")), "\n".join(said(whole, "zh")), language)


def in_notebook(diagnosis: Diagnosis) -> bool:
    """Return whether a notebook asked."""
    return bool(diagnosis.evidence.get("caller.notebook"))


def _aside(text: str, language: str) -> str:
    """Return `text` in the brackets of the language, to stand behind something."""
    return f"（{text}）" if language == "zh" else f" ({text})"


def sureness(verdict: Verdict) -> Bilingual | None:
    """Return how sure a verdict is, to stand behind its title: ``" (likely)"``; None where that is no question."""
    kind, sure = verdict.cause.kind, verdict.sure
    if kind in ("unknown", "remark") or (kind == "fine" and sure == 3):
        return None
    return Bilingual(_aside(SURENESS[sure].en, "en"), _aside(SURENESS[sure].zh, "zh"))


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
