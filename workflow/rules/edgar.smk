# EDGAR: contracts filed as exhibits, the corpus that CUAD's authors used for
# pretraining.
#
# One job for each quarter of a year.  Concurrent jobs share one rate limit, that of
# EDGAR; three or four jobs reach it.
#
#   in     pages of EDGAR's archive: the full index of the quarter, and the submissions that it lists
#   out    {RESULTS}/sources/edgar/                        the downloaded pages, which later runs use again
#          {RESULTS}/data/edgar/<quarter>.parquet          one row per contract
#          {RESULTS}/data/edgar/<quarter>.census.json      number of rows, digest and counts by form
#          {RESULTS}/data/edgar/<quarter>.report.json      how many filings were read, and what was wrong with others
#   steps  edgar_quarter: full index -> submissions of the chosen forms -> exhibits of the chosen types -> text
#   config edgar_quarters (which quarters), edgar_forms, edgar_exhibits, edgar_base (address of the archive),
#          edgar_contact (required by EDGAR), download_minimum_rate

from lextables.planning.sources import edgar_contracts

EDGAR = f"{RESULTS}/data/edgar/{{quarter}}"

# The target `fetch` downloads the contracts of every configured quarter.
FETCHED += expand(f"{EDGAR}.parquet", quarter=CONFIG.edgar_quarters)


# The target `edgar`: the contracts of every configured quarter.
rule edgar:
    input:
        # A function, so that an empty edgar_quarters is only an error of this target.
        lambda wildcards: edgar_contracts(PROJECT),
    localrule: True


# Fetch the pages of a quarter, and write its contracts.  The pages are not declared as
# outputs: Snakemake deletes the outputs of a failed job, and the next attempt needs
# them.
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
        # The fingerprint of the script and its modules: a change runs the job again.
        code=code("edgar_quarter.py"),
        # The folder of the pages, {RESULTS}/sources/edgar.  A param that depends on the
        # output is not compared, so a moved results folder reruns nothing.
        pages=lambda wildcards, output: str(
            Path(output.contracts).parents[2] / "sources/edgar"
        ),
        base=CONFIG.edgar_base,  # the address of the archive
        # Sorted, so that another order reruns nothing.
        forms=sorted(CONFIG.edgar_forms),
        exhibits=sorted(CONFIG.edgar_exhibits),
    message:
        "Collecting the contracts of {wildcards.quarter} from EDGAR."
    script:
        "../scripts/edgar_quarter.py"
