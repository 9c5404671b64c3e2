"""The privacy policy corpus's keys in the registry of papers."""

from collections.abc import Mapping

from lextables.registry.paper import Paper


class Privacy(Paper):
    """`resources/papers/privacy.yaml`."""

    categories: Mapping[str, str]
    """{category in the release: its published name (Table 2)}."""
    other_snapshots: tuple[str, ...] = ()
    """The variants of the policies that differ from the coded texts, so that highlights
    may not match.
    """


ENTRY = Privacy
