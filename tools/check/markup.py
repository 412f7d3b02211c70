"""Rules for the markup in cells and stored outputs: only what cannot run and loads nothing passes.

JupyterLab removes active content until a notebook is trusted; GitHub's viewer, `nbconvert --to html` and a trusted
notebook do not. So what is allowed is listed here, and everything else is reported. The outputs are read as they are
stored: what the sanitizing of the notebook tests hides is seen here.
"""

import html
import re

from markdown_it import MarkdownIt

from . import text as texts
from .text import Findings

MIME_TYPES = {"text/plain", "text/html", "text/markdown"}
EVERYWHERE = {"class", "lang"}
# What the course's own outputs use; a new one is added when a lesson needs it.
OUTPUT_TAGS: dict[str, set[str]] = {
    "a": {"href", "style"},
    "details": {"open"},
    "img": {"alt", "src"},
    "td": {"colspan", "rowspan", "style"},
    "th": {"colspan", "rowspan", "style"},
} | {
    name: set()
    for name in (
        "b blockquote br code dd div dl dt em figcaption figure h1 h2 h3 h4 hr i kbd li ol p pre s small span strong "
        "sub summary sup table tbody thead tr u ul"
    ).split()
}
MARKDOWN_TAGS = OUTPUT_TAGS | {"ol": {"start"}, "a": {"href", "title"}, "img": {"alt", "src", "title"}}

_START = re.compile(r"<(?=[A-Za-z/!?])")
_TAG = re.compile(r'</?(?P<name>[A-Za-z][A-Za-z0-9]*)(?P<attributes>(?:\s+[A-Za-z-]+(?:="[^"]*")?)*)\s*/?>')
_ATTRIBUTE = re.compile(r'([A-Za-z-]+)(?:="([^"]*)")?')
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.I)
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*")
_HARMLESS_STYLE = re.compile(r"[\w\s:;.,%#-]*")

# As text.py reads the prose, but every link stays one, so that its address is seen here.
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_MARKDOWN.validateLink = lambda url: True


def check_mime_types(data: dict[str, object], known: set[str], findings: Findings) -> None:
    """Report forms of an output that are neither text nor in `known`, for which other rules have an answer."""
    for mime in sorted(set(data) - MIME_TYPES - known):
        if not mime.startswith("image/"):
            findings.add("active content", f"an output of type {mime}")


def check_html(markup: str, findings: Findings) -> None:
    """Report tags, attributes and addresses in an HTML output that are not in the list of what is allowed."""
    _check_tags(markup, OUTPUT_TAGS, False, findings)


def check_markdown(source: str, findings: Findings) -> None:
    """Report the same in Markdown, whose code is no markup; a picture may also be a file of the repository."""
    _check_tags(_MARKDOWN.render(source), MARKDOWN_TAGS, True, findings)


def _check_tags(markup: str, allowed: dict[str, set[str]], files: bool, findings: Findings) -> None:
    at = 0
    while start := _START.search(markup, at):
        tag = _TAG.match(markup, start.start())
        at = tag.end() if tag else start.end()
        if tag is None:  # a comment, an attribute in other quotation marks: browsers may see more in it
            excerpt = texts.short(markup[start.start() : start.start() + 60])
            findings.add("active content", f"markup that is not plain: {excerpt!r}")
            continue
        name = tag["name"].lower()
        if name not in allowed:
            findings.add("active content", f"<{name}>")
            continue
        for attribute, value in _ATTRIBUTE.findall(tag["attributes"]):
            _check_attribute(name, attribute.lower(), html.unescape(value), allowed[name], files, findings)


def _check_attribute(
    tag: str, name: str, value: str, allowed: set[str], files: bool, findings: Findings
) -> None:
    if name not in allowed | EVERYWHERE:
        findings.add("active content", f"{name}= on <{tag}>")
    elif name == "style" and not _HARMLESS_STYLE.fullmatch(value):
        findings.add("active content", f"style={texts.short(value)!r}")
    elif name in ("href", "src"):
        # Browsers ignore control characters and spaces in an address: "java\nscript:" is a script.
        address = re.sub(r"[\x00-\x20\x7f-\x9f]", "", value)
        scheme = _SCHEME.match(address)
        remote = address.startswith(("//", "\\", "/\\"))
        if name == "src" and not _PICTURE.fullmatch(value) and (scheme or remote or not files):
            findings.add("active content", f"a picture from {texts.short(value)!r}")
        if name == "href" and (remote or (scheme and scheme[1].lower() not in ("http", "https", "mailto"))):
            findings.add("active content", f"a link to {texts.short(value)!r}")
