"""The slides in a browser: nothing is cut off, nothing is small, nothing comes from elsewhere, no answer is given away."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from sample import sample

from tools.editions import lesson
from tools.minutes import IN_CLASS
from tools.site.course import HTML_LANGUAGES
from tools.slides import Slide, _told, deck, marks, slides

ROOT = Path(__file__).parents[2]
LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
SMALLEST = 20  # px at 1024 × 768
EVERY = sample(
    product(LESSONS, ("en", "zh-TW", "zh-CN")), ["00-zh-CN"], lambda case: f"{case[0][:2]}-{case[1]}"
)

# What is wrong with the slide that is shown: parts that are cut off, and text that is too small.
_WRONG = """smallest => {
  const slide = Reveal.getCurrentSlide(), wrong = [];
  const hidden = e => e.closest('aside.notes, math') || e.closest('details:not([open]) > :not(summary)');
  for (const e of slide.querySelectorAll('*')) {
    const box = e.getBoundingClientRect();
    if (!hidden(e) && box.width && (box.right > innerWidth + 1 || box.bottom > innerHeight + 1))
      wrong.push(`cut off: ${e.tagName}.${e.className}`);
  }
  const texts = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || hidden(e) || !e.checkVisibility()) continue;
    const zoom = e.closest('[data-shrunk]')?.dataset.shrunk ?? 1;
    if (parseFloat(getComputedStyle(e).fontSize) * zoom < smallest)
      wrong.push(`small: ${texts.currentNode.data.trim().slice(0, 30)}`);
  }
  return wrong;
}"""
_TEXT = """() => [...document.querySelectorAll('.slides > section > section')].map(slide => {
  const copy = slide.cloneNode(true);
  copy.querySelectorAll('aside.notes, [data-repeated]').forEach(part => part.remove());
  return copy.textContent;
}).join('')"""


def words(text: str) -> str:
    """Return `text` without white space, which layout may change."""
    return re.sub(r"\s+", "", text)


@pytest.mark.browser
@pytest.mark.parametrize(("name", "language"), EVERY)
def test_every_slide_is_whole_and_large(chromium: Any, tmp_path: Path, name: str, language: str) -> None:
    page_html = deck(lesson(name, language, "instructor", outputs=True), language)
    assert f'<html lang="{HTML_LANGUAGES[language]}">' in page_html
    (tmp_path / "deck.html").write_text(page_html, encoding="utf-8")
    page = chromium.new_page(viewport={"width": 1024, "height": 768})
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        page.set_content(re.sub(r"<script>.*?</script>", "", page_html, flags=re.S))
        before = words(page.evaluate(_TEXT))
        asked.clear()
        page.goto((tmp_path / "deck.html").as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        assert words(page.evaluate(_TEXT)) == before, "a text is lost when slides are divided"
        found, seen = {}, 0
        while True:
            seen += 1
            if wrong := page.evaluate(_WRONG, SMALLEST):
                found[page.evaluate("Reveal.getCurrentSlide().innerText").strip()[:40]] = wrong[:3]
            if page.evaluate("Reveal.isLastSlide()"):
                break
            page.keyboard.press("Space")
        assert not found
        assert seen == page.evaluate("Reveal.getTotalSlides()") > 8
        assert seen <= in_class(name), "a slide a minute at most"
        named = "section => section.querySelectorAll(':scope > :is(h1, h2, .of)').length === 1 || !section.dataset.of"
        assert page.evaluate(f"[...document.querySelectorAll('.slides > section > section')].every({named})")
        noted = "section => section.querySelectorAll('aside.notes').length === 1"
        assert page.evaluate(f"[...document.querySelectorAll('.slides > section > section')].every({noted})")
    finally:
        page.close()
    assert not errors
    assert [address for address in asked if not address.startswith(("data:", "blob:"))] == asked[:1]


@pytest.fixture(scope="module")
def talk() -> list[Slide]:
    return slides(lesson("01_cuda_check.ipynb", "en", "instructor", outputs=True), marks("01"), "en")


def test_a_question_stands_alone_and_its_answer_follows(talk: list[Slide]) -> None:
    asking = [i for i, slide in enumerate(talk) if "course-question" in slide.body]
    assert len(asking) >= 9
    for i in asking:
        assert not re.search("<details|<pre|course-claim|<img", talk[i].body)
        if not talk[i + 1].first and "<h3" not in talk[i + 1].body:
            assert 'class="answer"' in talk[i + 1].body
    assert "✓" not in "".join(slide.body for slide in talk) and "✓" in "".join(slide.notes for slide in talk)


def test_a_slide_shows_one_thing_and_the_speaker_has_the_prose(talk: list[Slide]) -> None:
    for slide in talk:
        soup = BeautifulSoup(slide.body, "html.parser")
        assert len(soup.select("pre.code, img")) <= 1 or "<li>" in slide.body, slide.section
        assert sum(len(part.get_text()) for part in soup.find_all("p", recursive=False)) < 520, slide.body
    below_its_picture = ["<img" in slide.body and "course-claim" in slide.body for slide in talk]
    assert any(below_its_picture), "a verdict"
    notes = BeautifulSoup("".join(slide.notes for slide in talk), "html.parser").get_text()
    assert "Say" in notes and "Where students stumble" in notes
    assert "Two GPUs are two devices" in notes, "prose that is on no slide"


def test_an_exercise_comes_with_its_stub_and_without_its_solution(talk: list[Slide]) -> None:
    exercises = [slide.body for slide in talk if "<h3>Exercise" in slide.body]
    assert len(exercises) >= 4
    for body in exercises:
        code = BeautifulSoup(body, "html.parser").select_one("pre.code").get_text()
        assert re.search(r"^def \w+\(.*\n    \.\.\.", code) and "check(" in code
    assert "Solution" not in "".join(slide.body for slide in talk)


def test_a_listing_with_empty_lines_stays_whole() -> None:
    listing = "```python\na = 1\n\nb = 2\n```"
    assert _told(f"A sentence.\n\n{listing}").endswith(listing)


@pytest.mark.parametrize("name", sample(LESSONS, ["01_cuda_check.ipynb", "07_ddp_in_practice.ipynb"]))
def test_only_the_first_slide_has_the_title(name: str) -> None:
    first, *others = slides(lesson(name, "en", "instructor", outputs=True), marks(name[:2]), "en")
    assert "<h1" in first.body and not [s.section for s in others if "<h1" in s.body]


def in_class(name: str) -> float:
    """Return the minutes of a lesson in a class, from those that it states."""
    stated = nbformat.read(ROOT / "notebooks" / name, 4).metadata.course.minutes
    return stated.reading + IN_CLASS * stated.exercises


@pytest.mark.parametrize("name", LESSONS)
def test_every_mark_is_a_cell_of_its_lesson(name: str) -> None:
    """And no more are marked than the lesson has minutes."""
    notebook = nbformat.read(ROOT / "notebooks" / name, 4)
    shown, *others = (marks(name[:2], what) for what in ("show", "silent", "whole", "below"))
    assert shown and shown.union(*others) <= {cell.id for cell in notebook.cells}
    assert shown.isdisjoint(others[2]), "a verdict is shown with its code, or without it"
    headings = sum(bool(re.match("##? ", cell.source)) for cell in notebook.cells)
    assert len(shown) + headings <= in_class(name)
