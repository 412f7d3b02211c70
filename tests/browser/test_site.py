"""The website in a browser: accessible, readable on a phone and on paper, searchable, without a server."""

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.site.build import build

axe_runner = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = pytest.mark.browser

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
PHONE, LAPTOP, A4 = (360, 740), (1280, 800), (688, 970)  # A4 without its margins, at 96 pixels per inch


@pytest.fixture(scope="module")
def host(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site.parents[1]))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/some/course"
        server.shutdown()


def opened(chromium: Any, **options: Any) -> Any:
    """Return a page of a fresh profile, with a list of what went wrong and of the addresses it loaded."""
    options = {"color_scheme": "light", "locale": "en-US"} | options
    page = chromium.new_context(**options).new_page()
    resized(page, LAPTOP)
    page.problems, page.loaded = [], []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda said: page.problems.append(said.text) if said.type == "error" else None)
    page.on("response", lambda answer: page.problems.append(answer.url) if answer.status >= 400 else None)
    page.on("request", lambda request: page.loaded.append(request.url))
    return page


@pytest.fixture(scope="module")
def shared(chromium: Any) -> Iterator[Any]:
    page = opened(chromium)
    yield page
    page.context.close()


@pytest.fixture
def page(shared: Any) -> Any:
    """Return a page in a large window, on a light screen. Its profile is that of other tests: a new one costs half a second."""
    resized(shared, LAPTOP)
    shared.emulate_media(media="screen", color_scheme="light")
    shared.problems.clear(), shared.loaded.clear()
    return shared


def resized(page: Any, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})


def violations(page: Any) -> list[str]:
    """Return what axe finds against WCAG 2.2, levels A and AA. (Its preloading fetches, which a folder forbids.)"""
    options = {"preload": False, "resultTypes": ["violations"], "runOnly": {"type": "tag", "values": WCAG}}
    found = axe_runner.Axe().run(page, options=options).response["violations"]
    return [f"{one['id']} ({len(one['nodes'])}): {one['nodes'][0]['html'][:200]}" for one in found]


def too_wide(page: Any) -> list[str]:
    """Return the elements that make the page scroll sideways."""
    return page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] :
             [...document.querySelectorAll("body *")].filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest("pre, .course-scroll"))
             .slice(0, 5).map(one => one.outerHTML.slice(0, 200))"""
    )


def examine(page: Any, paths: list[Path], size: tuple[int, int], scheme: str) -> list[str]:
    resized(page, size)
    page.emulate_media(color_scheme=scheme)
    found = []
    for path in paths:
        page.goto(path.as_uri() + ("?q=gpu" if path.stem == "search" else ""))
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        problems = [*violations(page), *too_wide(page), *page.problems]
        problems += [address for address in page.loaded if not address.startswith(("file:", "data:"))]
        found += [f"{path.parent.name}/{path.name}, {size[0]}, {scheme}: {problem}" for problem in problems]
        page.problems.clear(), page.loaded.clear()
    return found


def test_a_page_is_accessible_and_not_too_wide(page: Any, site: Path) -> None:
    """Of a lesson, the next test finds what it has planted and nothing else."""
    assert examine(page, [site / "zh-TW" / "practice.html"], PHONE, "dark") == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("language", "size", "scheme"),
    [("en", LAPTOP, "dark"), ("en", PHONE, "light"), ("zh-TW", PHONE, "dark"), ("zh-CN", LAPTOP, "light")],
)
def test_all_pages_are_accessible_and_not_too_wide(
    page: Any, whole: Path, language: str, size: tuple[int, int], scheme: str
) -> None:
    paths = sorted((whole / language).glob("*.html"))
    assert len(paths) >= 16 and examine(page, paths, size, scheme) == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "site"
    build(folder)
    return folder


def test_what_axe_must_find_is_found(page: Any, site: Path) -> None:
    resized(page, PHONE)
    page.goto((site / "en" / "00_start_here.html").as_uri())
    page.add_style_tag(content="main p { color: #bbb } main h2 { width: 500px }")
    page.evaluate("document.querySelector('main img').removeAttribute('alt')")
    assert {one.partition(" ")[0] for one in violations(page)} == {"color-contrast", "image-alt"}
    assert any("<h2" in one for one in too_wide(page))


def test_the_language_is_remembered_and_keeps_page_and_section(chromium: Any, site: Path, host: str) -> None:
    page = opened(chromium, locale="zh-CN")
    page.goto((site / "index.html").as_uri())
    page.wait_for_url("**/zh-CN/index.html")
    page.context.close()
    for address in (host, site.as_uri()):
        page = opened(chromium)  # which asks for English
        page.goto(f"{address}/index.html")
        page.wait_for_url("**/en/index.html")
        page.goto(f"{address}/en/00_start_here.html#s0.4")
        box = page.get_by_role("link", name="繁體中文").bounding_box()
        page.mouse.click(box["x"] + 5, box["y"] + 5)  # unlike click(), does not scroll
        page.wait_for_url("**/zh-TW/00_start_here.html#s0.4")
        assert page.evaluate("document.documentElement.lang") == "zh-Hant-TW"
        assert page.locator("nav.languages [aria-current]").inner_text() == "繁體中文"
        page.goto(f"{address}/index.html")
        page.wait_for_url("**/zh-TW/index.html")
        assert not page.problems
        page.context.close()


def test_light_and_dark_are_remembered(chromium: Any, host: str) -> None:
    page = opened(chromium)
    background = "getComputedStyle(document.body).backgroundColor"
    page.goto(f"{host}/en/index.html")
    light = page.evaluate(background)
    page.get_by_role("button", name="Dark").click()
    dark = page.evaluate(background)
    page.goto(f"{host}/zh-CN/00_start_here.html")
    assert light != dark == page.evaluate(background)
    assert page.get_by_role("button", name="深色").get_attribute("aria-pressed") == "true"
    page.context.close()


def results(page: Any, address: str, query: str) -> list[str]:
    page.goto(f"{address}/index.html")
    page.locator("header input[name=q]").fill(query)
    page.locator("header input[name=q]").press("Enter")
    page.wait_for_url("**/search.html?q=*")
    return page.locator("#results a").all_inner_texts()


@pytest.mark.parametrize(
    ("language", "query", "first"),
    [
        ("en", "scoreboard", "0.2 As a beginner writes it"),
        ("en", "no_such_word_anywhere", None),
        ("zh-TW", "額外負擔太大", "0.2 初學者的寫法"),  # stands nowhere, its parts do
    ],
)
def test_the_search_finds_words_and_chinese_without_a_server(
    page: Any, site: Path, host: str, language: str, query: str, first: str | None
) -> None:
    found = results(page, f"{host if query == 'scoreboard' else site.as_uri()}/{language}", query)
    assert any(first in one for one in found[:3]) if first else not found, found[:5]
    assert page.locator("#status").inner_text() and bool(page.locator("#results mark").count()) == bool(first)
    if first:
        page.locator("#results a").first.click()
        page.wait_for_url(re.compile(r"/\w+\.html(#.*)?$"))
    assert not page.problems


def test_everything_can_be_read_without_a_script(chromium: Any, site: Path) -> None:
    page = opened(chromium, java_script_enabled=False)
    page.goto((site / "index.html").as_uri())
    page.get_by_role("link", name="English").click()
    page.locator("main .map a").first.click()
    for part in ("main figure img", ".contents a"):
        assert page.locator(part).first.is_visible()
    page.context.close()


def test_the_keyboard_reaches_the_text_and_what_scrolls(page: Any, site: Path) -> None:
    resized(page, PHONE)
    page.goto((site / "en" / "00_start_here.html").as_uri())
    assert page.evaluate("document.querySelector('header').offsetHeight") < 100, "a phone keeps its screen"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("main :is(pre, .course-scroll)")]
             .map(box => `${box.scrollWidth > box.clientWidth} ${box.tabIndex === 0}`)"""
    )
    assert {*boxes} == {"true true", "false false"}, "what scrolls is reached, and nothing else"


