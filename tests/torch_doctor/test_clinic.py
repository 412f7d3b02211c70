"""The clinic's catalogue and its reading: every entry in order, found by its own text and by no other's, cause before consequence."""

import json
import re
import time
import tomllib
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
import torch
from html_nesting import assert_nested
from sample import THIRDS, sample

from torch_doctor import explain
from torch_doctor.errors import card as cards
from torch_doctor.errors import catalogue, matching
from torch_doctor.errors.catalogue import CARD, entries
from torch_doctor.errors.error_text import text_of
from torch_doctor.errors.matching import find_cause
from torch_doctor.terminal import columns

ENTRIES = entries()
ORDINARY = tomllib.loads(Path(__file__).with_name("clinic_ordinary.toml").read_text(encoding="utf-8"))
SAMPLES = [(name, sample) for name, entry in ENTRIES.items() for sample in entry.samples]


FORMS = [name for name, entry in ENTRIES.items() if entry.role in catalogue.FORMS]


def found(text: str) -> str | None:
    match = find_cause(text).match
    return match.entry.name if match else None


def known(text: str) -> str | None:
    """Return the entry that claims to know the message, and not only its form."""
    return None if (name := found(text)) in FORMS else name


# --- the catalogue ------------------------------------------------------------------------------------


def test_entries_are_complete() -> None:
    assert len(ENTRIES) >= 550, "none is dropped"
    for name, entry in ENTRIES.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), name
        assert entry.patterns and entry.samples and entry.source.startswith("https://"), name
        assert re.fullmatch("0[0-8]", entry.lesson), name
        assert entry.similar and set(entry.similar) <= set(ENTRIES) - {name}, name
        assert set(entry.supersedes) <= set(ENTRIES) - {name}, name
        assert len(entry.message) < 120 and "\n" not in entry.message, name
        texts = [getattr(entry, part) for part in CARD]
        assert all(len(text.en) < 420 and len(text.zh) < 230 for text in texts), name


def test_no_entries_supersede_each_other_in_a_ring() -> None:
    """A text that matches all of a ring would get no card."""
    TopologicalSorter({name: entry.supersedes for name, entry in ENTRIES.items()}).prepare()


def test_what_is_said_to_be_provoked_can_be() -> None:
    for name, entry in ENTRIES.items():
        programs = [entry.provoke, entry.provoke_alone]
        assert sum(program is not None for program in programs) <= 1, name
        if entry.verified == "ran":
            assert entry.requires in ("cpu", "cpu_build") and any(programs), f"{name}: without a program"
        if entry.requires in ("cuda", "two_gpus"):
            assert any(programs), f"{name}: needs a program for machines with a GPU"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"patterns": None}, r"\[x\] lacks patterns"),
        ({"colour": "red"}, "unknown fields colour"),
        ({"role": "hero"}, "'hero'; possible are cause"),
        ({"verified": "maybe"}, "'maybe'; possible are ran"),
    ],
)
def test_a_faulty_file_is_refused(change: dict[str, object], complaint: str) -> None:
    entry = {
        "message": "x", "patterns": ["x"], "requires": "cpu", "verified": "ran", "lesson": "01", "source": "https://x",
        "similar": [], "samples": ["x"],
    } | {part: {"en": "e", "zh": "z"} for part in CARD}  # fmt: skip
    entry |= change

    section = {key: value for key, value in entry.items() if value is not None}
    with pytest.raises(ValueError, match=complaint):
        catalogue.read("f.toml", {"topic": {"en": "t", "zh": "t"}, "x": section})


# --- finding ------------------------------------------------------------------------------------------


def names_in(text: str) -> list[str]:
    """Return the names of all entries that are found in `text`."""
    found = find_cause(text)
    return [match.entry.name for match in (found.match, *found.others) if match]


def test_a_sample_matches_its_entry_and_no_other() -> None:
    wrong = {(name, sample): names for name, sample in SAMPLES if (names := names_in(sample)) != [name]}
    assert not wrong


# Their last line alone says too little, or means something else in another program.
CAUTIOUS = {"compile-failed", "dl-worker-exc", "dl-pipe", "load-corrupt", "load-missing-code", "spawn-args", "dp-replica",
            "dp-imbalance", "ddp-inplace", "pkg-error", "dist-error"}  # fmt: skip
