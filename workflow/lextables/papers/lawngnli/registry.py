"""What LawngNLI's file in the registry holds beside what every paper's does."""

from collections.abc import Mapping

from pydantic import PositiveInt

from lextables.papers.registry import Paper


class Lawngnli(Paper):
    """`resources/papers/lawngnli.yaml`: what its construction draws from and goes by.

    ``anli_repeats`` is how often the pairs of each of ANLI's rounds stand in training.
    """

    seed: int
    sample_volumes: tuple[str, ...]
    default_volumes: tuple[str, ...]
    encoders: tuple[str, ...]
    pool_encoders: tuple[str, ...]
    parsers: tuple[str, ...]
    anli_repeats: Mapping[str, PositiveInt]


REGISTRY = Lawngnli