def test_paper_holds_the_text_alone(page: Any, site: Path) -> None:
    resized(page, A4)
    page.goto((site / "zh-TW" / "00_start_here.html").as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in ("header", ".contents", ".actions", ".steps"):
        assert not page.locator(hidden).first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    cut = page.evaluate(
        "() => [...document.querySelectorAll('main pre')].filter(one => one.scrollWidth > one.clientWidth).length"
    )
    assert too_wide(page) == [] and cut == 0


def test_a_slider_of_the_practice_page_moves_the_picture(page: Any, site: Path) -> None:
    resized(page, PHONE)
    page.goto((site / "zh-TW" / "practice.html").as_uri())
    slider, view = page.locator(".practice input").nth(1), page.locator(".practice .view")
    before, read = view.inner_html(), page.locator(".practice output").nth(1)
    assert before and slider.get_attribute("aria-valuetext") == "3"
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == read.inner_text() == "2"
    assert view.inner_html() != before
    assert view.locator("img").evaluate("one => one.decode().then(() => one.width)")
    assert not page.problems


def test_code_is_copied_and_the_list_of_sections_follows(page: Any, site: Path) -> None:
    page.goto((site / "en" / "00_start_here.html").as_uri())
    assert not page.get_by_role("link", name="Back to top").is_visible()
    code = page.locator(".copied").first
    code.hover()
    code.get_by_role("button", name="Copy", exact=True).click()
    code.get_by_role("button", name="Copied").wait_for()
    page.locator("header input[name=q]").focus()
    page.keyboard.press("Control+V")
    pasted = page.locator("header input[name=q]").input_value()
    assert pasted and pasted in code.locator("pre").inner_text().replace("\n", " ")
    page.locator("h2#s0\\.4").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('s0.4').scrollIntoView()")
    page.wait_for_function("document.querySelector('.contents [aria-current=location]')?.hash === '#s0.4'")
    page.get_by_role("link", name="Back to top").click()
    page.wait_for_function("scrollY === 0")


def test_a_snippet_begins_at_a_word(page: Any, site: Path) -> None:
    results(page, f"{site.as_uri()}/en", "stream")
    texts = page.evaluate("PLACES.map(place => place[3].replaceAll('\\n', ' '))")
    shown = [line for line in page.locator("#results p").all_inner_texts() if line.startswith("… ")]
    begins = [re.compile(rf"(?<![\w]){re.escape(line[2:42].strip())}") for line in shown]
    assert len(shown) > 5 and all(any(one.search(text) for text in texts) for one in begins)
