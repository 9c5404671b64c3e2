"""lextables: the result tables of five legal-NLP papers, rebuilt from raw sources.

Data flows one way: source, data set, run, predictions, scores, table, report.  Every module here is
plain functions that can be imported and tested without Snakemake; ``workflow/scripts`` calls them.
"""

from pathlib import Path

ROOT = Path(__file__).parents[2]  # the folder of the Snakefile, config.yaml and resources/
