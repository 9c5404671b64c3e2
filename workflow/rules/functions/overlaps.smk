# Params of the overlaps.

from lextables.papers.registry import Texts

OVERLAPS = {
    name: texts.model_dump() | {"tables": [texts.table]}
    for paper in CONFIG.papers
    for name, texts in PAPERS[paper].texts.items()
    if name not in ABSENT
}
if CONFIG.edgar_quarters:
    # A unit is a filing, with all its contracts.
    filings = Texts(table="filings", unit="accession").model_dump()
    OVERLAPS["edgar"] = filings | {"tables": list(CONFIG.edgar_quarters)}

BENCHMARKS = [
    {
        "paper": paper,
        "registry": PAPER_FILES[paper],
        "published": str(PROJECT_PATH / f"resources/published/{paper}.csv"),
        "table": name,
        "dataset": table.of,
        "task": PAPERS[paper].tasks[table.of].model_dump(mode="json"),
        "texts": OVERLAPS[table.of],
        "rows": PLANS[paper].rows[name],
    }
    for paper in CONFIG.papers
    for name, table in PAPERS[paper].tables.items()
    if table.headline and table.of in OVERLAPS
]
# The modules of all papers' tables and of the tasks in their files.
TABLE_CODE = [f"lextables.tasks.{task}.plan" for task in packages.TASKS]
for paper in PAPER_FILES:
    TABLE_CODE += package_modules(paper, "registry", "tables")


def scores_digest(wildcards):
    """Param: the digest of the scores of the runs that exist."""
    folders = {
        folder
        for benchmark in BENCHMARKS
        for row in benchmark["rows"]
        for runs in row["runs"].values()
        for folder in runs
    }
    return content_of(
        f"{RESULTS}/{folder}/scores.parquet" for folder in sorted(folders)
    )
