"""ACORD's keys in the registry of papers."""

from collections.abc import Mapping

from lextables.registry.paper import Paper


class Acord(Paper):
    """`resources/papers/acord.yaml`: names in the paper of the release's categories and
    queries.
    """

    categories: Mapping[str, str]
    query_aliases: Mapping[str, str]
    format_queries: Mapping[str, str]


ENTRY = Acord
