"""Whether the pools of the retrieval data set, which are the candidate opinions of each
query, are the paper's (Section 4.2).
"""

from collections.abc import Iterable, Mapping
from typing import Any

Source = Mapping[str, Any]

INCOMPLETE = "incomplete collection"
OTHER_ENCODER = "pools of another encoder"


def pool_sources(
    sources: Iterable[Source], *, whole: bool, encoder: str, paper_encoder: str
) -> list[Source]:
    """Return the provenance of the pools, from the provenance of the examples.

    Even with the paper's examples, the pools differ from the paper's if they are chosen
    from a part of the collection (not ``whole``), or by another ``encoder``.  Then they
    are not comparable, and the variant says why.
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
