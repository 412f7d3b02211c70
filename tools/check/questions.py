"""Rules for the questions in a lesson's texts.toml: choices, or a number to guess."""

from __future__ import annotations

from typing import Any

from .findings import Findings


def problem(data: dict[str, Any]) -> str:
    """Return what is expected of a question's ``number`` where it is something else, or ``""``."""
    given, needed = data["number"], {"low", "high", "unit_en", "unit_zh"}
    if not isinstance(given, dict) or not needed <= set(given) <= needed | {"linear", "step", "start"}:
        return (
            "it is {low, high, unit_en, unit_zh}; start, if not in the middle; "
            "and, on a linear scale, linear = true, perhaps with a step"
        )
    if {type(given["low"]), type(given["high"])} - {int, float} or given["low"] >= given["high"]:
        return "low and high are numbers, and low is the smaller one"
    if given["low"] <= 0 and not given.get("linear"):
        return "low is above 0 on a logarithmic scale; or set linear = true"
    if "step" in given and (
        not given.get("linear")
        or type(given["step"]) not in (int, float)
        or not 0 < given["step"] <= given["high"] - given["low"]
    ):
        return "step is a positive number within the range, on a linear scale"
    if "start" in given and (
        type(given["start"]) not in (int, float) or not given["low"] <= given["start"] <= given["high"]
    ):
        return "start is a number between low and high"
    if not {"why_en", "why_zh"} <= set(data):
        return "the question explains it in why_en and why_zh"
    return ""


def check_questions(texts: dict[str, Any], findings: Findings) -> None:
    """Report each question without a right choice, and each whose ``number`` cannot be shown as a slider."""
    asked = texts.get("question")
    for name, data in asked.items() if isinstance(asked, dict) else ():
        if not isinstance(data, dict):
            continue
        choices = data.get("choices", [])
        if ("number" in data) == bool(choices):
            findings.add(
                "question", f"question {name!r} has choices and a number, or neither", "give one of them"
            )
        elif choices and not (len(choices) >= 2 and any(choice.get("right") for choice in choices)):
            findings.add(
                "question",
                f"question {name!r} has one choice, or no right one",
                "give at least two choices, and mark one of them `right = true`",
            )
        if "number" in data and (expected := problem(data)):
            findings.add("question", f"question {name!r} has number = {data['number']!r}", expected)
