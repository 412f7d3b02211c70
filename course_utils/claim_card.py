"""The card of a claim: its sentence, its verdict, and what other machines measured."""

from dataclasses import dataclass

from bilingual import Bilingual, measured, measured_spans
from course_utils import predictions, published, recordings
from course_utils.units import number

_CLAIM = Bilingual("Claim", "主張")
VERDICTS = {
    "holds": Bilingual("holds", "成立"),
    "fails": Bilingual("does not hold", "不成立"),
    "unclear": Bilingual("unclear", "尚無定論"),
    "model": Bilingual("the model shows", "模型顯示"),
    "needs": Bilingual("not shown here", "本機無法展示"),
}

_EXPLAIN = {
    "fails": Bilingual(
        "The measurement is on the wrong side. This is not your mistake, and worth looking into: perhaps this machine "
        "is special, another program is working hard, or the course is wrong. Close other programs and run the cell "
        "again; if it happens again, please report it together with the machine badge at the top.",
        "量測結果沒有通過門檻。這不是你做錯了，而是值得查清楚的事：可能是這台機器比較特殊，可能是其他程式正在大量運算，也可能是課程寫錯了。"
        "請先關閉其他程式，再執行這一格；如果結果還是一樣，請回報給我們，並附上頁面最上方的機器資訊。",
    ),
    "unclear": Bilingual(
        "The two ways of judging disagree, even in a longer measurement: something else is using this machine. "
        "Run the cell again when it is quiet.",
        "兩種判斷方式的結果不一致，延長量測時間之後也一樣，表示有其他程式正在使用這台機器。請等機器空閒時，再執行這一格。",
    ),
}


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
    at_least: float | None
    at_most: float | None

    def _bound(self) -> Bilingual:
        low, high = self.at_least, self.at_most
        if low is not None and high is not None:
            return Bilingual(
                f"asserted: between {low:g} and {high:g}", f"課程主張：介於 {low:g} 與 {high:g} 之間"
            )
        if low is not None:
            return Bilingual(f"asserted: at least {low:g}", f"課程主張：至少 {low:g}")
        if high is not None:
            return Bilingual(f"asserted: at most {high:g}", f"課程主張：至多 {high:g}")
        return Bilingual("an exact fact", "可精確驗證")

    def _mine(self) -> Bilingual:
        if self.result.lacking is not None:
            return Bilingual(f"needs {self.result.lacking.en}", f"需要{_gap(self.result.lacking.zh)}")
        value = _number(self.result.value)
        if run := self.result.run:
            return Bilingual(f"recorded: {value or '✓'} ({run})", f"參考紀錄：{value or '✓'}（{run}）")
        if self.result.verdict == "model":
            return Bilingual(
                f"practice GPU: {value} (modelled)" if value else "checked on a practice GPU",
                f"練習用 GPU：{value}（推算值）" if value else "已在練習用 GPU 上驗證",
            )
        if not value:
            return Bilingual("checked on this machine", "已在這台機器上驗證")
        return Bilingual(f"here: {value}", f"這台機器：{value}")

    def _lead(self) -> Bilingual:
        """Return what precedes the sentence: on a machine without the hardware, that this is not measured."""
        if self.result.lacking is None:
            return Bilingual(measured(""), measured(""))
        en, zh = self.result.lacking.en, _gap(self.result.lacking.zh)
        return Bilingual(
            measured(f"With {en}, this cell would measure:"), measured(f"若有{zh}，這一格會量測：")
        )

    def _recorded(self) -> Bilingual | None:
        values = recordings.recorded(self.id, (self.at_least, self.at_most))
        if values is None or values["run"] == self.result.run:
            return None
        verdict, value, run = VERDICTS[values["verdict"]], _number(values["value"]), values["run"]
        return Bilingual(
            f"recorded GPU: {value or verdict.en} ({run})", f"GPU 參考紀錄：{value or verdict.zh}（{run}）"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        # Verdict and values may differ between machines, so the card always has the same elements, some of them empty;
        # the style sheet hides those, and makes one line of a claim that this machine cannot measure. What is asserted
        # and what is published is the same everywhere, and compared.
        verdict = VERDICTS[self.result.verdict]
        shown = Bilingual(measured(verdict.en), measured(verdict.zh))
        if self.result.run:
            shown = Bilingual(f"recorded: {shown.en}", f"參考紀錄：{shown.zh}")
        bound, mine, lead = self._bound(), self._mine(), self._lead()
        line = Bilingual(f"{bound.en} · {measured(mine.en)}", f"{bound.zh} · {measured(mine.zh)}")
        guess = predictions.guess_line(self.id, self.result.value)
        sentence = Bilingual(f"{lead.en} {self.statement.en}", f"{lead.zh}{self.statement.zh}")
        return {
            "text/html": (
                f'<div class="course-card course-claim course-{self.result.verdict}">'
                f'<p class="course-measured-here"><span class="course-title">{_CLAIM.html()}</span> · <span class="course-verdict">{shown.html()}</span></p>'
                f"{sentence.block()}"
                # The id is for looking the claim up; in the title it would read like a section's number.
                f'<p class="course-small course-measured-here">{line.html()} · id {self.id}</p>'
                f'<p class="course-small course-beside">{published.beside(self.id, self._recorded())}</p>'
                f'<p class="course-guess">{measured_spans(guess)}</p>'
                f'<p class="course-reason">{measured_spans(_EXPLAIN.get("" if self.result.run else self.result.verdict))}</p></div>'
            ),
            "text/plain": f"claim {self.id} {shown}: {self.statement}",
        }


def _gap(text: str) -> str:
    """Put the customary space between Chinese and a Latin word that follows it."""
    return f" {text}" if text[:1].isascii() else text
