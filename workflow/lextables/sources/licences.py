"""Licences of published files, as the model hub and Croissant name them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lextables.sources.entries import SAMPLE

OTHER = "other"  # the hub's id of a licence without an id


@dataclass(frozen=True)
class Licence:
    """A licence of published files."""

    statement: str
    """What the source says."""
    hub: str = OTHER
    """Its id on the model hub."""
    url: str = ""
    """The address of its text; empty if there is none."""


_CREATIVE_COMMONS = "https://creativecommons.org/licenses"
# {name at the beginning of a statement: (hub id, address of the text)}
LICENCES = {
    "CC BY 4.0": ("cc-by-4.0", f"{_CREATIVE_COMMONS}/by/4.0/"),
    "CC BY 3.0": ("cc-by-3.0", f"{_CREATIVE_COMMONS}/by/3.0/"),
    "CC BY-SA 4.0": ("cc-by-sa-4.0", f"{_CREATIVE_COMMONS}/by-sa/4.0/"),
    "CC BY-SA 3.0": ("cc-by-sa-3.0", f"{_CREATIVE_COMMONS}/by-sa/3.0/"),
    "CC BY-NC 4.0": ("cc-by-nc-4.0", f"{_CREATIVE_COMMONS}/by-nc/4.0/"),
    "CC BY-NC-SA 4.0": ("cc-by-nc-sa-4.0", f"{_CREATIVE_COMMONS}/by-nc-sa/4.0/"),
    "CC0": ("cc0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "ODC-BY 1.0": ("odc-by", "https://opendatacommons.org/licenses/by/1-0/"),
    "MIT": ("mit", "https://opensource.org/license/mit"),
    "Apache-2.0": ("apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
}
SAMPLE_LICENCE = "Apache-2.0"  # of the sample, which was written for this project


def licence_of(source: Mapping[str, Any]) -> Licence:
    """Return the licence of a provenance record; the sample has `SAMPLE_LICENCE`."""
    statement = SAMPLE_LICENCE if source["variant"] == SAMPLE else source["licence"]
    # A statement may go on after the name (`CC BY 4.0, as MAUD`).
    name = statement.split(",")[0].split(";")[0].strip()
    return Licence(statement, *LICENCES.get(name, ()))


def licences_of(sources: Iterable[Mapping[str, Any]]) -> list[Licence]:
    """Return the different licences of ``sources``, sorted by statement."""
    return sorted(
        {licence_of(source) for source in sources},
        key=lambda licence: licence.statement,
    )
