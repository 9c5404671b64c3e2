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
        RESULTS,
        [
            path
            for kind in ("census", "data", "tables", "runs")
            for path in REPORTED[kind]
        ],
    )


def trained_on_by_run():
    """{run folder: text that names the training data sets of its model}, for the leaderboard's tables."""
    return {
        folder: row["trained_on"]
        for paper in CONFIG.papers
        for name, table in PAPERS[paper].tables.items()
        for row in (PLANS[paper].rows.get(name, []) if table.headline else [])
        for runs in row["runs"].values()
        for folder in runs
    }


# The page of results


@cache
def baseline_runs():
    """Param: the folders of the runs of baselines."""
    rows = [
        row for plan in PLANS.values() for rows in plan.rows.values() for row in rows
    ]
    baselines = [row for row in rows if row["baseline"] and not row["lenient"]]
    return sorted(
        {
            folder
            for row in baselines
            for runs in row["runs"].values()
            for folder in runs
        }
    )


# Requirements in ascending order: (name, with a GPU, with the hub, server of language models).  Servers have
# different models.
API_HOSTS = sorted({host for model in MODELS.values() for host in model.hosts})
OFFERS = [
    ("other settings alone", False, False, ""),
    ("a GPU", True, False, ""),
    ("the model hub", False, True, ""),
    *(("an API key", False, False, host) for host in API_HOSTS),
    ("a GPU and the model hub", True, True, ""),
    *(("a GPU, the model hub and an API key", True, True, host) for host in API_HOSTS),
]


def offered(gpu, hub, host):
    """The planning context with these requirements."""
    usual = {name: DEFAULTS[name] for name in ("grid", "seeds", "hyperparameters")}
    models, llm = "paper" if hub else CONFIG.models, (
        f"https://{host}/v1" if host else CONFIG.llm
    )
    chosen = CONFIG.model_copy(update={**usual, "models": models, "llm": llm})
    absent = planning.absent_data(chosen, PAPERS, SOURCES, ROOT)
    return Context(chosen, MODELS, ROOT, gpu or GPU, PROJECT.context.submitted, absent)


OF_PLANS = {
    "reason",
    "runs",
    "parameters",
    "trained",
    "averages",
    "asked",
    "trained_on",
}  # fields that differ between plans


def identity_of(row):
    """Digest that distinguishes a row of a plan from other rows, including rows of the same name."""
    return digest_of({key: value for key, value in row.items() if key not in OF_PLANS})


@cache
def needed_by_rows():
    """Param: {paper: {table: {reason of published rows that are not run: what they need}}}.

    A row needs the first of `OFFERS` with which it would be planned, and a reason what its last row needs.
    """
    contexts = [offered(*offer) for _, *offer in OFFERS]
    found = {}
    for paper in CONFIG.papers:
        plans = [planning.plan(PAPERS[paper], context).rows for context in contexts]
        found[paper] = {}
        for table, rows in PLANS[paper].rows.items():
            runs = [
                {identity_of(row) for row in plan[table] if row["runs"]}
                for plan in plans
            ]
            needs = {}
            for row in rows:
                if not (row["runs"] or row["additional"]):
                    first = next(
                        (
                            n
                            for n, those in enumerate(runs)
                            if identity_of(row) in those
                        ),
                        -1,
                    )
                    needs[row["reason"]] = max(first, needs.get(row["reason"], -1))
            found[paper][table] = {
                reason: OFFERS[n][0] for reason, n in needs.items() if n >= 0
            }
    return found
