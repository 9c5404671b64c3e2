# What the tables read, by their wildcards.


def table_kinds(name):
    kinds = ["csv", "comparison.csv", "md", "html"]
    return [*kinds, "svg"] if name.startswith("figure") else kinds


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


def table_beside(wildcards):
    """The census of each other data set that a table shows and that is to be had."""
    beside = PAPERS[wildcards.paper].tables[wildcards.table].beside
    return [f"{RESULTS}/data/{name}/census.json" for name in beside if name not in ABSENT]


def table_absent(wildcards):
    """Why the rest of them is not."""
    beside = PAPERS[wildcards.paper].tables[wildcards.table].beside
    return {name: ABSENT[name] for name in beside if name in ABSENT}


def of_runs(file):
    """What gives a file of each run that a table shows; none for tables made from the data sets alone."""
    return lambda wildcards: [
        f"{RESULTS}/{folder}/{file}" for folder in PLANS[wildcards.paper].folders(wildcards.table)
    ]


def table_readings(wildcards):
    """What people read of a paper's data set, where that is part of a table."""
    path = HERE / f"resources/readings/{wildcards.paper}.csv"
    return [str(path)] if path.exists() else []


def table_file(wildcards):
    """A file of the user's that a table shows, where the configuration names it."""
    key = PAPERS[wildcards.paper].tables[wildcards.table].file
    return [getattr(CONFIG, key)] if key and getattr(CONFIG, key) else []


def table_rows(wildcards):
    """The rows that a table shows, as the plan has them."""
    return PLANS[wildcards.paper].rows.get(wildcards.table, [])


def table_content(wildcards):
    """The content of the files of the repository that a table reads, and of the user's file that it shows."""
    published = str(HERE / f"resources/published/{wildcards.paper}.csv")
    files = [published, PAPER_FILES[wildcards.paper], *table_readings(wildcards)]
    users = [CONTENTS.file(path) for path in table_file(wildcards) if Path(path).is_file()]
    return digest_of([content_of(files), *users])


def table_code(wildcards):
    """Param: `code` of a table, with the modules of its paper and of the tasks of the paper's file."""
    tasks = {f"lextables.tasks.{task.task}.plan" for task in PAPERS[wildcards.paper].tasks.values()}
    of_paper = package_modules(wildcards.paper, "registry", "tables")
    return fingerprint_of("table.py", *of_paper, *sorted(tasks))


@cache
def sources_of(paper):
    """The sources that are a paper's: of its name, in its file, or of a file that its data sets are read from."""
    named = {name for name in SOURCES if name == paper or name.startswith(f"{paper}_")}
    entries = PAPERS[paper].data.values()
    files = [file for entry in entries for files in entry.named([]).values() for file in files]
    files += [file for entry in entries for file in entry.instead.values()]
    return named | PAPERS[paper].sources.keys() | {file.split("/")[0] for file in files}


@cache
def source_words(paper):
    """What the registry says of a paper's sources, and of those that are no paper's own; all pages show it."""
    owned = set().union(*map(sources_of, PAPERS))
    return sources.registry_texts(SOURCES, sorted(sources_of(paper) | (SOURCES.keys() - owned)))
