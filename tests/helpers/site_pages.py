"""Checks of a site's files: ids, links, and that nothing is loaded from a network."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Reading(HTMLParser):
    """The ids, link targets, loaded files and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)
            elif name in ("src", "srcset", "href", "xlink:href", "data", "action"):
                self.loaded.append(value)

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def read(page: Path) -> Reading:
    """Parse a page."""
    return Reading(page.read_text(encoding="utf-8"))


def pages(site: Path) -> list[Path]:
    """Return all pages of a site."""
    return sorted(site.rglob("*.html"))


def faults(site: Path) -> list[str]:
    """Return messages about all errors of a site's pages."""
    messages = []
    ids = {page: set(read(page).ids) for page in pages(site)}
    for page in ids:
        reading = read(page)
        name = page.relative_to(site).as_posix()
        if len(reading.ids) != len(ids[page]):
            messages.append(f"{name}: a repeated id")
        for address in (*reading.links, *reading.loaded):
            parts = urlsplit(address)
            place = page
            if parts.path:
                place = (page.parent / unquote(parts.path)).resolve()
            if parts.scheme or parts.netloc:
                messages.append(f"{name}: {address} is on a network")
            elif not place.exists():
                messages.append(f"{name}: {address} does not exist")
            elif parts.fragment and unquote(parts.fragment) not in ids.get(place, ()):
                messages.append(f"{name}: {address} has no target in the page")
    return messages
