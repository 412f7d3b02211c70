"""What a report looks like, and whether somebody who reads it from top to bottom and types its commands gets it right."""

import html
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from html_nesting import assert_nested
from made_up_evidence import NO_GPU, broken, healthy, without_gpu
from nbval.plugin import get_sanitize_patterns
from tabled import tabled
from text_rules import KNOWN, abbreviations, broken_rules, texts

from bilingual import Bilingual, plain
from torch_doctor.diagnosis import QUESTIONS, privacy
from torch_doctor.diagnosis.causes import Cause, Step, catalogue
from torch_doctor.diagnosis.diagnose import Diagnosis, Verdict, diagnose
from torch_doctor.diagnosis.evidence import PROBES, Evidence, Line
from torch_doctor.diagnosis.plain_text import MOST_LINES
from torch_doctor.diagnosis.report import Report
from torch_doctor.diagnosis.typed_in import TERMINAL
from torch_doctor.diagnosis.words import glossary, words_of
from torch_doctor.terminal import columns, wrap

ROOT = Path(__file__).parents[2]

# --- the texts of all causes ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalogue())
def test_a_text_can_be_followed_from_top_to_bottom(name: str) -> None:
    assert not list(broken_rules(catalogue()[name]))


# --- technical words ------------------------------------------------------------------------------------


def test_every_abbreviation_is_explained_or_known() -> None:
    names = [word.name.en for word in glossary()]
    missing = {
        one: name
        for name, entry in catalogue().items()
        for one in abbreviations(entry)
        if one.rstrip("s").upper() not in KNOWN and not words_of(one, one, "en")
    }
    assert not missing, f"explain these in words.toml (or add them to KNOWN): {missing}"
    assert len(names) == len(set(names))


def test_a_word_takes_one_line_and_is_used() -> None:
    every = [text for entry in catalogue().values() for _, _, text in texts(entry)]
    every += [step.get("run", "") for entry in catalogue().values() for step in entry.get("step", [])]
    package = ROOT / "torch_doctor"
    rules = [package / "screen/evidence.toml", *(package / "diagnosis/rules").glob("*.py")]
    every += [file.read_text(encoding="utf-8") for file in rules]
    every += [text for title in (*PROBES.values(), TERMINAL) for text in (title.en, title.zh)]
    said = "\n".join(every)
    for word in glossary():
        for side in ("en", "zh"):
            name, meaning = getattr(word.name, side), getattr(word.meaning, side)
            assert columns(f"  {name}: {meaning}") <= 88 and not meaning.endswith((".", "。")), name
    used = words_of(said, said, "zh")
    assert not [str(word.name) for word in glossary() if word not in used], "no text uses these"


def test_words_are_found_in_the_language_that_is_shown() -> None:
    english = "The kernel module of the driver. See `nvidia-smi`; the kernel module again."
    chinese = "驅動程式的 Linux 核心模組（kernel module）。"
    names = {one: [word.name.en for word in words_of(english, chinese, one)] for one in ("en", "zh", "both")}
    assert names["en"] == names["both"] == ["kernel module", "driver", "nvidia-smi"], (
        "in the order of the text"
    )
    assert names["zh"] == ["kernel module", "driver"], "the Chinese text does without nvidia-smi"


# --- the order of a report --------------------------------------------------------------------------------


def text(word: str) -> Bilingual:
    return Bilingual(f"{word}-en", f"{word}-zh")


def made_up(sure: int = 3, costs: bool = False, check: str = "look", **more: Any) -> Verdict:
    step = Step(text("announces"), "command", text("afterwards"), costs)
    fields = {"kind": "fault", "title": text("title"), "why": text("why"), "steps": (step,), **more}
    cause = Cause(name="made-up", check=check, check_text=text("read-it-so") if check else None, **fields)
    return Verdict(cause, sure, tuple(Line("driver", f"fact {number}") for number in range(5)))


def shown(
    *verdicts: Verdict, language: str = "en", notebook: bool = False, details: bool = False
) -> tuple[str, str]:
    """Return the report of `verdicts` as text, and what its card shows without a click."""
    evidence = Evidence(healthy(caller__notebook=notebook))
    report = Report(Diagnosis("cuda", verdicts, (), evidence))
    block = report.html().split('<div class="measured-block"')[{"en": 1, "zh": 2}.get(language, 1)]
    card = re.sub(r"<[^>]+>", "\n", block if details else block.split("<details>")[0])
    return report.text(language, details=details), html.unescape(card)


