"""Show an explanation: as a card in a notebook, as text in a terminal."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bilingual import (
    Bilingual,
    all_of,
    chosen_language,
    joined,
    markup,
    measured,
    only_language,
    plain,
    spans,
)
from torch_doctor.data import screen
from torch_doctor.errors.catalogue import Entry, entries
from torch_doctor.errors.matching import Finding
from torch_doctor.style import style
from torch_doctor.terminal import wrap

_LABELS = screen("clinic", "label")
_NOTES = screen("clinic", "verified")  # by the field ``verified``
_ROLE_NOTES = screen("clinic", "role")
_TEXTS = screen("clinic", "text")
_TITLE = _TEXTS["title"]


def lesson_file(number: str) -> str | None:
    """Return the file name of lesson `number` if the current folder has it, so that a link can open it.

    The package is also used without the course, where a lesson's number would mean nothing.
    """
    found = sorted(Path().glob(f"{number}_*.ipynb"), key=lambda path: (len(path.name), path.name))
    return found[0].name if found else None


def _lesson(number: str) -> Bilingual:
    return Bilingual(f"Lesson {number}", f"第 {number.lstrip('0') or '0'} 課")


def _doctor(entry: Entry, program: str = "python -m torch_doctor") -> Bilingual | None:
    """Return that the doctor finds the cause, or None if no fault of a machine leads to `entry`."""
    if entry.question is None:
        return None
    question = "" if entry.question == "cuda" else entry.question
    call = f'doctor("{question}")' if question else "doctor()"
    return _TEXTS["doctor"].format(command=f"{program} {question}".strip(), call=call)


def _labelled(label: Bilingual, text: Bilingual) -> str:
    # <strong> instead of **: Markdown viewers do not recognize ** next to Chinese punctuation.
    en, zh = f"<strong>{label.en}</strong> {markup(text.en)}", f"<strong>{label.zh}</strong>{markup(text.zh)}"
    return spans(en, zh, "p")


def _link(address: str, text: Bilingual) -> str:
    # ipywidgets show a link without a style of its own like any other text.
    shown = f'style="text-decoration: underline">{text.html()}'
    return f'<a href="{html.escape(address, quote=True)}" {shown}</a>'


def entry_html(entry: Entry, *, link_similar: bool = False, lesson_link: str | None = None) -> str:
    """Return the body of an entry's card as HTML.

    Args:
        entry: The entry.
        link_similar: Whether to link similar entries (on a page that shows all entries).
        lesson_link: Address of the lesson, or None to leave it out.
    """
    rows = [_labelled(_LABELS[part], getattr(entry, part)) for part in _LABELS]
    if doctor := _doctor(entry):
        rows.append(doctor.block())
    if link_similar and entry.similar:
        similar = [(name, html.escape(entries()[name].message)) for name in entry.similar]
        links = "; ".join(f'<a href="#{name}"><code>{message}</code></a>' for name, message in similar)
        rows.append(f'<p class="course-small">→ {links}</p>')
    linked = ((lesson_link, _lesson(entry.lesson)), (entry.source, _TEXTS["source"]))
    below = [_link(address, text) for address, text in linked if address]
    below += [_NOTES[entry.verified].html()] if entry.verified in _NOTES else []
    rows.append(f'<p class="course-small">{" · ".join(below)}</p>')
    return "".join(rows)


def card_html(title: Bilingual, message: str, *parts: str) -> str:
    """Return a card: its title with a message (or ``""``), and what stands below (HTML)."""
    code = f" <code>{html.escape(message, quote=False)}</code>" if message else ""
    head = f'<p><span class="course-title">{title.html()}</span>{code}</p>'
    return f'<div class="course-card course-clinic course-needs">{head}{"".join(parts)}</div>'


@dataclass(frozen=True)
class Explanation:
    """The explanation of an exception or a text; a notebook shows it as a card, ``print`` as text.

    Attributes:
        finding: What was found.
        quote: Whether to quote the line that was recognized (not below a traceback, which shows it).
    """

    finding: Finding
    quote: bool = True

    @property
    def entry(self) -> Entry | None:
        """The entry of the first cause, or None if no error was recognized."""
        return self.finding.match.entry if self.finding.match else None

    @property
    def name(self) -> str | None:
        """The name of the entry in the catalogue, or None."""
        return self.entry.name if self.entry else None

    def _remarks(self) -> Iterator[Bilingual]:
        """Yield notes about this text: that it holds no known error, which rank has the cause, what is a consequence."""
        match = self.finding.match
        if match is None:
            yield _TEXTS["unknown" if self.finding.complains else "no-error"]
            return
        rank = self.finding.unknown_rank if self.finding.unknown else match.rank
        where_en = where_zh = ""
        if self.finding.ranks > 1 and rank is not None:
            where_en, where_zh = f" (rank {measured(rank)})", f"（rank {measured(rank)}）"
        if self.finding.unknown:
            line = measured(self.finding.unknown.replace("`", "'"))
            yield Bilingual(
                f"What happened first, it seems, is an error that the clinic does not know{where_en}: `{line}`",
                f"最先發生的錯誤{where_zh}，看來是錯誤門診不認得的這一個：`{line}`",
            )
        elif match.entry.role in _ROLE_NOTES:
            yield _ROLE_NOTES[match.entry.role]
        elif where_en:
            yield Bilingual(f"The first cause stands here{where_en}.", f"最早的原因在這裡{where_zh}。")

    def _also(self) -> Bilingual | None:
        messages = [f"`{match.entry.message.replace('`', chr(39))}`" for match in self.finding.others[:4]]
        joined_up = Bilingual("; ".join(messages), "；".join(messages)) if messages else None
        return joined_up and all_of(_TEXTS["also"], joined_up)

    def html(self) -> str:
        """Return the card as HTML."""
        entry, parts = self.entry, []
        if self.quote and self.finding.match:
            line = html.escape(self.finding.match.line[:300], quote=False)
            parts.append(f'<pre class="course-console measured">{line}</pre>')
        parts += [remark.block() for remark in self._remarks()]
        if entry:
            parts.append(entry_html(entry, lesson_link=lesson_file(entry.lesson)))
        if also := self._also():
            parts.append(f'<div class="course-small">{also.block()}</div>')
        return card_html(_TITLE, entry.message if entry else "", *parts)

    def text(self, language: str = "both", width: int = 88, program: str = "python -m torch_doctor") -> str:
        """Return the explanation as plain text, in which ⟨…⟩ marks what differs between runs.

        Args:
            language: ``"en"``, ``"zh"`` or ``"both"``.
            width: Columns of the terminal.
            program: How the doctor is started here.
        """
        head = {"en": _TITLE.en, "zh": _TITLE.zh}.get(language, str(_TITLE))
        texts = list(self._remarks())
        if entry := self.entry:
            head += ("：" if language == "zh" else ": ") + entry.message
            texts += [all_of(_LABELS[part], getattr(entry, part)) for part in _LABELS]
            lesson = _lesson(entry.lesson)
            source = Bilingual(entry.source, entry.source)
            if lesson_file(entry.lesson):
                source = Bilingual(f"{lesson.en}, {entry.source}", f"{lesson.zh}，{entry.source}")
            last = (_doctor(entry, program), _NOTES.get(entry.verified), self._also(), source)
            texts += [text for text in last if text]
        lines = [head]
        if self.quote and self.finding.match:  # the title is the catalogue's; this is what was printed here
            shown = textwrap.wrap(" ".join(self.finding.match.line.split()), width - 6)[:3]
            lines += [f"    > ⟨{line}⟩" for line in shown]
        for language_of_text in ("en", "zh") if language == "both" else (language,):
            lines += [wrap(plain(getattr(text, language_of_text)), width, "    ") for text in texts]
        return "\n".join(lines)

    def __str__(self) -> str:
        # Only the notebook checks need the marks.
        text = self.text(chosen_language()).replace("⟨", "").replace("⟩", "")
        return joined(text, text)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        text = self.text(only_language() or "both")
        return {"text/html": style() + self.html(), "text/plain": joined(text, text)}
