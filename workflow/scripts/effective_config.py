"""Write the effective configuration, the defaults with the user's changes, as YAML.

Rule `effective_config` (report.smk).
"""

import yaml

from lextables.pipeline.atomic import write_text
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    write_text(
        snakemake.output[0], yaml.safe_dump(snakemake.params.config, sort_keys=False)
    )