def stand_in_order(shown: str, *parts: str) -> None:
    place = 0
    for part in parts:
        assert part in shown[place:], f"{part} does not come in this order"
        place = shown.index(part, place) + len(part)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_command_stands_below_its_announcement(language: str) -> None:
    for screen in shown(made_up(), language=language):
        stand_in_order(screen, f"title-{language}", f"why-{language}", f"announces-{language}", "command",
                       f"afterwards-{language}", "fact 0")  # fmt: skip


@pytest.mark.parametrize("sure, costs", [(3, True), (2, False), (1, True)])
def test_the_check_comes_first_where_it_can_save_somebody(sure: int, costs: bool) -> None:
    for screen in shown(made_up(sure, costs)):
        stand_in_order(screen, "changes nothing", "look", "read-it-so-en", "announces-en", "command")
    assert "  1. Check first" in shown(made_up(sure, costs))[0]


def test_a_check_that_saves_nobody_is_left_to_the_details() -> None:
    for verdict in (made_up(), made_up(2, True, check="command")):  # the same command is a step already
        for screen in shown(verdict):
            assert "Check first" not in screen
    for screen in shown(made_up(), details=True):
        assert "read-it-so-en" in screen


def test_only_the_deciding_evidence_is_shown() -> None:
    for screen in shown(made_up()):
        assert "fact 2" in screen and "fact 3" not in screen and "nvidia-smi 0.1 s" not in screen
    for screen in shown(made_up(), details=True):
        assert "fact 4" in screen and "nvidia-smi 0.1 s" in screen
    for screen in shown(made_up(2, kind="unknown")):
        assert "fact 4" in screen, "where the cause is not known, the facts are the answer"


def test_the_error_messages_of_a_cause_are_details() -> None:
    off = {"pytorch__cuda": None, "pytorch__available": False, "pytorch__count": 0, "usable__devices": {}}
    report = Report(diagnose(healthy(**off)))
    assert report.diagnosis.first.cause.name == "cpu-build"
    message = "Torch not compiled with CUDA enabled"
    assert message in report.text("en", details=True) and message not in report.text("en")
    shown, closed = report.html().split('<div class="measured-block"')[1].split("<details>")
    assert message in closed and message not in shown
    assert "torch_doctor errors no-cuda-build" in report.text("en", details=True)


def test_other_causes_come_with_a_step() -> None:
    steps = (Step(text("mend"), "cure", None, True), Step(text("last")))
    other = made_up(1, True, title=text("other"), steps=steps)
    terminal, card = shown(
        made_up(), made_up(2, title=text("second")), other, made_up(1, title=text("fourth"))
    )
    for screen, some in ((terminal, ()), (card, ("look", "cure"))):  # a terminal has less room
        stand_in_order(screen, "Also found", "second-en", "(likely)", *some[:1])
        stand_in_order(screen, "second-en", "If that was not it", "other-en", "(possible)", *some)
        assert "last-en" not in screen and "fourth-en" not in screen
    assert terminal.count("\n") < MOST_LINES and "--details" in terminal
    for screen in shown(made_up(), made_up(2), other, made_up(1, title=text("fourth")), details=True):
        assert "last-en" in screen and "fourth-en" in screen
    assert "--details" in shown(made_up(), *[made_up(1)] * 3)[0], "what was left out is announced"


def test_a_remark_comes_with_its_steps() -> None:
    remark = made_up(kind="remark", title=text("remark"), steps=(Step(text("do"), "it"),))
    report = Report(Diagnosis("cuda", (made_up(kind="fine", steps=()),), (remark,), Evidence(healthy())))
    stand_in_order(report.text("en"), "Worth knowing", "remark-en", "do-en", "it")
    assert "(sure)" not in report.text("en")


@tabled
def test_a_command_says_where_it_is_typed(runs: tuple[str, ...], in_terminal: str, in_notebook: str) -> None:
    for run in runs:
        for notebook, expected in ((False, in_terminal), (True, in_notebook)):
            for screen in shown(made_up(steps=(Step(text("do"), run),)), notebook=notebook):
                found = re.search(r"in (a terminal|a cell of|your program)\b.*:\s+(.*)", screen)
                assert (found[1] if found else "") == expected, (run, screen)
    for notebook, announced, run, twice in (
        (True, "In PowerShell, stop it:", "wsl --shutdown", "in a terminal"),
        (False, "Put this line at the top of the program:", "import torch", "in your program"),
        (
            True,
            "Add this to the brackets of `DataLoader`:",
            "num_workers=0",
            "in a cell",
        ),  # not a line of its own
    ):
        said = Step(Bilingual(announced, announced), run)
        assert twice not in shown(made_up(steps=(said,)), notebook=notebook)[0], "said twice"


