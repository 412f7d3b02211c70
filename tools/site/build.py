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
from tools.notebook_file import canonical
from tools.site import course, practice, verification
from tools.site.course import NOTEBOOKS, Lesson, texts
from tools.site.notebook import pictures_out, plain
from tools.written import workers
from torch_doctor.errors.card import entry_html
from torch_doctor.errors.catalogue import entries

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = "https://{}.github.io/{}"  # where GitHub puts a repository's website
LOOK_UP = ("practice", "cheat_sheets", "errors", "verified", "downloads")


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
        ValueError: There is no lesson of such a number.
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
    editions = tuple(editions)
    try:
        for name in editions:
            languages.use(name)
            _Writer(to, name, editions, files, slides).write()
    finally:
        languages.use(None)
    root = _environment().get_template("root.html.j2")
    names = {name: course.LANGUAGE_NAMES[name] for name in editions}
    _put(
        to / "index.html",
        root.render(
            languages=names,
            html_languages=course.HTML_LANGUAGES,
            course=texts()["course"].en,
            description=texts()["lead"].en,
        ),
    )


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _shortened(text: str, most: int = 155) -> str:
    """Return the first sentence or words of a text, for search engines and shared links."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= most else line[:most].rpartition(" " if line.isascii() else "，")[0] + " …"


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )


def _zip(path: Path, notebooks: dict[str, str]) -> None:
    """Pack notebooks with the scripts that lessons launch; the same files give the same bytes."""
    files = {name.as_posix(): (NOTEBOOKS / name).read_bytes() for name in workers(NOTEBOOKS)}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**notebooks, **files}.items():
            archive.writestr(zipfile.ZipInfo(f"{path.stem}/{name}"), content, zipfile.ZIP_DEFLATED)


class _Writer:
    """Writes the pages of one language."""

    def __init__(
        self, to: Path, language: str, editions: tuple[str, ...], files: list[Path], slides: Path | None
    ) -> None:
        self.to, self.language, self.files = to, language, files
        self.text = {name: Markup(text.html()) for name, text in texts().items()}
        self.names = [path.stem for path in files]
        self.lessons = [course.lesson(path, language, self.names) for path in files]
        self.places: list[tuple[str, str, str, str]] = []
        self.slides = self._copy_slides(slides)
        self.runs = verification.runs()
        self.claims = {path.stem: verification.claims(path) for path in files}
        self.practices = list(practice.practices(one.number for one in self.lessons))
        self.views = {one.name: self._views(one) for one in self.practices}
        self.first = {one.name: self.views[one.name]["views"][self._default(one)] for one in self.practices}
        cover = next(iter(self.first.values()), "")
        self.look_up = [name for name in LOOK_UP if self.practices or name != "practice"]
        known = None if links.repository() == links.UNKNOWN else links.repository()
        environment = _environment()
        environment.globals |= {
            "t": self.text,
            "say": lambda name, **values: Markup(texts()[name].format(**values).html()),
            "language": language,
            "languages": {name: course.LANGUAGE_NAMES[name] for name in editions},
            "html_languages": course.HTML_LANGUAGES,
            "lessons": self.lessons,
            "look_up": self.look_up,
            "slides": self.slides,
            "links": self._links(),
            "repository": known,
            "address": PAGES.format(*known.split("/")) if known else "",
            "practices": self.practices,
            "first_pictures": self.first,
            "names": {one.number: one.name for one in self.lessons},
            "option_texts": lambda control: [str(text) for text, _ in control.options],
            "cover_html": cover,
            "cover": cover and cover.partition("../images/")[2].partition('"')[0],
            "verified": {path.stem: self._verified(path.stem) for path in files},
            "date": datetime.date.today().isoformat(),
        }
        self.templates = environment

    def write(self) -> None:
        """Write everything."""
        order = ["index", *self.names, *self.look_up]
        for i, one in enumerate(self.lessons):
            self._lesson(one, order[i], order[i + 2])
        intro = Markup(course.introduction(self.language))
        self._page("index", texts()["course"], introduction=intro, first=self.names[0])
        self._page("cheat_sheets", texts()["cheat_sheets"])
        self._errors()
        self._page(
            "verified",
            texts()["verified"],
            runs=self.runs,
            run_name=device_name,
            claims=self.claims,
            totals=self._totals(),
        )
        self._page("downloads", texts()["downloads"], archives=self._downloads())
        self._page("search", texts()["search"])
        if not self.practices:
            return
        self._page("practice", texts()["practice"])
        script = f"const PRACTICE = {json.dumps(self.views, ensure_ascii=False, separators=(',', ':'))};\n"
        _put(self.to / "assets" / f"practice_{self.language}.js", script)
        _put(self.to / "assets" / f"search_{self.language}.js", course.index(self.places))

    def _page(self, name: str, title: Any, template: str = "", **values: Any) -> None:
        page = self.templates.get_template(f"{template or name}.html.j2")
        values.setdefault(
            "description", str(texts()[f"{name}_intro" if f"{name}_intro" in texts() else "lead"])
        )
        _put(self.to / self.language / f"{name}.html", page.render(page=name, title=str(title), **values))

    def _views(self, one: practice.Practice) -> dict[str, Any]:
        """Return what an explorer shows, its pictures written into ``images``."""
        shown, found = practice.drawn(one, self.language)
        views = []
        for markup in found:
            made, pictures = pictures_out(markup)
            for name, content in pictures.items():
                (self.to / "images" / name).write_bytes(content)
            views.append(made)
        return {"shown": shown, "views": views}

    def _default(self, one: practice.Practice) -> int:
        """Return which view of an explorer the page begins with."""
        place = 0
        for control, option in zip(one.shown_controls, one.start(), strict=True):
            place = place * len(control.options) + option
        return self.views[one.name]["shown"][place]

    def _lesson(self, one: Lesson, before: str, after: str) -> None:
        for name, content in one.page.pictures.items():
            (self.to / "images" / name).write_bytes(content)
        top = one.page.sections[0].title
        for section in one.page.sections:
            address = f"{one.name}.html#{section.id}" if section.id else f"{one.name}.html"
            self.places.append((address, section.title, "" if section.level == 1 else top, section.text))
        heading, end, rest = one.page.html.partition("</h1>")
        self._page(
            one.name,
            f"{int(one.number)} {one.title}",
            "lesson",
            lesson=one,
            heading=heading + end,
            rest=rest,
            before=before,
            after=after,
            description=_shortened(one.page.sections[0].text),
            titles=self._titles(),
        )

    def _titles(self) -> dict[str, str]:
        own = {"index": str(texts()["course"])} | {name: str(texts()[name]) for name in LOOK_UP}
        return own | {one.name: f"{int(one.number)} {one.title}" for one in self.lessons}

    def _errors(self) -> None:
        topics: dict[str, list[tuple[str, str, Markup, str]]] = {}
        lessons = {one.number: f"{one.name}.html" for one in self.lessons}
        for name, entry in entries().items():
            card = entry_html(entry, link_similar=True, lesson_link=lessons.get(entry.lesson))
            samples = "\n\n".join(entry.samples)
            topics.setdefault(str(entry.topic), []).append((name, entry.message, Markup(card), samples))
            words = f"{plain(card)}\n{samples}"
            self.places.append((f"errors.html#{name}", entry.message, str(texts()["errors"]), words))
        self._page("errors", texts()["errors"], topics=topics, count=len(entries()))

    def _verified(self, name: str) -> dict[str, Any] | None:
        """Return the newest run's date and name, and its counts for a lesson; None where nothing is recorded."""
        if not self.runs or not (claims := claims_of_today([NOTEBOOKS / f"{name}.ipynb"])):
            return None
        numbers = counts(self.runs[0], claims)
        return {
            "date": self.runs[0]["date"],
            "machine": device_name(self.runs[0]),
            "holds": numbers["holds"],
            "measured": sum(numbers[verdict] for verdict in recordings.MEASURED),
            "needs": numbers["other"],
        }

    def _totals(self) -> list[dict[str, int]]:
        claims = claims_of_today(self.files)
        return [counts(run, claims) for run in self.runs]

    def _copy_slides(self, slides: Path | None) -> set[str]:
        found = sorted((slides / self.language).glob("*.html")) if slides else []
        for path in found:
            target = self.to / "slides" / self.language / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        return {path.stem for path in found}

    def _links(self) -> dict[str, dict[str, str]]:
        """Return where a lesson can be opened, by lesson; nothing while nobody knows the repository's address."""
        if links.repository() == links.UNKNOWN:
            return {}
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
