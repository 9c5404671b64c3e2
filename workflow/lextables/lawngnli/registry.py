"""What LawngNLI's file in the registry holds beside what every paper's does."""

from lextables.papers import Paper


class Lawngnli(Paper):
    """`resources/papers/lawngnli.yaml`: what its construction draws from and goes by."""

    seed: int
    volumes_a_shard: int
    sample_volumes: tuple[str, ...]
    encoders: tuple[str, ...]
    pool_encoders: tuple[str, ...]
    parsers: tuple[str, ...]


REGISTRY = Lawngnli
