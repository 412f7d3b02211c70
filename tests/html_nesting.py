"""A check that several unit tests need: HTML whose tags are closed in the right order."""

import html.parser

VOID = {"img", "br", "meta", "link", "input"}


class Nesting(html.parser.HTMLParser):
    """Fails on tags that are not closed in the order in which they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> while {self.open} are open"
        self.open.pop()


def assert_nested(text: str) -> None:
    parser = Nesting()
    parser.feed(text)
    parser.close()
    assert not parser.open, parser.open
