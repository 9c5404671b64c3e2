"""The privacy policy corpus's keys in the registry of papers."""

from collections.abc import Mapping

from lextables.registry.paper import Paper


class Privacy(Paper):
    """`resources/papers/privacy.yaml`.

    ``categories`` maps released to published category names (Table 2).
    ``other_snapshots`` are the variants of the policies that differ from the coded
    texts, so that highlights may not match.
    """

    categories: Mapping[str, str]
    other_snapshots: tuple[str, ...] = ()


ENTRY = Privacy
