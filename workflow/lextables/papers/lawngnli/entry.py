"""LawngNLI's keys in the registry of papers."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import PositiveInt

from lextables.registry.paper import Paper


class Lawngnli(Paper):
    """`resources/papers/lawngnli.yaml`: the settings of its construction.

    Volumes are ranges such as ``us:901-904``.  The first model of a list is the
    paper's; the others replace it where it is not available.
    """

    seed: int
    """Decides all random choices, together with the names of the examples."""
    sample_volumes: tuple[str, ...]
    """The volumes of the included sample."""
    default_volumes: tuple[str, ...]
    """The volumes of `caselaw: us` without a list of volumes and without a mirror."""
    encoders: tuple[str, ...]
    """Encoders that choose the premises of Neutral examples (A.1.7)."""
    pool_encoders: tuple[str, ...]
    """Encoders that choose the candidate opinions of a query (Section 4.2)."""
    inference_model: str
    """The classifier whose probabilities `inference.parquet` has."""
    parsers: tuple[str, ...]
    """Benepar models that parse the hypotheses (A.1.5)."""
    anli_repeats: Mapping[str, PositiveInt]
    """How often the pairs of each of ANLI's rounds are repeated in training."""

    HEADS: ClassVar = {
        "lawngnli_nli": ("nli", "entailment"),
        "lawngnli_reranking": ("nli",),
    }
    MODELS: ClassVar = ("encoders", "pool_encoders", "inference_model", "parsers")


ENTRY = Lawngnli
