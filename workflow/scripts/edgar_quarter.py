"""Fetch the missing pages of one quarter of EDGAR, and write its contracts, their
census and a report of filings and faults.

Rule `edgar_quarter` (edgar.smk).  ``pages`` is the folder of the downloaded pages and
``base`` the address of EDGAR's archive.  Contracts are the exhibits of the types
``exhibits`` in filings of the types ``forms``.
"""

import json
from dataclasses import replace
from datetime import date

from lextables.corpora.edgar.contracts import TABLE, collect, quarter
from lextables.corpora.edgar.pages import CLIENT, Pace, Pages, default_file
from lextables.pipeline import dataset
from lextables.pipeline.config import Config
from lextables.pipeline.files import write_result
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    params = snakemake.params
    output = snakemake.output
    # The contact comes from the config and not from a param: another person's name
    # changes no contract.
    config = Config.model_validate(dict(snakemake.config))
    client = replace(CLIENT, minimum_rate=config.download_minimum_rate)
    pages = Pages(
        config.edgar_contact,
        folder=params.pages,
        pace=Pace(default_file()),  # all jobs of a user share one rate limit
        base=params.base,
        client=client,
    )
    report = collect(
        quarter(snakemake.wildcards.quarter, date.today()),
        pages,
        output.contracts,
        forms=params.forms,
        exhibits=params.exhibits,
    )
    dataset.write_census(output.census, dataset.census(TABLE, output.contracts))
    write_result(output.report, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
