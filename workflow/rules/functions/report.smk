# Inputs and params of the report.


def shown_data(paper):
    """The data sets of a paper's tables and runs, sorted."""
    tables = PAPERS[paper].tables.values()
    named = {name for table in tables for name in (table.of, *table.beside) if name}
    return sorted((named | {run.paper for run in PLANS[paper].specs}) - ABSENT.keys())


@cache
def of_earlier_runs():
    """Param: files in the results that other configurations made."""
    from lextables.report.results import left_over  # slow to import

    return left_over(
        RESULTS, [path for kind in ("census", "data", "tables", "runs") for path in REPORTED[kind]]
    )


def trained_on_by_run():
    """{folder of a run: the data sets that the model of its row has read, in words}, of the leaderboard's tables."""
    return {
        folder: row["trained_on"]
        for paper in CONFIG.papers
        for name, table in PAPERS[paper].tables.items()
        for row in (PLANS[paper].rows.get(name, []) if table.headline else [])
        for runs in row["runs"].values()
        for folder in runs
    }
