"""Looking through the catalogue: by words of a message, of its explanation, or by a whole pasted message."""

from __future__ import annotations

from functools import cache

from course_utils.clinic.catalogue import CARD, Entry, entries
from course_utils.clinic.matching import diagnose


@cache
def _words(name: str) -> tuple[str, str]:
    """Return what is said of the entry `name`, in lower case: its message, and everything else."""
    entry = entries()[name]
    message = " ".join([name, entry.says, *entry.samples])
    rest = " ".join(
        f"{text.en} {text.zh}" for text in [entry.topic, *(getattr(entry, part) for part in CARD)]
    )
    return message.lower(), rest.lower()


def search(words: str) -> list[Entry]:
    """Return the entries that fit `words`, best first; all of them where there are no words.

    Args:
        words: Some words in either language, each of which an entry must hold, or a whole message or traceback.
    """
    known = entries()
    wanted = words.lower().split()
    if not wanted:
        return list(known.values())
    found = []
    if len(wanted) > 2:
        finding = diagnose(words)
        found = [match.entry for match in (finding.match, *finding.others) if match is not None]
    in_message = [n for n in known if all(word in _words(n)[0] for word in wanted)]
    anywhere = [n for n in known if all(word in _words(n)[0] or word in _words(n)[1] for word in wanted)]
    names = dict.fromkeys([*(entry.name for entry in found), *in_message, *anywhere])
    return [known[name] for name in names]
