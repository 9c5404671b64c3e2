"""The form in which citations, and the volumes whose pages they count, are compared."""

from functools import cache

from eyecite.tokenizers import EDITIONS_LOOKUP


@cache
def reporter_name(reporter: str) -> str:
    """Return the standard abbreviation of a reporter, or ``reporter`` if it has none or several."""
    editions = dict.fromkeys(edition.short_name for edition in EDITIONS_LOOKUP.get(reporter, ()))
    if reporter in editions or len(editions) != 1:
        return "".join(reporter.split())
    return "".join(next(iter(editions)).split())


def citation_key(citation: str) -> str | None:
    """Return a citation such as ``410 U. S. 113`` in the form in which citations are compared.

    None unless it is a volume, a reporter and a page.
    """
    parts = citation.split()
    if len(parts) < 3 or not parts[0].isdecimal() or not parts[-1].isdecimal():
        return None
    return page_key(parts[0], " ".join(parts[1:-1]), parts[-1])


def volume_key(volume: str, reporter: str) -> str:
    """Return volume and reporter in the form in which volumes are compared."""
    return f"{volume} {reporter_name(reporter)}"


def page_key(volume: str, reporter: str, page: str) -> str:
    """Return volume, reporter and page in the form in which citations are compared."""
    return f"{volume_key(volume, reporter)} {page}"
