"""lextables: the result tables of five legal-NLP papers, rebuilt from raw sources.

Data flows one way: source, data set, run, predictions, scores, table, report.  The
modules can be imported and tested without Snakemake; the scripts of the rules
(``workflow/scripts``) call them.

`published`, `load`, `score` and `compare` are for notebooks (docs/python.md).
"""

import gc
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import __main__

if TYPE_CHECKING:
    from lextables.notebook.scoring import compare, score
    from lextables.notebook.tables import load, published

__all__ = ["ROOT", "compare", "load", "published", "score"]


def find_root() -> Path:
    """Return the folder of the Snakefile, config.yaml and resources/.

    It is the clone, or the folder ``project`` that the wheel adds to the package.
    """
    package = Path(__file__).parent
    installed = package / "project"
    return installed if installed.is_dir() else package.parents[1]


ROOT = find_root()

# The version is read from pyproject.toml.  If it were written here, each new version
# would change the fingerprint of every rule, and rerun all jobs.
_PROJECT = ROOT / "pyproject.toml"
__version__: str = (
    tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    if _PROJECT.is_file()
    else "0+unknown"
)

# A rule's script imports modules with very many objects: collecting garbage would take
# a sixth of the time of the imports.  `lextables.pipeline.job` switches it on again.
if hasattr(__main__, "snakemake"):
    gc.disable()


def __getattr__(name: str) -> Any:
    """Import a function for notebooks when it is first used: pandas is slow to
    import.
    """
    if name in ("load", "published"):
        from lextables.notebook import tables

        return getattr(tables, name)
    if name in ("compare", "score"):
        from lextables.notebook import scoring

        return getattr(scoring, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
