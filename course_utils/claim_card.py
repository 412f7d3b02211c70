"""The card of a claim: its sentence, its verdict, and what other machines measured."""

from dataclasses import dataclass

from bilingual import Bilingual, measured, measured_both, measured_spans, texts
from course_utils import predictions, published, recordings
from course_utils.recordings import Limits
from course_utils.units import number

_TEXTS = texts(__file__)
VERDICTS: dict[str, Bilingual] = _TEXTS["verdict"]
MEASURING: Bilingual = _TEXTS["measuring"]  # what is lacking where nothing is measured


@dataclass(frozen=True)
class Verdict:
    """What became of a claim: ``holds``, ``fails``, ``unclear``, ``model`` or ``needs``, and the numbers behind it."""

    verdict: str
    value: float | bool | None = None
    quartile_ratio: float | None = None
    lacking: Bilingual | None = None
    run: str = ""  # whose values these are, if not measured here


def _number(value: float | bool | None) -> str:
    return "" if value is None or isinstance(value, bool) else number(value)


@dataclass(frozen=True)
class Card:
    """How a claim looks in a notebook."""

    id: str
    statement: Bilingual
    result: Verdict
    limits: Limits

    def _bound(self) -> Bilingual:
        low, high = self.limits
        no_low = "fact" if high is None else "at_most"
        name = no_low if low is None else "at_least" if high is None else "between"
        return _TEXTS["bound"][name].format(low=low, high=high)

    def _mine(self) -> Bilingual:
        if self.result.lacking is not None:
            return _TEXTS["mine"]["needs"].format(what=_in_chinese(self.result.lacking))
        value, run = _number(self.result.value), self.result.run
        if run:
            name, value = "recorded", value or "✓"
        elif self.result.verdict == "model":
            name = "model" if value else "model_checked"
        else:
            name = "here" if value else "checked"
        return _TEXTS["mine"][name].format(value=value, run=run)

    def _lead(self) -> Bilingual:
        """Return what precedes the sentence: on a machine without the hardware, that this is not measured."""
        if self.result.lacking is None:
            return Bilingual(measured(""), measured(""))
        return measured_both(_TEXTS["lead"].format(what=_in_chinese(self.result.lacking)))

    def _recorded(self) -> Bilingual | None:
        values = recordings.recorded(self.id, self.limits)
        if values is None or values["run"] == self.result.run:
            return None
        value = _number(values["value"]) or VERDICTS[values["verdict"]]
        return _TEXTS["recorded_machine"].format(value=value, run=values["run"])

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        # Verdict and values may differ between machines, so the card always has the same elements, some of them empty;
        # the style sheet hides those, and makes one line of a claim that this machine cannot measure. What is asserted
        # and what is published is the same everywhere, and compared.
        shown = measured_both(VERDICTS[self.result.verdict])
        if self.result.run:
            shown = _TEXTS["recorded"].format(verdict=shown)
        bound, mine, lead = self._bound(), self._mine(), self._lead()
        line = Bilingual(f"{bound.en} · {measured(mine.en)}", f"{bound.zh} · {measured(mine.zh)}")
        guess = predictions.guess_line(self.id, self.result.value)
        why = None if self.result.run else _TEXTS["explain"].get(self.result.verdict)
        sentence = Bilingual(f"{lead.en} {self.statement.en}", f"{lead.zh}{self.statement.zh}")
        return {
            "text/html": (
                f'<div class="course-card course-claim course-{self.result.verdict}">'
                f'<p class="course-measured-here"><span class="course-title">{_TEXTS["claim"].html()}</span> · <span class="course-verdict">{shown.html()}</span></p>'
                f"{sentence.block()}"
                # The id is for looking the claim up; in the title it would read like a section's number.
                f'<p class="course-small course-measured-here">{line.html()} · id {self.id}</p>'
                f'<p class="course-small course-beside">{published.beside(self.id, self._recorded())}</p>'
                f'<p class="course-guess">{measured_spans(guess)}</p>'
                f'<p class="course-reason">{measured_spans(why)}</p></div>'
            ),
            "text/plain": f"claim {self.id} {shown}: {self.statement}",
        }


def _in_chinese(what: Bilingual) -> Bilingual:
    """Put the customary space between Chinese and a Latin word that follows it."""
    return Bilingual(what.en, f" {what.zh}" if what.zh[:1].isascii() else what.zh)
