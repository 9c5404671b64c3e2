"""Licences as sources state them, as the model hub and Croissant name them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lextables.sources.registry import SAMPLE

OTHER = "other"  # what the hub calls a licence that it has no name for


@dataclass(frozen=True)
class Licence:
    """A licence: ``words`` as stated, its ``hub`` id, the ``url`` of its text (empty: none is known)."""

    words: str
    hub: str = OTHER
    url: str = ""


_CREATIVE_COMMONS = "https://creativecommons.org/licenses"
KNOWN = {
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
OURS = "Apache-2.0"  # of the sample, which is of our own writing


def of(source: Mapping[str, Any]) -> Licence:
    """Return the licence of a provenance record: of a sample ours, else the source's own."""
    words = OURS if source["variant"] == SAMPLE else source["licence"]
    # What stands behind the name, `CC BY 4.0, as MAUD`, is said in words alone.
    name = words.split(",")[0].split(";")[0].strip()
    return Licence(words, *KNOWN.get(name, ()))


def of_all(sources: Iterable[Mapping[str, Any]]) -> list[Licence]:
    """Return the different licences of ``sources``, in the order of their words."""
    return sorted({of(source) for source in sources}, key=lambda licence: licence.words)
