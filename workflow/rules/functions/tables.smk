# Inputs and params of the tables.


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
    """The data set of a table, by default the paper's own."""
    return PAPERS[wildcards.paper].tables[wildcards.table].of or wildcards.paper


def table_beside(wildcards):
    """Input: the census of each other available data set that a table shows."""
    beside = PAPERS[wildcards.paper].tables[wildcards.table].beside
    return [
        f"{RESULTS}/data/{name}/census.json" for name in beside if name not in ABSENT
    ]


def table_absent(wildcards):
    """Param: {other data set of a table that is not available: the reason}."""
    beside = PAPERS[wildcards.paper].tables[wildcards.table].beside
    return {name: ABSENT[name] for name in beside if name in ABSENT}


def of_runs(file):
    """Input function: a file of each run that a table shows; empty for tables made from the data sets."""
    return lambda wildcards: [
        f"{RESULTS}/{folder}/{file}"
        for folder in PLANS[wildcards.paper].folders(wildcards.table)
    ]


def table_readings(wildcards):
    """Input: human readings of a paper's data set, if there are any."""
    path = PROJECT_PATH / f"resources/readings/{wildcards.paper}.csv"
    return [str(path)] if path.exists() else []


def table_file(wildcards):
    """Input: the user's file that a table shows, if the configuration names it."""
    key = PAPERS[wildcards.paper].tables[wildcards.table].file
    return [getattr(CONFIG, key)] if key and getattr(CONFIG, key) else []


def table_rows(wildcards):
    """The planned rows of a table."""
    return PLANS[wildcards.paper].rows.get(wildcards.table, [])


def table_content(wildcards):
    """Param: the digest of the repository's files and the user's file that a table reads."""
    published = str(PROJECT_PATH / f"resources/published/{wildcards.paper}.csv")
    files = [published, PAPER_FILES[wildcards.paper], *table_readings(wildcards)]
    users = [
        CONTENTS.file(path) for path in table_file(wildcards) if Path(path).is_file()
    ]
    return digest_of([content_of(files), *users])


def table_code(wildcards):
    """Param: `code` of a table, with the modules of its paper and of the tasks of the paper's file."""
    tasks = {
        f"lextables.tasks.{task.task}.plan"
        for task in PAPERS[wildcards.paper].tasks.values()
    }
    of_paper = package_modules(wildcards.paper, "registry", "tables")
    return fingerprint_of("table.py", *of_paper, *sorted(tasks))


@cache
def sources_of(paper):
    """The sources of a paper: with its name, in its file, or of a file of its data sets."""
    named = {name for name in SOURCES if name == paper or name.startswith(f"{paper}_")}
    entries = PAPERS[paper].data.values()
    files = [
        file
        for entry in entries
        for files in entry.named([]).values()
        for file in files
    ]
    files += [file for entry in entries for file in entry.instead.values()]
    return named | PAPERS[paper].sources.keys() | {file.split("/")[0] for file in files}


@cache
def source_words(paper):
    """The registry's texts on a paper's sources and on sources of no paper, which pages show."""
    owned = set().union(*map(sources_of, PAPERS))
    return sources.registry_texts(
        SOURCES, sorted(sources_of(paper) | (SOURCES.keys() - owned))
    )
