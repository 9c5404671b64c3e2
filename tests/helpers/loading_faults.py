"""The check of a model's folder in the process of the tests."""

from lextables.models import inspection, loading
from lextables.models.folders import Fault


def loading_fault(folder: str, kind: str, tokens: int) -> Fault | None:
    """`inspection._loading_fault`, without a new process, which takes seconds."""
    what, do = loading.fault_of(folder, kind, tokens)
    return Fault(f"{what} (loaded as {kind})", do or inspection.KIND) if what else None
