"""The rules that every text about a cause keeps, so that it can be read and typed from top to bottom."""

import re
from collections.abc import Iterator
from typing import Any

from torch_doctor.terminal import columns

# Columns: two lines of a terminal for a title and a step, three for a reason, less for what follows a command.
LIMITS = {"": 160, "why_": 250, "check_": 160, "then_": 160, "step": 160}

# A step announces the command below it. These words point to what stands above.
POINTS_BACK = {
    "en": r"(Then|Or|And|Also|Still|Makes|Shows|Prints|Names|Lists|Answers|In PowerShell[;.]|The same)\b",
    "zh": r"(接著|然後|再|或|也可以|還是|會|在 PowerShell 執行[，。])",
}
# What a reader would have to replace before the command works.
TO_REPLACE = re.compile(
    r"\.\.\.|…|<\w+>|(?<![$\w{%:])(NAME|PID|IMAGE|CONTAINER|POD|NUMBER|FOLDER|FILE|VERSION|XXX+)\b"
)
# Commands whose right form depends on the machine: {python} and {pip} have it.
BARE = re.compile(r"(?:^|[;&|(]\s*|\bsudo )(python3?|py|pip3?)\s", re.MULTILINE)
CHANGES = re.compile(
    r"\b(reboot|rmmod|modprobe(?!\.d)|purge|remove|uninstall|install|unset|export|kill|rm|shutdown|restart|stop|usermod|dkms"
    r"|mokutil --(?:import|disable)|setx?|mig -|-pm 1|-c 0|systemctl (?:enable|start|disable))\b"
)
COSTS = re.compile(
    r"\b(reboot|rmmod|purge|autoremove|uninstall|wsl --shutdown|--set-version|docker (?:restart|stop|rm)"
    r"|(?:apt|apt-get|dnf|conda|zypper|pacman) (?:-y |--yes )?remove)\b|\{install(?:_newest|_12_6)?\}"
)
RESTARTS = re.compile(
    r"\b(?:restart|reboot)\b[^.]*\b(?:machine|computer|host|Windows|PC|server)\b", re.IGNORECASE
)
# A command in the middle of a sentence is not copied, and not seen as a step of its own.
IN_A_SENTENCE = re.compile(
    r"`((?:sudo|wsl|apt|dnf|pip|py|python|conda|systemctl|modprobe|\{pip\}|\{python\}) [^`]+|docker \w+ [^`]+)`"
)
# Abbreviations that are names, that menus show, or that need no explanation.
KNOWN = {"AMD", "ASUS", "CPU", "CUDA", "DGX", "GB", "GPU", "GTX", "HGX", "ID", "LXC", "LXD", "MB", "MSI", "NVIDIA", "OK",
         "PC", "RKE2", "RTX", "SGX", "USB", "VPN", "YAML",
         "BAR", "MOK", "NBIO", "VERSION", "VT",  # Resizable BAR, Enroll MOK … stand in menus and outputs
         "CDI", "HMM", "MMIO", "PCI", "PTX"}  # explained where they are used, by one text each  # fmt: skip


def texts(entry: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield kind (a key of :data:`LIMITS`), language and text of everything that `entry` says."""
    for language in ("en", "zh"):
        for key in entry:
            if key in (language, f"why_{language}") or re.fullmatch(rf"check_(\w+_)?{language}", key):
                yield re.match("why_|check_|", key)[0], language, entry[key]
        for step in entry.get("step", []):
            yield "step", language, step[language]
            if f"then_{language}" in step:
                yield "then_", language, step[f"then_{language}"]


def _about_step(step: dict[str, Any]) -> Iterator[str]:
    run = step.get("run", "")
    for language, colon in (("en", ":"), ("zh", "：")):
        words = step[language]
        if run and not words.endswith(colon):
            yield f"a step announces its command and ends with {colon!r}: {words}"
        if run and re.match(POINTS_BACK[language], words):
            yield f"a step with a command begins with a word that points back: {words}"
        if not run and words.endswith(colon):
            yield f"nothing follows this colon: {words}"
        then = step.get(f"then_{language}", "")
        if then.endswith(colon):
            yield f"nothing follows this colon: {then}"
        if then and not run:
            yield f"`then` without a command belongs into the step: {then}"
        for inside in IN_A_SENTENCE.findall(words + then):
            yield f"a command inside of a sentence, instead of a step of its own: {inside}"
    if found := TO_REPLACE.search(run):
        yield f"{found[0]!r} must be replaced by hand: {run}"
    if found := BARE.search(run):
        yield f"use the placeholder instead of {found[1]!r}: {run}"
    restarts = RESTARTS.search(f"{step['en']} {step.get('then_en', '')}")
    if (COSTS.search(run) or restarts) and not step.get("costs"):
        yield f"removes, replaces or restarts something, so `costs = true`: {run or step['en']}"


def broken_rules(entry: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the texts about a cause."""
    fault = entry.get("kind", "fault") == "fault"
    if fault and "why_en" not in entry:
        yield "a fault without a reason (why)"
    if fault and re.search(r"\b(or|either)\b", re.sub("`[^`]*`", "", entry["en"])):
        yield f"one cause, not a choice of several: {entry['en']}"
    if fault and re.search(r"，或|，可能|可能.*也可能", entry["zh"]):
        yield f"one cause, not a choice of several: {entry['zh']}"
    for kind, language, text in texts(entry):
        shown = columns(text.replace("`", ""))
        if shown > LIMITS[kind]:
            yield f"{shown} columns, at most {LIMITS[kind]} ({kind}{language}): {text}"
    for check in [key for key in entry if re.fullmatch(r"check(_\w+)?(?<!_en)(?<!_zh)", key)]:
        command = entry[check]
        if command and f"{check}_en" not in entry and "check_en" not in entry:
            yield f"nobody says how to read what this prints: {command}"
        if found := CHANGES.search(command):
            yield f"a check changes nothing, but {found[0]!r}: {command}"
        if (found := TO_REPLACE.search(command)) or (found := BARE.search(command)):
            yield f"{found[0]!r} is not a command as it is typed here: {command}"
        for language in ("en", "zh"):
            text = entry.get(f"{check}_{language}", "")
            if text.endswith((":", "：")) or re.match(r"In PowerShell:|在 PowerShell 執行：", text):
                yield f"this stands below its command, so it says how to read the output: {text}"
    for step in entry.get("step", []):
        yield from _about_step(step)
    if any(step.get("costs") for step in entry.get("step", [])) and not entry.get("check"):
        yield "a step costs something, so there is a check before it"


def abbreviations(entry: dict[str, Any]) -> set[str]:
    """Return the abbreviations in the English texts of `entry`: words in capital letters, outside of code."""
    words = " ".join(re.sub("`[^`]*`", "", text) for _, language, text in texts(entry) if language == "en")
    return set(re.findall(r"(?<![\w{_/.-])[A-Z][A-Z0-9]*[A-Z][A-Z0-9]*s?(?![\w_/])", words))