# "CUDA kernel errors might be asynchronously reported": the line above it is asked for.
GENERAL = {"autograd", "cuda-other", "hip-error"}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"Error: no kernel", "Error:"),  # a space is any white space
        (r"ab?cde*fgh+i", "fgh"),
        (r"abc{0,2}?de\.so\b", "de.so"),
        (r"\bmust be (?:on|in) [^\n]{0,9}?memory\Z", "memory"),
        (r"one|other", ""),
        (r"(?i)error", ""),
        (r"[]x]\[abc\]", "[abc]"),
        (r"\w+(?P<x>long text)\1'no'", "no"),
    ],
)
def test_what_stands_in_every_match_of_a_pattern(pattern: str, expected: str) -> None:
    assert catalogue.literal(pattern) == expected


def test_a_sample_holds_the_literal_of_each_pattern_that_matches_it() -> None:
    """A pattern is searched for only where its literal stands, so a wrong literal would hide an entry."""
    found = [
        (pattern, hit[0])
        for name, sample in SAMPLES
        for pattern in ENTRIES[name].patterns
        for hit in catalogue.expression(pattern).finditer(sample)
    ]
    assert [(pattern, text) for pattern, text in found if catalogue.literal(pattern) not in text] == []
    assert sum(len(catalogue.literal(pattern)) > 3 for pattern, _ in found) > 0.8 * len(found) > 800


def test_a_title_alone_is_recognised() -> None:
    assert not {name: other for name, entry in ENTRIES.items() if (other := found(entry.message)) != name}


@THIRDS
def test_the_last_line_of_a_message_alone_is_recognised(third: int) -> None:
    last = {(name, text.strip().splitlines()[-1]) for name, text in SAMPLES[third::3] if name not in FORMS}
    wrong = {(name, line): other for name, line in last if (other := known(line)) not in {name, *GENERAL}}
    assert not {key: other for key, other in wrong.items() if other or key[0] not in CAUTIOUS}


def raw(name: str, text: str) -> bool:
    return next(catalogue.hits(name, text), None) is not None


@THIRDS
def test_hiding_is_not_how_samples_get_their_one_match(third: int) -> None:
    """Two entries that both claim one message would be an ambiguity that `hides` only covers up."""
    twice = [
        (name, other)
        for name, sample in SAMPLES[third::3]
        for other in ENTRIES
        if {name, other}.isdisjoint(FORMS)
        and other != name
        and raw(other, sample)
        and other not in ENTRIES[name].supersedes
    ]
    assert twice == []


EACH_LINE = {"quoted": "> {}", "rank": "[rank1]: {}", "default": "[default0]:{}", "rich": "│ {} │",
             "ray": "(Worker pid=12, ip=10.0.0.1) {}", "heavy box": "┃ {} ┃", "bold": "**{}**",
             "logger": "2025-11-20 10:11:12,345 - ERROR - {}", "journal": "Nov 20 10:11:12 node python[12]: {}",
             "compose": "vllm-1  | (EngineCore_DP0 pid=9) ERROR 11-20 10:11:12 [core.py:708] {}"}  # fmt: skip
NOISE: dict[str, Callable[[str], str]] = {
    "colours": lambda text: f"\x1b[0;31m{text}\x1b[0m",
    "windows": lambda text: text.replace("\n", "\r\n"),
    "notebook": lambda text: (
        f"Epoch 3:  12%|█▏        | 3/25 [00:01<00:08]\n{text}\nProcess finished with exit code 1"
    ),
    "quotes": lambda text: text.replace("'", "’"),
    "html": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
    "colours without escape": lambda text: f"[0;31m{text}[0m",
    "unseen characters": lambda text: text.replace("_", "_\u200b").replace(" ", "\u00a0"),
    "Markdown": lambda text: re.sub(r"([_*`<>\[\]])", r"\\\1", text),
    "JSON": lambda text: json.dumps({"log": json.dumps(text)}),
    "other quotes": lambda text: re.sub(r"(?<!\w)['`]|['`](?!\w)", '"', text),
    "no quotes": lambda text: re.sub(r"(?<!\w)['`\"]|['`\"](?!\w)", "", text),
    "terminal": lambda text: re.sub(r"(.{80})(?=.)", r"\1\n", text),
    "wrapped": lambda text: (
        re.sub(r"(?<=\S) (?=\S)", "\n    ", text, count=1) if '"' not in text[:20] else text
    ),
} | {
    name: lambda text, form=form: "\n".join(map(form.format, text.splitlines()))
    for name, form in EACH_LINE.items()
}


