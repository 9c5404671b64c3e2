# What the report reads, paper by paper.


def shown_data(paper):
    """The data sets that a paper's tables and runs are made of, by name."""
    tables = PAPERS[paper].tables.values()
    named = {name for table in tables for name in (table.of, *table.beside) if name}
    return sorted((named | {run.paper for run in PLANS[paper].specs}) - ABSENT.keys())


@cache
def of_earlier_runs():
    """What other configurations left in the results."""
    return left_over(
        RESULTS, [path for kind in ("census", "data", "tables", "runs") for path in REPORTED[kind]]
    )
