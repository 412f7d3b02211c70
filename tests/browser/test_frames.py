"""Outputs as Colab shows them, each on a page of its own: with styles, in one language, pictures in full size."""

import re
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from course_utils import Bilingual, check, claim, figures, front_end, language, lesson, predict

pytestmark = pytest.mark.browser
HAN = re.compile("[一-鿿]")


@pytest.fixture(params=["en", "zh-TW"])
def edition(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A kernel in Colab, in one language."""
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    language.use(request.param)
    lesson.use("01")
    yield request.param
    language.use(None)


def test_each_output_is_styled_and_in_one_language(
    edition: str, chromium: Any, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    registered: list[Any] = []
    events = SimpleNamespace(register=lambda _, function: registered.append(function))
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(events=events))
    front_end._style_every_output.cache_clear()
    front_end.notes("vscode", edition)
    front_end._style_every_output.cache_clear()
    registered[0](None)
    claim("1.8", True)
    check("on_gpu", ...)
    predict("cuda_vs_cuda0")
    figure, axes = figures.new()
    axes.plot([1, 2])
    figures.show(
        figure, caption=Bilingual(en="a line", zh="一條線"), alternative=Bilingual(en="line", zh="線")
    )
    styles, *outputs = shown
    page = chromium.new_page(viewport={"width": 900, "height": 60})  # a frame is as low as its content
    try:
        for output in outputs:
            page.set_content(f"<!doctype html>{styles.data}{output._repr_mimebundle_()['text/html']}")
            text, inside = page.inner_text("body"), page.content()
            assert bool(HAN.search(text)) == (edition != "en"), text
            assert " lang=" not in inside.partition("</style>")[2]
            if page.query_selector("img"):
                assert page.eval_on_selector("img", "picture => picture.clientWidth") > 500
            else:
                border = "card => getComputedStyle(card).borderLeftWidth"
                assert page.eval_on_selector(".course-card", border) == "4px"
    finally:
        page.close()
