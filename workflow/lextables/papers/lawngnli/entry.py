"""Keys of LawngNLI's file in the registry in addition to those of every paper."""

from collections.abc import Mapping

from pydantic import PositiveInt

from lextables.registry.paper import Paper


class Lawngnli(Paper):
    """`resources/papers/lawngnli.yaml`: the settings of its construction.

    ``anli_repeats`` is how often the pairs of each of ANLI's rounds are repeated in
    training.
    """

    seed: int
    sample_volumes: tuple[str, ...]
    default_volumes: tuple[str, ...]
    encoders: tuple[str, ...]
    pool_encoders: tuple[str, ...]
    inference_model: str
    parsers: tuple[str, ...]
    anli_repeats: Mapping[str, PositiveInt]


ENTRY = Lawngnli
