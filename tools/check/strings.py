"""Rules for the texts inside Python and TOML files: the same glossary, marks and pairs as in the lessons."""

import ast
import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_utils.questions import Question, parsed
from tools.markdown_text import HAS_CJK, UNKNOWN
from tools.notebook_file import paired_keys

from . import text as texts
from .markdown import check_blocks
from .text import Findings

SECTIONS = {"question", "claim", "figure"}  # of a lesson's texts.toml


def constant_text(node: ast.AST | None) -> str | None:
    """Return the text of a string expression, gaps as placeholders; None where it is not a string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(constant_text(part) or UNKNOWN for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant_text(node.left), constant_text(node.right)
        if left is not None and right is not None:
            return left + right
    return None


def pairs(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None, ast.AST | None]]:
    """Yield ``(where, English, Chinese)`` for each place that gives a text in two languages.

    These are keywords or keys ``en``/``zh`` (also ``why_en``/``why_zh``), and neighbouring arguments or
    tuples of two texts of which the second is Chinese. One of the two is None where it is missing.
    """
    for node in ast.walk(tree):
        given: dict[str, object] = {}
        row: list[ast.expr] = []
        if isinstance(node, ast.Call):
            given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            row = node.args
        elif isinstance(node, ast.Dict):
            given = {
                key.value: value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            }
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
            row = node.elts
        for english, chinese in paired_keys(given):
            yield node, english, chinese
        for english, chinese in itertools.pairwise(row):
            en, zh = constant_text(english), constant_text(chinese)
            if en and zh and HAS_CJK.search(zh) and not HAS_CJK.search(en):
                yield node, english, chinese


def check_python(source: str, findings: Findings, place: str) -> None:
    """Report what is wrong with the texts of one Python source; ``place`` names it in the findings."""
    tree = ast.parse(source)
    done: set[int] = set()  # of nodes whose texts are checked otherwise, or are no texts
    for where, english, chinese in pairs(tree):
        findings.at(f"{place}: line {where.lineno}")
        done.update(id(part) for side in (english, chinese) if side is not None for part in ast.walk(side))
        if english is None or chinese is None:
            known, missing = ("Chinese", "English") if english is None else ("English", "Chinese")
            findings.add("translation", f"{known} without {missing}")
            continue
        en, zh = constant_text(english), constant_text(chinese)
        if en is not None and zh is not None:
            texts.check_pair(en, zh, findings, braces=True)
        elif zh is not None:
            texts.check_chinese(zh, findings, braces=True)
        elif en is not None:
            texts.check_english(en, findings, braces=True)
    nodes = list(ast.walk(tree))
    done.update(id(node.value) for node in nodes if isinstance(node, ast.Expr))  # documentation
    done.update(id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values)
    for node in nodes:
        if not isinstance(node, ast.Constant | ast.JoinedStr) or id(node) in done:
            continue
        text = constant_text(node)
        if text and HAS_CJK.search(text):
            findings.at(f"{place}: line {node.lineno}")
            if "lang=" in text:
                check_blocks(text, findings, adjacent=False)
            else:
                for line in text.splitlines():
                    if len(HAS_CJK.findall(line)) >= 2:
                        texts.check_chinese(line, findings, braces=True)


def check_toml(source: str, findings: Findings, place: str) -> None:
    """Report what is wrong with the texts of a TOML file, in which each ``en`` needs a ``zh`` beside it."""

    def visit(value: object, path: str) -> None:
        findings.at(f"{place}: {path}")
        if isinstance(value, list):
            for number, item in enumerate(value, 1):
                visit(item, f"{path}[{number}]")
        elif isinstance(value, dict):
            seen: list[object] = []
            for english, chinese in paired_keys(value):
                seen += [english, chinese]
                if isinstance(english, list) and isinstance(chinese, list) and len(english) == len(chinese):
                    for en, zh in zip(english, chinese, strict=True):
                        texts.check_pair(str(en), str(zh), findings, braces=True)
                elif isinstance(english, str) and isinstance(chinese, str):
                    texts.check_pair(english, chinese, findings, braces=True)
                else:
                    findings.add("translation", "en and zh do not correspond")
            for key, item in value.items():
                if not any(item is one for one in seen):
                    visit(item, f"{path}.{key}".lstrip("."))
        elif isinstance(value, str) and HAS_CJK.search(value):
            findings.add("translation", f"Chinese outside en/zh: {texts.short(value)!r}")

    data = tomllib.loads(source)
    visit(data, "")
    check_questions(data, findings.at(place))
    if Path(place).match("lesson_*/texts.toml") and (unknown := set(data) - SECTIONS):
        findings.add("section", f"section {sorted(unknown)} is not known")


def _can_be_answered(asked: Question) -> bool:
    """Return whether a question has a right one of several choices, or a slider that goes up and begins on it."""
    number = asked.number
    if number is None:
        return len(asked.choices) >= 2 and any(choice.right for choice in asked.choices)
    values = number.values()
    start = values[0] if number.start is None else number.start
    goes_up = len(values) > 1 and values == sorted({*values}) and values[0] <= start <= values[-1]
    return goes_up and not asked.choices and (number.linear or not number.step)


def check_questions(texts: dict[str, Any], findings: Findings) -> None:
    """Report each question that nobody can answer."""
    asked = texts.get("question")
    for name, data in asked.items() if isinstance(asked, dict) else ():
        try:
            good, why = _can_be_answered(parsed(name, data)), ""
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            good, why = False, f": {error!r}"
        if not good:
            findings.add("question", f"question {name!r} cannot be answered{why}")