MAY_BE_LOST = {"no quotes": 0.04, "JSON": 0.04, "terminal": 0.06} | dict.fromkeys(
    ["logger", "journal", "compose"], 0.01
)


@pytest.mark.parametrize("name", sample(NOISE, ["html", "wrapped", "no quotes", "JSON"]))
def test_noise_does_not_hide_a_message(name: str) -> None:
    wrong = {(entry, sample): found(NOISE[name](sample)) for entry, sample in SAMPLES[::4]}
    lost = {key: other for key, other in wrong.items() if other != key[0]}
    # Some messages differ in their quotation marks only, and a word that is cut hides which of two entries is meant.
    assert len(lost) <= MAY_BE_LOST.get(name, 0) * len(wrong), lost


def programs() -> Iterator[tuple[str, dict[str, object]]]:
    for kind, names in {"python": {}, "numpy": {"np": np}, "torch": {"torch": torch}}.items():
        for code in ORDINARY[kind].splitlines():
            yield code.replace("\\n", "\n"), names


def test_an_everyday_error_is_not_claimed() -> None:
    claimed, all_ = [], list(programs())
    for code, names in all_:
        try:
            exec(code, {**names, "__name__": "__main__"})
        except BaseException as error:
            texts = (f"{type(error).__name__}: {error}", text_of(error))
            claimed += [(code, entry) for entry in map(known, texts) if entry]
        else:
            pytest.fail(f"no error: {code}")
    assert not claimed and len(all_) >= 100


def test_an_everyday_message_is_not_claimed() -> None:
    texts = ORDINARY["texts"].splitlines()
    assert len(texts) >= 130 and not [text for text in texts if known(text)]


def test_an_ordinary_log_raises_no_alarm() -> None:
    """Not even by its form: progress bars, warnings, parts that a program does without, counts of errors that are 0."""
    logs = ORDINARY["logs"].strip().split("\n\n")
    assert len(logs) >= 20 and not {log: name for log in logs if (name := found(log))}
    assert not find_cause("\n".join(logs)).match, "nor all together"


def test_an_everyday_message_is_claimed_where_processes_are_started() -> None:
    """The same words mean something else in another place; that is what `context` is for."""
    message = "AttributeError: Can't pickle local object 'f.<locals>.g'"
    assert known(f'  File "train.py", line 60, in save\n{message}') is None
    assert found(f'  File "lib/multiprocessing/reduction.py", line 60, in dump\n{message}') == "nb-pickle"


# --- the form of an error -----------------------------------------------------------------------------

PACKAGES = "/venv/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("file", "name", "said"),
    [
        ("train.py", "gen-own", "in a file of the project itself, train.py:7"),
        (f"{PACKAGES}/trl/trainer.py", "pkg-error", "inside trl, called from run.py:3"),
        ("trl/trainer.py", "pkg-error", "inside trl, called from run.py:3"),
        ("D:\\ComfyUI\\custom_nodes\\trl\\nodes.py", "pkg-error", "in the custom node trl of ComfyUI"),
        (f"{PACKAGES}/torch/nn/functional.py", "gen-torch", "inside PyTorch, called from run.py:3"),
        (f"{PACKAGES}/torch/_inductor/ir.py", "gen-compile", "inside PyTorch's compiler, called from run.py:3"),
        (f"{PACKAGES}/torch/distributed/fsdp/x.py", "dist-error", "inside torch.distributed, called from run.py:3"),
    ],
)  # fmt: skip
def test_the_file_that_raised_an_unknown_error_is_named(file: str, name: str, said: str) -> None:
    frames = f'  File "/work/run.py", line 3, in <module>\n  File "{file}", line 7, in f\n'
    card = explain(f"Traceback (most recent call last):\n{frames}RuntimeError: so it is")
    assert (card.name, said in re.sub(r"\s+", " ", card.text("en"))) == (name, True)


def test_a_form_names_both_packages_and_what_is_missing() -> None:
    frames = (
        '  File "run.py", line 3, in <module>\n  File "/venv/site-packages/some_trainer/x.py", line 7, in f\n'
    )
    card = explain(f"{frames}AttributeError: module 'sklearn.old' has no attribute 'gone'")
    for language in ("en", "zh"):
        text = re.sub(r"\s+", " ", card.text(language))
        assert "`" not in text and "pip show torch some-trainer scikit-learn" in text
        assert "sklearn.old" in text and "gone" in text and ("一起" in text) == (language == "zh")


