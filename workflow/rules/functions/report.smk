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
