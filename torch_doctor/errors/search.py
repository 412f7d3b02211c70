"""Search the catalogue: by words of a message or of its explanation, or by a whole pasted message."""

from __future__ import annotations

from functools import cache

from torch_doctor.errors.catalogue import CARD, Entry, messages
from torch_doctor.errors.matching import find_cause


@cache
def _words(name: str) -> tuple[str, str]:
    """Return two texts of the entry `name` in lower case: its messages, and its card."""
    entry = messages()[name]
    printed = " ".join([name, entry.message, *entry.samples])
    texts = [entry.topic, *(getattr(entry, part) for part in CARD)]
    return printed.lower(), " ".join(f"{text.en} {text.zh}" for text in texts).lower()


def search(words: str) -> list[Entry]:
    """Return the entries that match `words`, best first; all of them if there are no words.

    Forms of errors are not among them: without an error, their texts have nothing in their placeholders.

    Args:
        words: Some words in either language, all of which an entry must contain, or a whole message or traceback.
    """
    known = messages()
    wanted = words.lower().split()
    if not wanted:
        return list(known.values())
    finding = find_cause(words) if len(wanted) > 2 else None
    matches = (finding.match, *finding.others) if finding else ()
    found = [match.entry.name for match in matches if match]
    phrase = [n for n in known if words.lower().strip() in _words(n)[0]]
    in_message = [n for n in known if all(word in _words(n)[0] for word in wanted)]
    anywhere = [n for n in known if all(word in _words(n)[0] or word in _words(n)[1] for word in wanted)]
    return [known[name] for name in dict.fromkeys([*found, *phrase, *in_message, *anywhere]) if name in known]
