"""Fetch one file of one source, and write its provenance.

Rule `fetch_source` (sources.smk), with the wildcards ``source`` and ``file``.
``registries`` are the files that register sources, and ``variants`` the variants of the
file that are allowed, such as the release or a sample.
"""

from lextables import ROOT
from lextables.pipeline.config import Config
from lextables.pipeline.job import job
from lextables.sources.entries import load, resolve
from lextables.sources.fetch import fetch
from lextables.sources.transfer import Client

with job(snakemake.log[0]) as log:
    source_file = resolve(
        load(*(ROOT / name for name in snakemake.params.registries)),
        snakemake.wildcards.source,
        snakemake.wildcards.file,
    )
    # Mirrors come from the config and are not params: another location of the same
    # files must not rerun anything.
    config = Config.model_validate(dict(snakemake.config))
    provenance = fetch(
        source_file,
        snakemake.output.file,
        mirrors=config.mirrors(ROOT),
        variants=snakemake.params.variants,
        client=Client(minimum_rate=config.download_minimum_rate),
    )
    log.info("%s", provenance)
