"""Published references: what others measured on GPUs, shown where the course has no recorded run of its own.

The data is in ``published.toml``: each value was read at its source, and is quoted from there.
"""

import html
import re
from dataclasses import dataclass
from functools import cache

from bilingual import Bilingual, markup, measured_spans, spans, toml_of


@dataclass(frozen=True)
class Reference:
    """A published value as it is shown, what it was measured on, and where; the fields are those of the file."""

    value: Bilingual
    hardware: Bilingual
    source: Bilingual
    url: str
    date: str
    quote: str

    def text(self) -> Bilingual:
        """Return value, hardware, source and date in one sentence."""
        date_zh = re.sub("read (.*)", r"\1 查閱", self.date)
        return Bilingual(
            f"Published, not measured by us: {self.value.en}; {self.hardware.en} ({self.source.en}, {self.date})",
            f"公開數據（非本課程量測）：{self.value.zh}；{self.hardware.zh}（{self.source.zh}，{date_zh}）",
        )

    def html(self) -> str:
        """Return the same with a link to the source."""
        link, linked = f'<a href="{html.escape(self.url)}">{{}}</a>', []
        for words, source in ((self.text().en, self.source.en), (self.text().zh, self.source.zh)):
            name = markup(source)
            linked.append(link.format(name).join(markup(words).rsplit(name, 1)))
        return f'<span class="course-published">{spans(*linked)}</span>'


@cache
def references() -> dict[str, Reference]:
    """Return all published references by key: a claim's id, a figure's name, or another name that a lesson uses."""
    data = toml_of(__file__)

    def reference(entry: dict[str, str]) -> Reference:
        pairs = (
            Bilingual(*(entry.get(f"{name}_{tag}", entry.get(name, "")) for tag in ("en", "zh")))
            for name in ("value", "hardware", "source")
        )
        return Reference(*pairs, *(entry[name] for name in ("url", "date", "quote")))

    return {key: reference(data["source"][own["from"]] | own) for key, own in data["reference"].items()}


def beside(key: str, recorded: Bilingual | None) -> str:
    """Return as HTML what other machines measured: the course's recorded GPU, or else the published reference.

    The elements are the same with and without a recording; the style sheet hides the reference beside one.
    """
    published = references().get(key)
    reference = published.html() if published else ""
    return f'<span class="course-recorded">{measured_spans(recorded)}</span>{reference}'
