"""Fetch and read every source, and print one line for each: read, or why not.

Rule `first_contact` (first_contact.smk).  An attempt is a function that reads one
source; all are collected before the first is called.  ``folder`` is where data sets are
written, ``sources`` the folder of fetched files, and ``volume`` a volume of case law,
or "".
"""

from dataclasses import replace
from pathlib import Path

from lextables import ROOT
from lextables.corpora.caselaw.fetching import Source
from lextables.corpora.edgar.pages import CLIENT, Pace, Pages, default_file
from lextables.pipeline.atomic import write_text
from lextables.pipeline.config import Config
from lextables.pipeline.job import job
from lextables.planning import first_contact
from lextables.registry import packages
from lextables.sources.entries import load
from lextables.sources.transfer import Client

with job(snakemake.log[0]) as log:
    params = snakemake.params
    config = Config.model_validate(dict(snakemake.config))
    folder = Path(params.folder)
    sources = Path(params.sources)
    registry = load(*(ROOT / name for name in params.registries))
    client = Client(minimum_rate=config.download_minimum_rate)
    mirrors = config.mirrors(ROOT)
    files = first_contact.Files(registry, sources, mirrors, config.data, client)
    papers = {}
    for name in params.papers:
        papers[name] = packages.load(ROOT / f"resources/papers/{name}.yaml")
    facts = ROOT / "resources/facts"  # files of the repository that readers need
    attempts = first_contact.attempts_of_papers(papers, files, facts, folder)
    if params.volume:
        case_law = Source(
            folder=sources / first_contact.CASE_LAW,
            registry=registry,
            mirrors=mirrors,
            data=config.data,
            bulk=Path(config.bulk_export),
            client=client,
            say=log.info,
        )
        attempts[first_contact.CASE_LAW] = first_contact.contact_case_law(
            params.volume, case_law, folder / first_contact.CASE_LAW
        )

    def edgar_pages() -> Pages:
        """EDGAR's pages; `BadInput` without edgar_contact."""
        return Pages(
            config.edgar_contact,
            sources / first_contact.EDGAR,
            Pace(default_file()),
            base=config.edgar_base,
            client=replace(CLIENT, minimum_rate=config.download_minimum_rate),
        )

    attempts[first_contact.EDGAR] = first_contact.contact_edgar(
        edgar_pages,
        folder / first_contact.EDGAR,
        sorted(config.edgar_forms),
        sorted(config.edgar_exhibits),
    )
    outcomes = []
    for outcome in first_contact.make_contact(attempts):
        print(outcome.line)
        outcomes.append(outcome)
    write_text(folder / "sources.csv", first_contact.to_csv(outcomes))
    read_sources = sum(outcome.read for outcome in outcomes)
    print(f"{read_sources} of {len(outcomes)} sources were read: {folder}/sources.csv")