def test_a_notebook_restarts_its_kernel_and_no_python() -> None:
    for notebook, expected in ((False, "start Python again"), (True, "restart the kernel")):
        cause = Cause.of("uvm-missing", Evidence(healthy(caller__notebook=notebook)))
        assert any(step.then and expected in step.then.en for step in cause.steps)


def test_a_report_fits_a_small_terminal() -> None:
    e = Evidence(healthy())
    faults = [name for name, entry in catalogue().items() if entry.get("kind", "fault") == "fault"]
    lines = (Line("driver", "cuInit() = 999"), Line("bus", "1 NVIDIA card"))
    verdicts = [Verdict(Cause.of(name, e), sure, lines) for name in faults for sure in (2, 3)]
    for language in ("en", "zh"):
        reports = [Report(Diagnosis("cuda", (verdict,), (), e)).text(language) for verdict in verdicts]
        lengths = [len(report.splitlines()) for report in reports]
        assert statistics.median(lengths) <= 20, sorted(lengths)
        assert sum(one > MOST_LINES for one in lengths) <= 0.1 * len(lengths), "only steps may take more"


# --- looks ------------------------------------------------------------------------------------------------


def commands_of(diagnosis: Diagnosis) -> str:
    causes = [verdict.cause for verdict in diagnosis.verdicts]
    return "\n".join(run for cause in causes for run in (cause.check, *[step.run for step in cause.steps]))


@pytest.mark.parametrize("language", ["en", "zh", "both"])
@pytest.mark.parametrize("width", [40, 80])
def test_lines_fit_the_terminal(language: str, width: int) -> None:
    for more in (NO_GPU, {"driver__cuInit": 802, "pytorch__available": False, "pytorch__count": 0}):
        diagnosis = diagnose(healthy(**more))
        report = Report(diagnosis).text(language, width, details=True)
        for line in report.splitlines():
            # A command or a path is never broken.
            fits = (
                columns(line) <= width
                or line.strip() in commands_of(diagnosis).splitlines()
                or " errors " in line
                or max(map(columns, line.split())) > width // 2
            )
            assert fits, line
        assert ("看到的現象" in report, "What was seen" in report) == (language != "en", language != "zh")


def test_colours_only_on_request() -> None:
    report = Report(diagnose(healthy()))
    assert "\x1b" not in report.text("en") and "\x1b[32m[ok]" in report.text("en", colour=True)


def test_evidence_in_words_is_said_in_both_languages() -> None:
    report = Report(diagnose(healthy(driver__cuInit=802, pytorch__available=False, pytorch__count=0)))
    english, chinese = "nv-fabricmanager: not running", "nv-fabricmanager：沒有執行"
    assert english in report.text("en") and chinese not in report.text("en")
    assert chinese in report.text("zh") and english not in report.text("zh")
    stand_in_order(report.text("both", 200), english, chinese)
    assert Line("driver", "0 GPU").said("zh") == Line("driver", "0 GPU").said("en") == "0 GPU"


def test_a_command_of_the_terminal_keeps_its_path_and_a_notebook_hides_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"HOME": "/home/alice", "USER": "alice", "LOGNAME": "alice"}.items():
        monkeypatch.setenv(name, value)
    privacy._private.cache_clear()
    try:
        verdict = made_up(steps=(Step(text("start"), "/scratch/alice/env/bin/python"),))
        assert "/scratch/alice/env/bin/python" in shown(verdict)[0], "it must work as it stands there"
        for screen in shown(verdict, notebook=True):
            assert "alice" not in screen
    finally:
        privacy._private.cache_clear()


def same_everywhere(text: str) -> str:
    """Return `text` as the notebook checks compare it."""
    for pattern, replacement in get_sanitize_patterns(
        (ROOT / "tests/sanitize.cfg").read_text(encoding="ascii")
    ):
        text = re.sub(pattern, replacement, text)
    return text