def test_every_placeholder_of_a_form_is_filled() -> None:
    for name in FORMS:
        for text in ENTRIES[name].samples:
            texts = [getattr(explain(text).entry, part) for part in CARD]
            assert not [one for one in texts if "‹" in one.en + one.zh], name


def test_below_a_traceback_only_known_errors_are_explained() -> None:
    """The hook asks with a time limit; a card below every traceback would say nothing that the reader does not see."""
    assert find_cause("KeyError: 'x'").match and not find_cause("KeyError: 'x'", seconds=9).match


# --- several ranks ------------------------------------------------------------------------------------

VICTIM = "RuntimeError: [/x/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:31617"
CAUSE = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cpu!"
WRAPPER = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "


def test_the_cause_goes_before_its_victims() -> None:
    text = f"[rank0]: {VICTIM}\n[rank2]: {VICTIM}\n[rank1]: {CAUSE}\n{WRAPPER}\n"
    finding = find_cause(text)
    assert (finding.match.entry.name, finding.match.rank, finding.ranks) == ("dev-mismatch", 1, 3)
    assert [match.entry.name for match in finding.others] == ["gloo-peer", "torchrun-child"]
    assert finding.unknown is None


def test_lines_of_two_ranks_may_be_mixed() -> None:
    begin, end = (
        "[rank1]: Traceback (most recent call last):",
        '[rank1]:   File "train.py", line 12, in <module>',
    )
    memory = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."
    finding = find_cause(f"{begin}\n[rank0]: {VICTIM}\n{end}\n{memory}")
    assert (finding.match.entry.name, finding.match.rank) == ("oom", 1)


def test_of_two_causes_the_earlier_by_the_clock_is_first() -> None:
    late = "[rank0]:[E1118 12:00:05.000 x.cpp:1] CUDA out of memory. Tried to allocate 1"
    early = "[rank3]:[E1118 12:00:04.900 x.cpp:1] CUDA error: device-side assert triggered"
    assert find_cause(f"{late}\n{early}").match.rank == 3
    assert find_cause(f"{early}\n{late}").match.rank == 3


def test_an_unknown_cause_is_quoted_before_what_it_caused() -> None:
    log = f"[rank0]: {VICTIM}\n[rank1]: {{}}\n{WRAPPER}\n"
    finding = find_cause(log.format("KeyError: 'labels'"))
    assert (finding.match.entry.name, finding.match.rank) == ("gen-key", 1)
    assert [match.entry.name for match in finding.others] == ["gloo-peer", "torchrun-child"]
    finding = find_cause(log.format("MyError: so it is"))
    assert finding.match.entry.name == "gloo-peer"
    assert (finding.unknown, finding.unknown_rank) == ("MyError: so it is", 1)
    text = cards.Explanation(finding).text("en")
    assert "does not know (rank ⟨1⟩): ⟨MyError: so it is⟩" in re.sub(r"\s+", " ", text)


GLOO = "RuntimeError: [/x/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"
WATCHDOG = (
    "[E1124 12:00:0{0}.000 ProcessGroupNCCL.cpp:688] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL"
    "(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600002 milliseconds before timing out."
)
SOCKET = "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (10.0.0.1, 29400)."
INNER = (
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed."
    " See inner exception for details."
)
# The clinic knows the first wording by itself.
OTHER_INNER = INNER.replace("to the C10d store has failed", "is closed")


@pytest.mark.parametrize("ranks", [1, 3, 8])
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("gloo-peer", [VICTIM]),
        ("gloo-timeout", [GLOO]),
        ("nccl-watchdog", [WATCHDOG, "torch.distributed.DistBackendError: " + WATCHDOG.partition("] ")[2]]),
        ("client-timeout", [SOCKET, INNER]),
        ("nccl-aborted", ["RuntimeError: NCCL communicator was aborted on rank {0}.", OTHER_INNER]),
    ],
)
def test_a_message_is_known_from_every_rank_that_prints_it(name: str, lines: list[str], ranks: int) -> None:
    """However many ranks say the same, and whatever wraps it: no line of it is an error that the clinic does not know."""
    text = "\n".join(f"[rank{rank}]: {line.format(rank)}" for rank in range(ranks) for line in lines)
    finding = find_cause(f"{text}\n{WRAPPER}\n")
    assert (finding.match.entry.name, finding.match.rank, finding.unknown) == (name, 0, None)
    assert finding.ranks == ranks and {match.entry.name for match in finding.others} <= {"torchrun-child"}
    finding = find_cause(f"{text}\n[rank{ranks}]: MyError: so it is\n{WRAPPER}\n")
    assert (finding.unknown, finding.unknown_rank) == ("MyError: so it is", ranks)


