"""Parts that were removed, with what to say when somebody uses one; each is listed for one version."""

from collections.abc import Iterable

from lextables.pipeline.errors import BadInput

VERSION = "1.0"
# {config key, paper or target: what there is instead}
REMOVED = {
    "legalbench_rag": "its spans of merger agreements are still read",
    "legalbench_rag_table_naive": "its paper has no published values",
    "legalbench_rag_table_rcts": "its paper has no published values",
}


def check(names: Iterable[str], where: str) -> None:
    """Raise `BadInput` for the first of ``names`` that was removed; ``where`` is the place they are from."""
    for name in names:
        if name in REMOVED:
            what = f"{name} was removed in {VERSION} ({REMOVED[name]})"
            raise BadInput(what, where=where, do="see CHANGELOG.md")
