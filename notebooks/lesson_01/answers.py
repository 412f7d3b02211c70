"""What the answers of PyTorch and of the driver mean: a table for sections 1.1 and 1.5; its texts are in ``answers.toml``."""

import html
from typing import Any

import torch

from bilingual import Bilingual, Block, enumerated, measured, measured_both, texts
from course_utils import lesson_gpus
from course_utils.tables import html_table
from torch_doctor.diagnosis.cuda_tables import DRIVER_FOR_CUDA, has_code_for

TEXTS = texts(__file__)
_HEADINGS = (
    Bilingual("question", "問題"),
    Bilingual("answer", "回答"),
    Bilingual("what it means", "代表什麼"),
)


def _case(expression: str, answer: Any) -> tuple[str, dict[str, Any]]:
    """Return the key of the text for an answer, and what to fill in."""
    if not answer:
        return "no", {}
    if expression == "torch.cuda.device_count()":
        return "one" if answer == 1 else "yes", {"last": answer - 1, "count": answer}
    if expression == "torch.accelerator.is_available()" and lesson_gpus.clock(wait=False) is not None:
        return "practice", {}
    if expression == "torch.version.cuda":
        return "yes", {"cuda": answer, "driver": DRIVER_FOR_CUDA.get(int(answer.split(".")[0]))}
    if expression == "driver_version":
        first = answer.split(".")[0]
        if not first.isdecimal():  # nvidia-smi can also answer "[N/A]"
            return "no", {}
        served = [str(cuda) for cuda, oldest in DRIVER_FOR_CUDA.items() if int(first) >= oldest]
        return ("yes", {"served": enumerated(served)}) if served else ("old", {})
    if (
        expression == "torch.cuda.get_device_capability(i)" and not torch.version.hip
    ):  # AMD names its code otherwise
        compiled = torch.cuda.get_arch_list()
        without = [f"{a}.{b}" for a, b in answer if not has_code_for(10 * a + b, compiled)]
        return ("without", {"cards": enumerated(without)}) if without else ("yes", {})
    return "yes", {}


def meaning(expression: str, answer: Any) -> Bilingual:
    """Return what an answer means.

    Args:
        expression: As a learner would type it; a table of ``answers.toml``.
        answer: Its value on this machine.

    Raises:
        KeyError: The meaning of the expression is not known.
    """
    key, values = _case(expression, answer)
    return TEXTS[expression][key].format(**values)


def explained(answers: dict[str, Any]) -> Block:
    """Show expressions, what they are on this machine, and what that means.

    Args:
        answers: An expression as a learner would type it → its value; see :func:`meaning`.
    """
    rows, lines = [], []
    for expression, value in answers.items():
        text = measured_both(meaning(expression, value))
        shown = f'<span class="measured">{html.escape(str(value))}</span>'
        rows.append((f"<code>{html.escape(expression)}</code>", shown, text.html()))
        lines.append(f"{expression} = {measured(value)}: {text}")
    return Block(html_table(rows, [heading.html() for heading in _HEADINGS]), "\n".join(lines))
