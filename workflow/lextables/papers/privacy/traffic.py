"""How much traffic websites have, by a list of ranks such as Tranco's (Le Pochat and others 2019)."""

from collections.abc import Collection
from pathlib import Path

from lextables.pipeline.errors import BadInput
from lextables.sources import strict_csv


def ranks(path: str | Path, sites: Collection[str]) -> dict[str, int]:
    """Return {site: its rank} of those that the list has, from a csv of rank and domain without a header.

    A site that the list has not under its own name has the rank of the domain that it is part of.  Raises
    `BadInput` for a row that is none of a rank and a domain.
    """
    wanted = {domain for site in sites for domain in _domains(site)}
    found: dict[str, int] = {}
    with Path(path).open("rb") as file:
        for where, cells in strict_csv.rows(file, Path(path).name):
            if len(cells) != 2 or not cells[0].isascii() or not cells[0].isdigit() or not int(cells[0]):
                do = "write a rank and a domain in each row, as Tranco's list has them, and no header"
                raise BadInput(f"{','.join(cells)!r:.60} is no rank and domain", where=where, do=do)
            if cells[1] in wanted:
                found.setdefault(cells[1], int(cells[0]))
    named = {site: [found[domain] for domain in _domains(site) if domain in found] for site in sites}
    return {site: of_domains[0] for site, of_domains in named.items() if of_domains}


def _domains(site: str) -> list[str]:
    """`us.mouthshut.com` and `mouthshut.com`, the longest first; no domain of one part."""
    parts = site.split(".")
    return [".".join(parts[at:]) for at in range(len(parts) - 1)]
