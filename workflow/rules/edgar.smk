# EDGAR: contracts filed as exhibits, the corpus that CUAD's authors used for
# pretraining.
#
#   in    pages of the archive, downloaded within EDGAR's rate limit and kept in {RESULTS}/sources/edgar
#   out   {RESULTS}/data/edgar/<quarter>.parquet, .census.json and .report.json
#   steps full index -> submissions of the chosen forms -> exhibits of the chosen types -> text
#
# Jobs of several quarters share one rate limit; three or four concurrent jobs reach it.

from lextables.planning.sources import edgar_contracts

EDGAR = f"{RESULTS}/data/edgar/{{quarter}}"


FETCHED += expand(f"{EDGAR}.parquet", quarter=CONFIG.edgar_quarters)


rule edgar:
    input:
        lambda wildcards: edgar_contracts(PROJECT),
    localrule: True


# Pages are not declared as outputs: Snakemake deletes the outputs of a failed job, and
# the next attempt needs them.
rule edgar_quarter:
    output:
        contracts=f"{EDGAR}.parquet",
        census=f"{EDGAR}.census.json",
        report=f"{EDGAR}.report.json",
    log:
        f"{RESULTS}/logs/edgar/{{quarter}}.txt",
    wildcard_constraints:
        quarter=r"\d{4}-QTR[1-4]",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=code("edgar_quarter.py"),
        pages=lambda wildcards, output: str(
            Path(output.contracts).parents[2] / "sources/edgar"
        ),
        base=CONFIG.edgar_base,
        forms=sorted(CONFIG.edgar_forms),
        exhibits=sorted(CONFIG.edgar_exhibits),
    message:
        "Collecting the contracts of {wildcards.quarter} from EDGAR."
    script:
        "../scripts/edgar_quarter.py"
