"""The website as files: complete, in one language a page, without anything from elsewhere. What a browser makes of it
is tested in test_site.py."""

import json
import math
import os
import re
import runpy
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from bs4 import BeautifulSoup
from nbformat import v4

from course_utils import language
from course_utils.figures import key
from tests.browser.conftest import SOME
from tools import links
from tools.editions import chosen
from tools.site import course, practice, verification
from tools.site.build import NOTEBOOKS, build
from tools.site.notebook import markdown, page, plain
from torch_doctor.errors.catalogue import messages

HAN = re.compile("[\u4e00-\u9fff]")


@cache
def soup_of(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def soups(site: Path, pattern: str = "*/*.html") -> dict[str, BeautifulSoup]:
    pages = {path.relative_to(site).as_posix(): soup_of(path) for path in sorted(site.glob(pattern))}
    assert pages
    return pages


def broken_links(site: Path) -> list[str]:
    """Return the links and resources that lead nowhere; an address that begins with "/" breaks below a sub-path."""
    pages, broken = soups(site), []
    anchors = {name: {element["id"] for element in soup.find_all(id=True)} for name, soup in pages.items()}
    for name, soup in pages.items():
        for element in soup.find_all(lambda one: one.get("href") or one.get("src")):
            address = unquote(element.get("href") or element["src"])
            if re.match(r"(https?|data):", address):
                continue
            file, _, anchor = address.partition("#")
            path = (site / name).parent / file if file else site / name
            known = anchors.get(path.resolve().relative_to(site.resolve()).as_posix(), {anchor})
            if address.startswith("/") or not path.exists() or (anchor and anchor not in known):
                broken.append(f"{name}: {address}")
    return broken


def test_every_link_leads_somewhere(site: Path) -> None:
    assert broken_links(site) == []


def test_a_page_is_in_one_language(site: Path) -> None:
    for name, soup in soups(site).items():
        folder = name.partition("/")[0]
        if folder not in language.EDITIONS:
            continue
        assert soup.html["lang"] == course.HTML_LANGUAGES[folder]
        assert not soup.select('main [lang|="en"], main [lang|="zh"]'), name
        if folder == "en":
            names = soup.find("nav", class_="languages").get_text()
            assert not HAN.search(soup.get_text().replace(names, "")), name
        else:
            parts = soup.select("main > p, main > ul > li, article > p, article > h2, .map li")
            prose = [[text for text in one.strings if not text.find_parent("code")] for one in parts]
            texts = [re.sub(r"\$\$.+?\$\$", "", "".join(part), flags=re.S).strip(" ·") for part in prose]
            assert not [text for text in texts if len(text) > 12 and not HAN.search(text)], name
    simplified = "\n".join(soup.get_text() for soup in soups(site, "zh-CN/*.html").values())
    assert "訓練" not in simplified and "训练" in simplified


def test_every_language_has_the_same_anchors(site: Path) -> None:
    """So the switch finds the section that is being read."""
    seen: dict[str, list[list[str]]] = {}
    for name, soup in soups(site).items():
        ids = [one["id"] for one in soup.find_all(id=True)]
        assert len(ids) == len(set(ids)), name
        seen.setdefault(Path(name).name, []).append([one["id"] for one in soup.select("main [id]")])
    assert all(one == other == third for one, other, third in seen.values())


def test_the_search_knows_every_section_and_every_error(site: Path) -> None:
    for folder in language.EDITIONS:
        script = (site / "assets" / f"search_{folder}.js").read_text("utf-8")
        places = json.loads(script.removeprefix("const PLACES = ").rstrip(";\n"))
        addresses = {address for address, *_ in places}
        for name, soup in soups(site, f"{folder}/0*.html").items():
            sections = soup.select("article > h2, article > h3")
            assert sections and {f"{name.partition('/')[2]}#{one['id']}" for one in sections} <= addresses
        assert {f"errors.html#{name}" for name in messages()} <= addresses
        assert all(title and text and "‹" not in text for _, title, _, text in places)


def test_pictures_have_a_size_and_a_text(site: Path) -> None:
    images = [image for soup in soups(site).values() for image in soup.find_all("img")]
    assert images and all(int(image["width"]) and int(image["height"]) and image["alt"] for image in images)


def test_notebooks_and_slides_can_be_downloaded(site: Path) -> None:
    page = soups(site, "en/downloads.html")["en/downloads.html"]
    addresses = {link["href"] for link in page.select("main a")}
    assert "../slides/en/00_start_here.html" in addresses
    assert {"../notebooks/en-student.zip", "../notebooks/en/instructor/05_data_parallel.ipynb"} <= addresses
    assert "../slides/en/05_data_parallel.html" not in addresses, "there are none"
    with zipfile.ZipFile(site / "notebooks" / "en-student.zip") as archive:
        assert {"en-student/00_start_here.ipynb", "en-student/workers/train.py"} <= set(archive.namelist())


def test_every_combination_of_the_practice_page_has_a_picture_in_the_pages_language(site: Path) -> None:
    seen = []
    for folder in language.EDITIONS:
        script = (site / "assets" / f"practice_{folder}.js").read_text("utf-8")
        ((name, found),) = json.loads(script.removeprefix("const PRACTICE = ").rstrip(";\n")).items()
        (soup,) = soups(site, f"{folder}/practice.html").values()
        section = soup.select_one(f'[data-practice="{name}"]')
        assert len(found["shown"]) == 2 * 4 and set(found["shown"]) == set(range(len(found["views"])))
        assert len(found["views"]) >= 6, "one stream or one chunk: the same with any number of buffers"
        choices = [json.loads(one["data-texts"]) for one in section.select("input")]
        assert choices == [["8", "10"], ["1", "2", "3", "4"]]
        assert section.select_one(".view").decode_contents() in found["views"]
        images = [BeautifulSoup(view, "html.parser").img for view in found["views"]]
        assert all((site / "en" / image["src"]).is_file() and image["alt"] for image in images)
        assert bool(HAN.search("".join(found["views"]))) == (folder != "en")
        seen.append({image["src"] for image in images})
    assert seen[0].isdisjoint(seen[1]), "words in the pictures"


def test_every_choice_that_the_practice_page_offers_exists() -> None:
    found = list(practice.practices(name[:2] for name in chosen()))
    assert len(found) == len(practice.offered()) >= 3
    sizes = [math.prod(len(control.options) for control in one.explorer.controls) for one in found]
    assert sum(sizes) < 400, "each takes 0.2 s to draw"
    for one, about in zip(found, practice.offered().values(), strict=True):
        options = {c.name: {key(text) for text, _ in c.options} for c in one.explorer.controls}
        assert all(set(texts) == options[name] for name, texts in about["only"].items())
        (path,) = NOTEBOOKS.glob(f"{one.lesson}_*.ipynb")
        before = re.split(rf"{one.name}\.(?:EXPLORER\.show|explorer\()", path.read_text("utf-8"))[0]
        assert re.findall(r"## (\d\.\d+)", before)[-1] == one.section


def test_what_a_shared_link_shows(site: Path) -> None:
    """A description on each page; an address only where the course's is known."""
    for name, soup in soups(site).items():
        if name.partition("/")[0] in language.EDITIONS:
            said = soup.select('meta[name=description], meta[property="og:description"]')
            (words,) = {one["content"] for one in said}
            assert 10 < len(words) <= 200 and bool(HAN.search(words)) == (not name.startswith("en")), name
            assert (site / "en" / soup.find("link", rel="icon")["href"]).is_file()
            assert bool(soup.find("link", rel="canonical")) == (links.repository() != links.UNKNOWN)


def test_links_to_colab_and_kaggle_need_an_address(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if links.repository() == links.UNKNOWN:
        (soup,) = soups(site, "en/00*.html").values()
        assert not soup.find(class_="actions").find("a", string=re.compile("Colab"))
        assert "colab" not in soups(site, "en/index.html")["en/index.html"].main.get_text().lower()
        (soup,) = soups(site, "zh-TW/downloads.html").values()
        assert "在 Colab 與 Kaggle 上無法執行" in soup.get_text()
    monkeypatch.setenv("COURSE_REPOSITORY", "someone/course")
    build(tmp_path / "site", only=("09",), editions=("zh-CN",))
    (soup,) = soups(tmp_path / "site", "zh-CN/downloads.html").values()
    assert "自动安装课程" in soup.get_text()
    (soup,) = soups(tmp_path / "site", "zh-CN/09*.html").values()
    addresses = {link.get_text(): link["href"] for link in soup.select(".actions a")}
    colab = addresses["在 Colab 打开"]
    assert colab.endswith("/someone/course/blob/editions/zh-CN/student/09_error_clinic.ipynb")
    assert "kaggle.com" in addresses["在 Kaggle 打开"]
    here = "https://someone.github.io/course/zh-CN/09_error_clinic.html"
    assert soup.find("link", rel="canonical")["href"] == here
    assert soup.find("meta", property="og:url")["content"] == here
    (front,) = soups(tmp_path / "site", "zh-CN/index.html").values()
    assert "git clone https://github.com/someone/course" in front.get_text() and colab in str(front)
    assert soup.find("footer").a["href"] == "https://github.com/someone/course"


def test_cheat_sheets_hold_the_summaries(site: Path) -> None:
    for folder, words in (("en", "gets faster lesson by lesson"), ("zh-TW", "一課一課改得更快")):
        (soup,) = soups(site, f"{folder}/cheat_sheets.html").values()
        assert words in soup.get_text() and len(soup.select("section.sheet")) == len(SOME)
        assert not soup.find("strong", string=re.compile("Next|下一"))


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "a.html").write_text(
        '<a href="b.html">b</a><a href="#c">c</a><p id="d"></p><a href="#d">d</a>'
    )
    assert broken_links(tmp_path) == ["en/a.html: b.html", "en/a.html: #c"]


# --- cells --------------------------------------------------------------------------------------------


def test_formulas_need_no_script() -> None:
    made = markdown(r"$\frac{1}{n}$ of `$HOME` and $5 or $6" + "\n\n```bash\necho $PATH $HOME\n```\n")
    assert made.count("<math") == 1 and "<mfrac>" in made
    assert "$HOME</code>" in made and "and $5 or $6" in made and "$PATH" in plain(made)


def test_plain_text_keeps_words_apart_and_whole() -> None:
    assert plain("<p>記憶<strong>體</strong></p><p>頻寬 &lt;1</p>") == "記憶體\n頻寬 <1"


def test_links_between_lessons_lead_to_pages() -> None:
    cell = v4.new_markdown_cell(
        "[a](01_cuda_check.ipynb) [b](01_cuda_check.ipynb#1.2-Does-it-work) [c](file.py) [d](https://e.org)"
    )
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell("# 0 T"), cell])
    made = page(notebook, ["01_cuda_check"])
    addresses = ["01_cuda_check.html", "01_cuda_check.html#s1.2", "https://e.org"]
    assert re.findall('href="([^"]*)"', made.html) == addresses
    assert "c" in made.sections[0].text


def test_outputs_are_shown_as_they_are() -> None:
    outputs = [
        v4.new_output("stream", text="\x1b[31m1 < 2\x1b[0m\n"),
        v4.new_output("display_data", {"text/html": "<b>x</b>", "text/plain": "x"}),
        v4.new_output("execute_result", {"text/markdown": "**y**", "text/plain": "y"}, execution_count=1),
        v4.new_output("error", ename="E", evalue="v", traceback=["\x1b[31mE\x1b[0m: v"]),
    ]
    made = page(v4.new_notebook(cells=[v4.new_code_cell("print(1)", outputs=outputs)])).html
    for part in ("<pre>1 &lt; 2", "<b>x</b>", "<strong>y</strong>", "<pre>E: v</pre>"):
        assert part in made


# --- verification -------------------------------------------------------------------------------------


def test_a_result_counts_only_for_the_claim_as_it_is_now() -> None:
    values = {"verdict": "holds", "value": 12.5, "at_least": 10, "at_most": None}
    run = {"claims": {"a": values, "b": values | {"verdict": "needs"}, "d": values | {"verdict": "model"}}}
    assert verification._result(run, "a", (10, None)) == ("holds", "12.5")
    assert verification._result(run, "a", (20, None)) == ("changed", "")
    assert verification._result(run, "b", (10, None)) == ("", "")
    assert verification._result(run, "c", (10, None)) == ("", "")
    assert verification._result(run, "d", (10, None)) == ("model", "")


def test_every_claim_is_listed_with_its_sentence_and_limit() -> None:
    found = [claim for name in chosen() for claim in verification.claims(NOTEBOOKS / name)]
    assert len(found) > 100 and all(claim.statement for claim in found)
    limits = {claim.id: claim.limit for claim in found}
    assert limits["1.3-loops"] == "≥ 100" and limits["1.8"] == ""
    assert all(len(claim.results) == len(verification.runs()) for claim in found)


def test_the_numbers_agree_with_the_table(site: Path) -> None:
    (soup,) = soups(site, "en/verified.html").values()
    first = soup.select_one("table").select_one("tbody tr")
    totals = [int(cell.get_text()) for cell in first.select("td.count")[1:]]
    assert sum(totals) == len(soup.select("h2 ~ div tbody tr"))
    assert totals[0] == len(soup.select("h2 ~ div tbody tr > td:nth-child(2).verdict-holds"))


# --- publish.yml ---------------------------------------------------------------------------------------


def git(*arguments: str, at: Path) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=at, check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.skipif(sys.platform == "win32", reason="the shell commands are for Linux")
def test_the_editions_are_committed_on_top_of_their_branch_if_they_changed(tmp_path: Path) -> None:
    workflow = (course.ROOT / ".github/workflows/publish.yml").read_text(encoding="utf-8")
    command = yaml.safe_load(workflow)["jobs"]["editions"]["steps"][-1]["run"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "gh").chmod(0o755)
    git("init", "--quiet", "--bare", "someone/course", at=tmp_path)
    branch, commits = tmp_path / "someone/course", []
    for words, commit in (("one", "a"), ("one", "b"), ("two", "c")):
        made = tmp_path / commit / "editions/en/student"
        made.mkdir(parents=True)
        (made / f"{words}.ipynb").write_text(words)
        variables = {
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "GITHUB_SERVER_URL": tmp_path.as_uri(),
        }
        variables |= {"GITHUB_REPOSITORY": "someone/course", "GITHUB_SHA": commit}
        subprocess.run(["bash", "-e", "-c", command], cwd=tmp_path / commit, check=True, env=variables)
        commits.append(git("rev-list", "editions", at=branch))
    assert [len(one) for one in commits] == [1, 1, 2], "nothing new, no commit; and the history goes on"
    files = git("ls-tree", "-r", "--name-only", "editions", at=branch)
    assert files == ["README.md", "en/student/two.ipynb"]


# --- command ------------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_the_whole_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tools.site", "--to", str(tmp_path / "site")])

    runpy.run_module("tools.site", run_name="__main__")
    print(capsys.readouterr().out)
    site = tmp_path / "site"
    assert broken_links(site) == []
    test_a_page_is_in_one_language(site)
    test_every_language_has_the_same_anchors(site)
    test_pictures_have_a_size_and_a_text(site)
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 60e6


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="nothing was removed"):
        build(tmp_path, only=("09",), editions=("en",))
    with pytest.raises(ValueError, match="no lesson 99; there are 00, 01"):
        build(tmp_path / "site", only=("99",))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