EVERY = [case.evidence() for case in cases("questions") if case.question == "slow"][::7] + [
    without_gpu(caller__notebook=True), healthy(bus__os="darwin"), broken(driver__cuInit=999, nvml__init=3),
    healthy(interpreter__environment={"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}),
]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_notebook_stores_the_same_output_on_every_machine(question: str) -> None:
    shown = [Report(diagnose(found, question))._repr_mimebundle_() for found in EVERY]
    assert len({one["text/plain"] for one in shown}) > 2, "these machines are too much alike"
    for kind in ("text/html", "text/plain"):
        assert len({same_everywhere(one[kind]) for one in shown}) == 1
    for one in shown:
        assert_nested(one["text/html"])
        assert one["text/html"].count('lang="en"') == one["text/html"].count('lang="zh-Hant"')


BROKEN = {"driver__cuInit": 999, "pytorch__available": False, "pytorch__count": 0, "usable__devices": {},
          "bus__slept": 900.0, "nvml__count": 1, "interpreter__environment": {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}}  # fmt: skip


def packed(text: str) -> str:
    """Return `text` without white space and backquotes, to search in it."""
    return re.sub(r"[\s`]", "", text)


@pytest.mark.parametrize("more", [BROKEN, {"caller__bad_fork": True}], ids=["broken", "forked"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_text_and_card_have_the_whole_diagnosis(language: str, more: dict[str, Any]) -> None:
    diagnosis = diagnose(healthy(**more))
    causes = [verdict.cause for verdict in (*diagnosis.verdicts, *diagnosis.remarks)]
    said = [text for cause in causes for text in (cause.title, cause.check_text)]
    said += [text for cause in causes for step in cause.steps for text in (step.text, step.then)]
    expected = [plain(getattr(text, language)) for text in (causes[0].why, *said) if text]
    expected += [
        command for cause in causes for command in (cause.check, *[step.run for step in cause.steps])
    ]
    expected += [line.said(language) for verdict in diagnosis.verdicts for line in verdict.lines]
    assert causes[0].steps and len(expected) > 5
    text = Report(diagnosis).text(language, 10_000, details=True)
    block = Report(diagnosis).html().split('<div class="measured-block"')[{"en": 1, "zh": 2}[language]]
    for whole in (packed(text), packed(html.unescape(re.sub(r"<[^>]+>", "", block)))):
        assert not [part for part in expected if packed(part) not in whole]


def test_sureness_stands_behind_each_verdict() -> None:
    verdicts = [made_up(3), made_up(2), made_up(1)]
    for screen in shown(*verdicts):
        assert re.findall(r"\((sure|likely|possible)\)", screen) == ["sure", "likely", "possible"]
    for kind, said in (("unknown", 0), ("fine", 0)):
        assert shown(made_up(3, kind=kind))[0].count("(sure)") == said
    assert "(likely)" in shown(made_up(2, kind="fine"))[0], "health that is not certain says so"


def test_a_healthy_machine_has_nothing_to_do() -> None:
    report = Report(diagnose(healthy()))
    assert report.html().count("Nothing to do.") == report.text("en").count("Nothing to do.") == 1
    assert "1. " not in report.text("en")


def test_html_is_escaped_and_shows_the_verdict() -> None:
    verdict = Verdict(made_up(title=Bilingual("a<b>", "<b>一")).cause, 3, (Line("driver", "<b>fact"),))
    card = Report(Diagnosis("cuda", (verdict,), (), Evidence(healthy()))).html()
    assert "<b>" not in card and "a&lt;b&gt;" in card and "&lt;b&gt;一" in card and "&lt;b&gt;fact" in card


# --- lines of a terminal: Chinese counts double ---------------------------------------------------------


def test_lines_break_between_words_and_after_any_chinese_character() -> None:
    assert wrap("一二三四五，六七八。", 10).splitlines() == ["一二三四", "五，六七", "八。"]
    assert wrap("一二三（四五）", 8).splitlines() == ["一二三", "（四五）"]
    assert wrap("one two three", 8, "  ") == "  one\n  two\n  three"
    assert wrap("one two three", 9, "   ", "1. ") == "1. one\n   two\n   three"
    assert wrap("a/very/long/path/that/is/longer", 10) == "a/very/long/path/that/is/longer"


@pytest.mark.parametrize("width", [20, 40, 88])
def test_every_word_is_kept_and_no_line_begins_with_a_closing_mark(width: int) -> None:
    text = (
        "重新啟動核心（沒有別的辦法），把同一個批次拿到 CPU 上跑：`torch.cuda.is_available()` 會說清楚。" * 3
    )
    wrapped = wrap(text, width, "    ")
    assert re.sub(r"\s", "", wrapped) == re.sub(r"\s", "", text)
    assert not [line for line in wrapped.splitlines() if line.strip()[:1] in "，。；：！？、）」"]
    assert not [line for line in wrapped.splitlines() if line[-1] in "（「"]
