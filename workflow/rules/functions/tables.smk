# What the tables read, by their wildcards.


def table_kinds(name):
    return ["csv", "md", "html", "svg"] if name.startswith("figure") else ["csv", "md", "html"]


def table_files(paper):
    """Every file of every table and figure of a paper."""
    return [
        f"{RESULTS}/tables/{paper}/{name}.{kind}"
        for name in PAPERS[paper].tables
        for kind in table_kinds(name)
    ]


def table_data(wildcards):
    """The data set that a table is of, by default the paper's own."""
    return PAPERS[wildcards.paper].tables[wildcards.table].of or wildcards.paper


def of_runs(file):
    """What gives a file of each run that a table shows; none for tables made from the data sets alone."""
    return lambda wildcards: [
        f"{RESULTS}/{folder}/{file}" for folder in PLANS[wildcards.paper].folders(wildcards.table)
    ]


def table_readings(wildcards):
    """What people read of a paper's data set, where that is part of a table."""
    path = HERE / f"resources/readings/{wildcards.paper}.csv"
    return [str(path)] if path.exists() else []


def source_words(paper):
    """What the registry says of a paper's sources, which are named by it; `tables` and the report show it."""
    names = [name for name in SOURCES if name == paper or name.startswith(f"{paper}_")]
    return sources.words(SOURCES, names)