def test_a_rank_that_torchrun_killed_is_no_cause() -> None:
    """torchrun ends the other ranks with a signal; only where the first failure was a signal, memory ran out."""
    report = "  exitcode  : -9 (pid: 12)\n  error_file: <N/A>\nRoot Cause (first observed failure):\n  rank      : 1\n"
    assert found(f"{WRAPPER}\n{report}  exitcode  : 1 (pid: 13)\n") == "torchrun-child"
    assert found(f"{WRAPPER}\n{report}  exitcode  : -9 (pid: 13)\n") == "killed"


def test_a_victim_is_told_to_look_elsewhere() -> None:
    victims = [entry for entry in ENTRIES.values() if entry.role == "victim"]
    assert {"gloo-peer", "store-closed", "nccl-aborted"} <= {entry.name for entry in victims}
    for entry in victims:
        card = explain(entry.samples[0])
        assert card.entry == entry
        remark = re.sub(r"\s+", " ", card.text("en").split(cards._LABELS["meaning"].en)[0])
        assert "the first process, that says something else" in remark, entry.name


def test_the_wording_that_the_notes_ask_about() -> None:
    for place in ("cuda:1", "cpu"):
        assert found(f"module must have its parameters on cuda:0 but got {place}") == "dp-src-device"
    assert found("the module must have its parameters written down") is None


def test_a_wrapper_gives_way_to_what_it_wraps() -> None:
    head = "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
    assert found(head + "RuntimeError: Cannot re-initialize CUDA in forked subprocess.") == "fork-reinit"
    finding = find_cause(head + "MyError: so it is")
    assert (finding.match.entry.name, finding.unknown) == ("dl-worker-exc", "MyError: so it is")


def test_ranks_are_told_by_every_launcher() -> None:
    for begins in ("[rank7]: ", "[default7]:", f"8: {VICTIM}\n7: ", "x [Rank 7] "):
        assert find_cause(begins + CAUSE).match.rank == 7
    assert find_cause(CAUSE).match.rank is None


# --- reading exceptions -------------------------------------------------------------------------------


class Slow(Exception):
    """Reading its text has an effect, and might take long."""

    read = 0

    def __str__(self) -> str:
        Slow.read += 1
        return "CUDA out of memory. Tried to allocate 1"


class Broken(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def test_no_code_of_the_error_is_run() -> None:
    assert "Slow" in text_of(Slow(Broken(), torch.zeros(2)))
    assert "Broken" in text_of(Broken())
    assert Slow.read == 0


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as caught:
        return caught


def test_causes_are_read_too() -> None:
    error = raised(ValueError("training failed"), RuntimeError("CUDA error: device-side assert triggered"))
    assert explain(error).name == "device-assert"
    try:
        try:
            raise RuntimeError("CUDA error: device-side assert triggered")
        except RuntimeError:
            raise ValueError("while cleaning up")  # noqa: B904
    except ValueError as caught:
        assert explain(caught).name == "device-assert"


def test_a_circle_of_causes_ends() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert text_of(first).count("ValueError") == 2


def test_errors_with_numbers_keep_them() -> None:
    assert "[Errno 98] Address already in use" in text_of(OSError(98, "Address already in use"))
    assert "KeyError: 'LOCAL_RANK'" in text_of(KeyError("LOCAL_RANK"))
    error = RuntimeError("x")
    error.add_note("CUDA error: device-side assert triggered")
    assert explain(error).name == "device-assert"


def test_the_last_error_of_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sys.last_value", RuntimeError("CUDA out of memory. Tried to allocate 1"), raising=False
    )
    assert explain().name == "oom"
    monkeypatch.delattr("sys.last_value")
    with pytest.raises(ValueError, match="no error yet"):
        explain()


def test_nonsense_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match="got int"):
        explain(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="empty"):
        explain("  \n")


# --- time ---------------------------------------------------------------------------------------------

