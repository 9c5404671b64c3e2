"""Whether the pools of the retrieval data set are the paper's (Section 4.2)."""

from collections.abc import Iterable, Mapping
from typing import Any

Source = Mapping[str, Any]

INCOMPLETE = "incomplete collection"
OTHER_ENCODER = "pools of another encoder"


def pool_sources(
    sources: Iterable[Source], *, whole: bool, encoder: str, paper_encoder: str
) -> list[Source]:
    """Return the provenance of the pools, from that of the examples.

    Also with the paper's examples, the pools are others if they are chosen from a part
    of the collection (not ``whole``), or by another ``encoder`` than the paper's: they
    are then not comparable, and the variant says why.
    """
    if not whole:
        difference = {"variant": INCOMPLETE, "note": "pools of a part"}
    elif encoder != paper_encoder:
        note = f"pools chosen by {encoder}, where the paper had {paper_encoder}"
        difference = {"variant": OTHER_ENCODER, "note": note}
    else:
        return [*sources]
    pools = []
    for source in sources:
        if source["comparable"]:
            source = {**source, **difference, "comparable": False}
        pools.append(source)
    return pools
