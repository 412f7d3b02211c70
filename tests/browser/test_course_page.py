"""The course on one page is one page of A4; the self-test's links lead to the sections."""

import re
from typing import Any

import pytest
from sample import sample

from tests.browser.promises import small_notebook, wait_until
from tools import labpage

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("language", sample(["en", "zh"], ["zh"]))
def test_the_page_prints_on_one_sheet_with_room_to_spare(
    language: str, chromium: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lesson_08.one_page import printable

    monkeypatch.chdir(labpage.REPOSITORY / "notebooks")
    page = chromium.new_page()
    page.set_content(printable(language))
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    assert b"/MediaBox [0 0 594" in printed or b"/MediaBox [0 0 595" in printed, "A4 is 595 points wide"
    page.emulate_media(media="print")
    page.set_viewport_size({"width": round(192 / 25.4 * 96), "height": 1000})  # what the margins leave
    height = page.evaluate("() => document.body.getBoundingClientRect().height")
    assert 0.6 < height / (279 / 25.4 * 96) < 0.93, "other fonts are larger"
    cut = "() => [...document.querySelectorAll('code')].filter(e => e.scrollWidth > e.parentElement.clientWidth + 1).length"
    assert page.evaluate(cut) == 0
    page.close()


@pytest.mark.nightly
def test_a_link_of_the_self_test_leads_to_the_section(lab: labpage.Lab, chromium: Any) -> None:
    setup = 'from course_utils import setup\nfrom lesson_08.self_test import self_test\n\nsetup("08")'
    small_notebook(lab.notebooks / "self_test.ipynb", setup, "self_test()")
    with lab.open_notebook(chromium, "self_test.ipynb") as notebook:
        assert notebook.run_all()
        notebook.switch_language("en")
        page = notebook.page
        choice = page.locator(".course-only-en button:visible", has_text="Hardly anything")
        choice.focus()
        page.keyboard.press("Enter")
        link = page.locator("a:visible", has_text="As a beginner writes it")
        link.wait_for()
        page.locator(".course-only-en button:visible", has_text="Next").focus()
        page.keyboard.press("Space")
        page.locator("p:visible", has_text="timed five times").wait_for()
        page.locator(".course-only-en button:visible", has_text="Back").click()
        link.wait_for()
        assert notebook.page_errors == [] and notebook.console_errors == []
        link.click()  # opens the lesson
        heading = page.locator("h2:visible", has_text="0.2 As a beginner writes it")
        heading.wait_for()
        notebook.bring_to_front("self_test.ipynb")
        link.click()  # JupyterLab goes to a cell of an open notebook only
        wait_until(lambda: 0 < heading.bounding_box()["y"] < 500, "the heading to be scrolled to")
