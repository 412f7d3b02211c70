"""The sanitize file replaces what differs between runs, and nothing else."""

import re
from pathlib import Path

import pytest
from nbval.plugin import get_sanitize_patterns

FILE = Path(__file__).parents[1] / "sanitize.cfg"
TEXT = FILE.read_text(encoding="ascii")  # nbval reads it in the platform's encoding
PAIRS = get_sanitize_patterns(TEXT)

DIFFERS = [
    # two texts that may stand for the same output on two machines or in two runs
    ('<span class="measured">0.3</span>', '<span class="measured">17 GB, NVIDIA H200</span>'),
    ('<pre class="measured">a\nb</pre>', '<pre class="measured">c</pre>'),
    ('<pre class="course-console measured">a</pre>', '<pre class="course-console measured">b</pre>'),
    (
        '<div class="course-card course-claim course-holds">',
        '<div class="course-card course-claim course-needs">',
    ),
    ('<pre class="course-lines measured">a</pre>', '<pre class="course-lines measured">c</pre>'),
    ('<div class="course-claim course-holds">', '<div class="course-claim course-needs">'),
    (
        '<div class="measured-block" lang="en"><p>a</p>\n<ol><li>b</li></ol></div>',
        '<div class="measured-block" lang="en">c</div>',
    ),
    ("ratio ⟨12⟩ for a", "ratio ⟨9,\nso⟩ for a"),
    ("x lives on cpu", "x lives on cuda:0"),
    ("lives on cuda.", "lives on mps:0."),
    ("second on cuda:1", "second on practice:1"),
    ("Writing mine/hello.py\n", "Overwriting mine/hello.py\n"),
    ('src="data:image/png;base64,iVBO+/A=" alt="a"', 'src="data:image/png;base64,AAAA" alt="a"'),
]
STAYS = [
    "4096 bytes, 4,096 bytes, 12 GB, 4 MiB, 1000 pieces",
    "torch.Size([3, 4]) (3, 4) dtype=torch.float32",
    "claim 2.2 holds: at least 2.0x as fast · 成立：至少 2.0x",
    "claim 2.2 does not hold: at most 3x",
    "unclear, needs cuda",
    "device(type='cuda', index=1) cpu mps:0 cuda practice: cuda:x",
    "the tensor on cpu, lives in memory",
    "0x1f 2x2 3 x 4, 5 × 10",
    "took 0.123 ms at 12 GB/s, 3.25 TFLOP/s, 12.3x as fast",
    "10 seconds, 3 steps, 7 samples, version 2.6 supports",
    '<span class="other">0.3</span> <span lang="en">4</span>',
    '<span class="unmeasured">3</span> <div class="course-note course-holds">',
    '<span class="measured"><b>3</b></span>',
    '<div class="measured-block" lang="en"><div>3</div></div> <div class="unmeasured-block" lang="en">3</div>',
    '<img alt="English · 中文">',
    "True False None 1.5",
    "Writing x.py, Overwriting mine/x.txt, Writing mine/x.python, Overwriting mine/a/b.py, writing mine/x.py",
]


def sanitize(text: str) -> str:
    for pattern, replacement in PAIRS:
        text = re.sub(pattern, replacement, text)
    return text


def test_every_pair_is_parsed() -> None:
    assert len(PAIRS) == len(re.findall("^regex:", TEXT, re.M)) == len(re.findall("^replace:", TEXT, re.M))
    assert len(dict(PAIRS)) == len(PAIRS), "two pairs have the same regex"


@pytest.mark.parametrize("one, other", DIFFERS)
def test_what_differs_is_replaced(one: str, other: str) -> None:
    assert one != other
    assert one != sanitize(one) == sanitize(other)


@pytest.mark.parametrize("text", STAYS)
def test_what_is_a_fact_stays(text: str) -> None:
    assert sanitize(text) == text


def test_every_regex_is_used() -> None:
    for pattern, _ in PAIRS:
        assert any(re.search(pattern, one) for one, _ in DIFFERS), pattern


def test_the_device_list_is_closed() -> None:
    assert sanitize("x lives on meta") != sanitize("x lives on cpu")
    assert sanitize("x on practice:1") != sanitize("x on practice:0") != sanitize("x on cpu")


@pytest.mark.parametrize(
    "text",
    [
        "⟨1⟩ {} ⟨2⟩",
        '<span class="measured">1</span> {} <span class="measured">2</span>',
        '<pre class="measured">1</pre>{}<pre class="measured">2</pre>',
        '<div class="measured-block" lang="en">1</div>{}<div class="measured-block" lang="en">2</div>',
        'src="data:image/png;base64,AAAA" alt="{}" src="data:image/png;base64,BBBB"',
    ],
)
def test_what_is_between_two_marks_is_compared(text: str) -> None:
    assert sanitize(text.format("a fact")) != sanitize(text.format("another fact"))
