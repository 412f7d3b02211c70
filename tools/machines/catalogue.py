"""The machines that can be staged. A new one is a record here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.machines import staging
from tools.machines.environments import NEWEST_TORCH, installed, oldest_torch, pinned_torch
from tools.machines.staging import Stage

# What can differ between machines. tests/unit/test_measure*.py measures the machine itself, so it is not repeated.
UNIT = tuple(
    f"tests/unit/test_{name}.py"
    for name in ("claims", "figures", "fresh_process", "machine", "notebook_torchrun", "settings", "tables")
)
# What stands or falls with the version of PyTorch: the device that is made of parts that it calls experimental.
PRACTICE = tuple(
    f"tests/practice_gpu/test_{name}.py"
    for name in ("costs", "device", "operators", "simulation", "start_and_report")
)
NUMBERS = ("tests/lessons/test_exercises.py",)  # verdicts about answers must not depend on rounding
ALL = ("00", "01", "02", "03", "04", "05", "06", "07", "08", "09")


@dataclass(frozen=True)
class Machine:
    """A machine to stage.

    Attributes:
        name: What it is called on the command line.
        what: What is special about it, for the list and the table.
        stages: What it consists of, see `staging`.
        expected: What `probe` must find there: a name of a fact and its value.
        lessons: The lessons that run there.
        tests: The test files that run there.
    """

    name: str
    what: str
    stages: tuple[Stage, ...] = ()
    expected: Mapping[str, Any] = field(default_factory=dict)
    lessons: tuple[str, ...] = ALL
    tests: tuple[str, ...] = ()


MACHINES = (
    Machine("as-it-is", "this machine, for comparison"),
    Machine(
        "no-fonts",
        "no installed fonts, an empty home, no caches",
        (staging.empty_home, staging.no_fonts),
        {"system fonts": 0, "files in the home": 0, "caches elsewhere": []},
        tests=("tests/unit/test_figures.py", "tests/lessons/test_explorers.py"),
    ),
    Machine(
        "oldest-cpu",
        "a processor with SSE4 only",
        (staging.instructions("default", "SSE41", "SSE4_2"),),
        {"instructions": "DEFAULT", "oneDNN": "Intel SSE4.1"},
        tests=NUMBERS,
    ),
    Machine(
        "avx2",
        "a processor with AVX2",
        (staging.instructions("avx2", "AVX2", "AVX2", "avx2"),),
        {"instructions": "AVX2", "oneDNN": "Intel AVX2"},
        tests=NUMBERS,
    ),
    Machine(
        "avx512",
        "a processor with AVX-512 and nothing newer",
        (staging.instructions("avx512", "AVX512_CORE", "AVX512", "avx512f", "avx512bw", "avx512vl"),),
        {"instructions": "AVX512"},
    ),
    Machine("threads-1", "one thread", (staging.threads(1),), {"threads": 1}),
    Machine("threads-2", "two threads", (staging.threads(2),), {"threads": 2}),
    Machine("threads-4", "four threads, more than there may be cores", (staging.threads(4),), {"threads": 4}),
    Machine("one-core", "a single core", (staging.one_core,), {"cores": 1}, tests=UNIT),
    Machine("memory-4gb", "4 GB of memory", (staging.memory(4),), {"5 GiB can be had": False}),
    Machine(
        "no-compiler",
        "no C or C++ compiler (the lessons that compile)",
        (staging.empty_home, staging.no_compiler),
        {"compilers": []},
        lessons=("01", "03", "04"),
        tests=("tests/unit/test_machine.py",),
    ),
    Machine(
        "c-locale",
        "LANG=C and LC_ALL=C",
        (staging.c_locale(PYTHONUTF8=None),),
        {"locale": "C"},
        tests=UNIT,
    ),
    Machine(
        "ascii",
        "a system whose text files are ASCII by default, as Windows has its code pages",
        (staging.c_locale(PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),),
        {"encoding": "ascii"},
        tests=UNIT,
    ),
    Machine(
        "read-only-home",
        "a home that cannot be written",
        (staging.read_only_home,),
        {"home can be written": False},
        tests=("tests/unit/test_settings.py", "tests/unit/test_figures.py"),
    ),
    Machine(
        "strange-path",
        "a folder whose name has spaces, a quote and Chinese",
        (staging.strange_path,),
        {"folder is plain": False},
        tests=UNIT,
    ),
    Machine("many-notebooks", "four notebooks open at once", (staging.together(4),)),
    Machine("loaded", "two other programs that work hard", (staging.loaded(2),), {"busy processes": True}),
    *(
        Machine(
            name,
            f"PyTorch {torch} on Python {python}",
            (installed(python, torch),),
            {"python": python, "torch": torch},
            tests=(*UNIT, *PRACTICE),
        )
        for name, python, torch in (
            ("oldest-torch", "3.11", oldest_torch()),
            ("torch-2.11", "3.12", "2.11.0"),  # Colab's
            ("newest-torch", "3.11", NEWEST_TORCH),
            ("python-3.13", "3.13", pinned_torch()),
            ("python-3.14", "3.14", pinned_torch()),
        )
    ),
)
