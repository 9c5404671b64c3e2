"""lextables: the result tables of five legal-NLP papers, rebuilt from raw sources.

Data flows one way: source, data set, run, predictions, scores, table, report.  Every module here is
plain functions that can be imported and tested without Snakemake; ``workflow/scripts`` calls them.
"""

import tomllib
from pathlib import Path

# The folder of the Snakefile, config.yaml and resources/.
ROOT = Path(__file__).parents[2]

# The version is in pyproject.toml: here, a new version would change the code of every rule.
_PROJECT = ROOT / "pyproject.toml"
__version__: str = (
    tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    if _PROJECT.is_file()
    else "0+unknown"
)
