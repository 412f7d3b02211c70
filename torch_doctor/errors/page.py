"""Write the whole catalogue as one HTML page without other files, in both languages, with a search."""

from __future__ import annotations

import html
from collections.abc import Mapping

from bilingual import Bilingual
from torch_doctor.errors.card import entry_html
from torch_doctor.errors.catalogue import Entry, entries

_TITLE = Bilingual("Error clinic", "錯誤門診")
_INTRO = Bilingual(
    "What PyTorch says on GPUs and in several processes, and what to do about it. Search for words of your message.",
    "PyTorch 用到 GPU 或多個行程時會印出的訊息，以及該怎麼辦。輸入訊息裡的字，就能搜尋。",
)
_SAMPLES = Bilingual("It is printed like this:", "實際印出來的樣子：")
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, "Noto Sans TC", "PingFang TC", "Microsoft JhengHei", sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
article { border: 1px solid #8886; border-left: 4px solid #2f6db3; border-radius: 4px; padding: 0.4em 1em; margin: 1em 0; }
h1 { margin-bottom: 0; } h2 { margin-top: 2em; } h3 { margin: 0.3em 0; font-size: 1em; overflow-wrap: anywhere; }
p { margin: 0.35em 0; } pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85em; }
nav, .course-small { font-size: 0.92em; opacity: 0.85; } input[type=search] { width: 100%; font: inherit; padding: 0.3em; }
label { margin-right: 1em; }
body:has(#only-en:checked) [lang|=zh], body:has(#only-zh:checked) [lang=en], article[hidden] { display: none; }
span[lang=en] + span[lang|=zh] { margin-left: 0.5em; }
body:has(#only-zh:checked) span[lang|=zh] { margin-left: 0; }
@media print { .tools { display: none; } article { break-inside: avoid; } }
"""
# The search hides entries that do not match. Without JavaScript the page shows all of them.
_SCRIPT = """
const field = document.querySelector("input[type=search]");
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const article of document.querySelectorAll("article"))
    article.hidden = !words.every(word => article.textContent.toLowerCase().includes(word));
});
"""


def _article(entry: Entry, lessons: Mapping[str, str]) -> str:
    samples = html.escape("\n\n".join(entry.samples))
    return (
        f'<article id="{entry.name}"><h3><a href="#{entry.name}">#</a> <code>{html.escape(entry.message)}</code></h3>'
        f"{entry_html(entry, link_similar=True, lesson_link=lessons.get(entry.lesson))}"
        f"<details><summary>{_SAMPLES.html()}</summary><pre>{samples}</pre></details></article>"
    )


def page(lessons: Mapping[str, str] | None = None) -> str:
    """Return the catalogue as an HTML page.

    Args:
        lessons: Address of each lesson by its number; other lessons are left out.
    """
    topics: dict[Bilingual, list[Entry]] = {}
    for entry in entries().values():
        topics.setdefault(entry.topic, []).append(entry)
    parts, contents = [], []
    for number, (topic, members) in enumerate(topics.items(), start=1):
        contents.append(f'<a href="#topic-{number}">{topic.html()}</a>')
        parts.append(f'<h2 id="topic-{number}">{topic.html()}</h2>')
        parts += [_article(entry, lessons or {}) for entry in members]
    switch = "".join(
        f'<label><input type="radio" name="language" id="only-{key}"{" checked" if key == "both" else ""}>{text}</label>'
        for key, text in (("en", "English"), ("zh", "中文"), ("both", "English + 中文"))
    )
    return (
        f'<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{_TITLE}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{_TITLE.html()}</h1>\n{_INTRO.block()}\n"
        f'<div class="tools"><p>{switch}</p><input type="search" aria-label="search · 搜尋"></div>\n'
        f"<nav>{' · '.join(contents)}</nav>\n"
        + "\n".join(parts)
        + f"\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )
