"""Write the website into a folder."""

import datetime
import json
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from course_utils import language as languages
from course_utils import recordings
from tools import links
from tools.editions import AUDIENCES, chosen
from tools.editions import lesson as edition
from tools.evidence import claims_of_today, counts, device_name
from tools.notebook_file import NOTEBOOKS, ROOT, canonical
from tools.site import course, practice, verification
from tools.site.course import TEXTS, Lesson
from tools.site.notebook import pictures_out, plain
from tools.written import workers
from torch_doctor.errors.card import entry_html
from torch_doctor.errors.catalogue import messages

HERE = Path(__file__).parent
PAGES = "https://{}.github.io/{}"  # where GitHub puts a repository's website
LOOK_UP = ("practice", "cheat_sheets", "errors", "verified", "downloads")
LONGEST = 155  # characters of a description, for search engines and shared links


def build(
    to: Path,
    *,
    only: Iterable[str] = (),
    editions: Iterable[str] = languages.EDITIONS,
    slides: Path | None = None,
) -> None:
    """Write the website.

    Args:
        to: The folder; what an earlier call wrote there is removed.
        only: Numbers of the lessons; none given: all.
        editions: The languages.
        slides: A folder with slides, ``<language>/NN_name.html``, which are copied and linked.

    Raises:
        FileExistsError: The folder holds something else than the website.
    """
    files = [NOTEBOOKS / name for name in chosen(only)]
    if to.exists():
        if any(to.iterdir()) and not (to / "assets" / "site.css").exists():
            raise FileExistsError(
                f"{to} holds something else than a website of the course; nothing was removed."
            )
        shutil.rmtree(to)
    shutil.copytree(HERE / "assets", to / "assets")
    shutil.copy(ROOT / "course_utils" / "style.css", to / "assets" / "cards.css")
    (to / "images").mkdir()
    names = {name: course.LANGUAGE_NAMES[name] for name in editions}
    try:
        for language in names:
            languages.use(language)
            _Writer(to, language, names, files, slides).write()
    finally:
        languages.use(None)
    about = {"course": TEXTS["course"].en, "description": TEXTS["lead"].en}
    root = _environment().get_template("root.html.j2")
    _put(to / "index.html", root.render(languages=names, html_languages=course.HTML_LANGUAGES, **about))


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _script(name: str, value: Any) -> str:
    """Return data as a script, which a page can also load from a folder."""
    return f"const {name} = {json.dumps(value, ensure_ascii=False, separators=(',', ':'))};\n"


def _shortened(text: str) -> str:
    """Return the first sentence or words of a text."""
    line = text.strip().partition("\n")[0]
    if len(line) <= LONGEST:
        return line
    return line[:LONGEST].rpartition(" " if line.isascii() else "，")[0] + " …"


def _environment() -> Environment:
    loader = FileSystemLoader(HERE / "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)


def _zip(path: Path, notebooks: dict[str, str]) -> None:
    """Pack notebooks with the scripts that lessons launch; the same files give the same bytes."""
    files = {name.as_posix(): (NOTEBOOKS / name).read_bytes() for name in workers(NOTEBOOKS)}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**notebooks, **files}.items():
            archive.writestr(zipfile.ZipInfo(f"{path.stem}/{name}"), content, zipfile.ZIP_DEFLATED)


class _Writer:
    """Writes the pages of one language."""

    def __init__(
        self, to: Path, language: str, languages: dict[str, str], files: list[Path], slides: Path | None
    ) -> None:
        self.to, self.language, self.files = to, language, files
        self.names = [path.stem for path in files]
        self.lessons = [course.lesson(path, language, self.names) for path in files]
        self.places: list[tuple[str, str, str, str]] = []  # for the search: address, heading, lesson, text
        self.runs = verification.runs()
        self.practices = [
            self._practice(one) for one in practice.practices(one.number for one in self.lessons)
        ]
        self.look_up = [name for name in LOOK_UP if self.practices or name != "practice"]
        known = None if links.repository() == links.UNKNOWN else links.repository()
        cover = self.practices[0]["first"] if self.practices else ""
        self.templates = _environment()
        self.templates.globals |= {
            "t": {name: Markup(text.html()) for name, text in TEXTS.items()},
            "say": lambda name, **values: Markup(TEXTS[name].format(**values).html()),
            "language": language,
            "languages": languages,
            "html_languages": course.HTML_LANGUAGES,
            "lessons": self.lessons,
            "look_up": self.look_up,
            "slides": self._copy_slides(slides),
            "links": self._links() if known else {},
            "repository": known,
            "address": PAGES.format(*known.split("/")) if known else "",
            "practices": self.practices,
            "names": {one.number: one.name for one in self.lessons},
            "cover_html": cover,
            "cover": cover.partition("../images/")[2].partition('"')[0],
            "verified": {name: self._verified(name) for name in self.names},
            "titles": {
                name: str(TEXTS["course" if name == "index" else name]) for name in ("index", *LOOK_UP)
            }
            | {one.name: one.full_title for one in self.lessons},
            "date": datetime.date.today().isoformat(),
        }

    def write(self) -> None:
        """Write everything."""
        order = ["index", *self.names, *self.look_up]
        for one, before, after in zip(self.lessons, order, order[2:], strict=False):
            self._lesson(one, before, after)
        self._page("index", introduction=Markup(course.introduction(self.language)), first=self.names[0])
        self._page("cheat_sheets")
        self._errors()
        claims = {path.stem: verification.claims(path) for path in self.files}
        today = claims_of_today(self.files)
        totals = [counts(run, today) for run in self.runs]
        self._page("verified", runs=self.runs, run_name=device_name, claims=claims, totals=totals)
        self._page("downloads", archives=self._downloads())
        self._page("search")
        _put(self.to / "assets" / f"search_{self.language}.js", _script("PLACES", self.places))
        if self.practices:
            self._page("practice")
            views = {one["name"]: {"shown": one["shown"], "views": one["views"]} for one in self.practices}
            _put(self.to / "assets" / f"practice_{self.language}.js", _script("PRACTICE", views))

    def _page(self, name: str, template: str = "", title: str = "", **values: Any) -> None:
        page = self.templates.get_template(f"{template or name}.html.j2")
        values.setdefault("description", str(TEXTS.get(f"{name}_intro", TEXTS["lead"])))
        title = title or str(TEXTS["course" if name == "index" else name])
        _put(self.to / self.language / f"{name}.html", page.render(page=name, title=title, **values))

    def _practice(self, one: practice.Practice) -> dict[str, Any]:
        """Return what the page says of an explorer, its pictures written into ``images``."""
        shown, found = practice.drawn(one, self.language)
        views = []
        for markup in found:
            made, pictures = pictures_out(markup)
            self._images(pictures)
            views.append(made)
        controls, place = one.controls(), 0
        for control in controls:
            place = place * len(control["texts"]) + control["start"]
        about = {"name": one.name, "lesson": one.lesson, "section": one.section, "controls": controls}
        title = one.explorer.title.html()
        return about | {"title": title, "shown": shown, "views": views, "first": views[shown[place]]}

    def _images(self, pictures: dict[str, bytes]) -> None:
        for name, content in pictures.items():
            (self.to / "images" / name).write_bytes(content)

    def _lesson(self, one: Lesson, before: str, after: str) -> None:
        self._images(one.page.pictures)
        sections = one.page.sections
        for section in sections:
            address = f"{one.name}.html#{section.id}" if section.id else f"{one.name}.html"
            where = "" if section.level == 1 else sections[0].title
            self.places.append((address, section.title, where, section.text))
        heading, end, rest = one.page.html.partition("</h1>")
        parts = {"heading": heading + end, "rest": rest, "before": before, "after": after}
        description = _shortened(sections[0].text)
        self._page(one.name, "lesson", one.full_title, lesson=one, description=description, **parts)

    def _errors(self) -> None:
        topics: dict[str, list[tuple[str, str, Markup, str]]] = {}
        lessons = {one.number: f"{one.name}.html" for one in self.lessons}
        for name, entry in messages().items():
            card = entry_html(entry, link_similar=True, lesson_link=lessons.get(entry.lesson))
            samples = "\n\n".join(entry.samples)
            topics.setdefault(str(entry.topic), []).append((name, entry.message, Markup(card), samples))
            words = f"{plain(card)}\n{samples}"
            self.places.append((f"errors.html#{name}", entry.message, str(TEXTS["errors"]), words))
        self._page("errors", topics=topics, count=len(messages()))

    def _verified(self, name: str) -> dict[str, Any] | None:
        """Return the newest run's date and name, and its counts for a lesson; None where nothing is recorded."""
        if not self.runs or not (claims := claims_of_today([NOTEBOOKS / f"{name}.ipynb"])):
            return None
        newest = self.runs[0]
        numbers = counts(newest, claims)
        measured = sum(numbers[verdict] for verdict in recordings.MEASURED)
        found = {"holds": numbers["holds"], "measured": measured, "needs": numbers["other"]}
        return found | {"date": newest["date"], "machine": device_name(newest)}

    def _copy_slides(self, slides: Path | None) -> set[str]:
        if not slides or not (slides / self.language).is_dir():
            return set()
        copied = shutil.copytree(slides / self.language, self.to / "slides" / self.language)
        return {path.stem for path in copied.glob("*.html")}

    def _links(self) -> dict[str, dict[str, str]]:
        """Return where a lesson can be opened, by lesson."""
        addresses = {path.stem: links.opened(path.name, self.language) for path in self.files}
        return {name: {"Colab": one["colab"], "Kaggle": one["kaggle"]} for name, one in addresses.items()}

    def _downloads(self) -> dict[str, tuple[str, int]]:
        """Write the notebooks of both audiences; return the address and the size in kB of each audience's archive."""
        archives = {}
        for audience in AUDIENCES:
            folder = self.to / "notebooks" / self.language / audience
            made = {path.name: canonical(edition(path.name, self.language, audience)) for path in self.files}
            for name, text in made.items():
                _put(folder / name, text)
            archive = self.to / "notebooks" / f"{self.language}-{audience}.zip"
            _zip(archive, made)
            archives[audience] = (f"../notebooks/{archive.name}", round(archive.stat().st_size / 1000))
        return archives