LONG = {
    "frames": '  File "x/y.py", line 3, in forward\n    raise RuntimeError("CUDA error")\n' * 20_000,
    "one line": "CUDA error: " * 100_000,
    "keys": 'Missing key(s) in state_dict: "a.b", "c.d", ' + '"layer.weight", ' * 60_000,
    "spaces": " " * 1_000_000,
    "brackets": "[rank0]: " * 100_000,
    "numbers": "\n".join(f"{n}: x" for n in range(100_000)),
    "assertions": "block: [1,0,0], thread: [2,0,0] " * 30_000,
    "words": "NCCL server socket has failed to bind expected Input type (" * 20_000,
    "quotes": "> " * 500_000,
}


@pytest.mark.parametrize("name", sample(LONG, ["frames", "brackets"]))
def test_long_texts_are_read_quickly(name: str) -> None:
    find_cause("warm up")
    start = time.thread_time()
    find_cause(LONG[name])
    assert time.thread_time() - start < 4


def test_the_end_of_a_long_text_counts() -> None:
    assert found("x\n" * 1_000_000 + CAUSE) == "dev-mismatch"


def test_the_time_limit_is_kept() -> None:
    with pytest.raises(TimeoutError):
        find_cause(CAUSE, seconds=-1)


def test_the_time_limit_counts_work_and_not_how_long_others_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    find_cause("warm up")
    entries = matching.entries
    monkeypatch.setattr(matching, "entries", lambda: time.sleep(0.7) or entries())
    assert find_cause(CAUSE, seconds=0.5).match is not None


# --- cards --------------------------------------------------------------------------------------------


def test_a_card_is_complete_in_both_languages() -> None:
    for name, entry in ENTRIES.items():
        card = explain(entry.samples[0])
        html, text = card.html(), card.text()
        assert_nested(html)
        for part in CARD:
            assert getattr(card.entry, part).html().split(">")[1][:10] in html, (name, part)
        assert html.count('lang="en"') == html.count('lang="zh-Hant"') >= 5, name
        assert entry.source in html and entry.source in text and "Lesson" not in text, (
            "the course is not here"
        )
        assert ("torch_doctor" in text) == ("doctor(" in html) == bool(entry.causes), name
        assert ("Not reproduced" in text) == (entry.verified != "ran"), name


def test_an_unknown_text_gets_a_card_that_says_so() -> None:
    card = explain("it failed")
    assert card.name is None and card.entry is None
    assert "does not know" in card.text("en") and "不認得" in card.text("zh")
    assert "No error was found" in explain("Epoch 3: loss 0.71, accuracy 0.83").text("en")
    assert_nested(card.html())


def test_the_recognised_line_is_quoted_and_escaped() -> None:
    html = explain("x\n<b>CUDA out of memory. Tried to allocate</b>\ny").html()
    assert "&lt;b&gt;CUDA out of memory. Tried to allocate&lt;/b&gt;" in html and "<b>" not in html


def test_only_what_varies_is_marked_as_measured() -> None:
    """The quoted line differs between releases; the rest of a card may be compared by the notebook checks."""
    first = explain("RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB").html()
    second = explain("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB").html()

    def strip(html: str) -> str:
        return re.sub(r'<pre class="course-console measured">[^<]*</pre>', "", html)

    assert first != second and strip(first) == strip(second)


@pytest.mark.parametrize("language", ["en", "zh", "both"])
@pytest.mark.parametrize("width", [60, 88])
def test_a_terminal_gets_short_lines_in_the_chosen_language(
    language: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_DOCTOR_LANGUAGE", language)
    for name in list(ENTRIES)[::9]:
        card = explain(ENTRIES[name].samples[0])
        text = card.text(language, width)
        long = [line for line in text.splitlines()[1:] if columns(line) > width + 2 and " " in line.strip()]
        assert [line for line in long if "://" not in line] == []
        assert ("常見原因" in text) == (language != "en") and ("Usual cause" in text) == (language != "zh")
    assert "⟨" not in str(card) and "\x1b" not in str(card)


def test_the_lesson_is_a_link_where_it_lies_here(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    card = explain("CUDA out of memory. Tried to allocate 1")
    assert 'href="03_' not in card.html() and "Lesson" not in card.html() + card.text()
    (tmp_path / "03_dtype_and_batch.ipynb").write_text("{}")
    (tmp_path / "03_dtype_and_batch-Copy1.ipynb").write_text("{}")
    assert 'href="03_dtype_and_batch.ipynb"' in card.html() and "Lesson 03," in card.text("en")
