"""What the privacy policy corpus's file in the registry holds beside what every paper's does."""

from collections.abc import Mapping

from lextables.papers.registry import Paper


class Privacy(Paper):
    """`resources/papers/privacy.yaml`.

    ``categories`` maps a category as released to the name that Table 2 prints.  ``other_snapshots`` are the
    variants of the policies that are not the texts that were coded, so that highlights do not line up.
    """

    categories: Mapping[str, str]
    other_snapshots: tuple[str, ...] = ()


REGISTRY = Privacy
