# The exports, and their inputs and params.

from lextables.models import prompts


def exports():
    """{export: its paper and its data sets}: one for each paper, and one for each data set published separately.

    Auxiliary data sets are left out: others published them.
    """
    found = {}
    for paper in CONFIG.papers:
        entry = PAPERS[paper]
        alone = entry.publish.apart
        borrowed = {name for name, one in entry.data.items() if one.auxiliary}
        own = {paper, *entry.data, *entry.tasks} - borrowed - alone.keys()
        found[paper] = (paper, sorted(own))
        found |= {name: (paper, [name]) for name in alone}
    return found


# The fields of a task that the formats of its data set depend on.
HANDED_ON_BY = {
    "task",
    "evaluator",
    "names",
    "forms",
    "training",
    "validation",
    "test",
    "pool",
    "views",
    "asking",
}


# The field of a task's `asking` that names the prompt of its multiple-choice questions.
ASKED_BY = {"classification": "prompt", "answers": "prompt", "spans": "presence"}


def export_about(wildcards):
    """Param: the parts of the paper's file that an export shows."""
    name, sets = EXPORTS[wildcards.export]
    paper = PAPERS[name]
    about = paper.model_dump(mode="json", include={"title", "citation", "publish"})
    tasks = {one: paper.tasks[one] for one in sets if one in paper.tasks}
    by_task = {one: task.model_dump(mode="json", include=HANDED_ON_BY) for one, task in tasks.items()}
    for one, task in tasks.items():
        if prompt := getattr(getattr(task, "asking", None), ASKED_BY.get(task.task, ""), None):
            by_task[one]["prompt"] = prompts.load(PROJECT_PATH / f"resources/prompts/{prompt}.txt").plain()
    return about | {"tasks": by_task}


def export_census(wildcards):
    """Input: the census of each data set of an export."""
    return [f"{RESULTS}/data/{name}/census.json" for name in EXPORTS[wildcards.export][1]]


def export_rows(export):
    """{run folder: the rows that it fills} for the data sets of an export, without submitted predictions."""
    paper, names = EXPORTS[export]
    found = {}
    for row in (row for rows in PLANS[paper].rows.values() for row in rows if not row["submitted"]):
        for folder in (folder for runs in row["runs"].values() for folder in runs):
            if folder.split("/")[1] in names:
                found.setdefault(folder, set()).add(row["row"])
    return {folder: sorted(found[folder]) for folder in sorted(found)}


def export_files(file):
    """Input function: a file of each run in an export."""
    return lambda wildcards: [f"{RESULTS}/{folder}/{file}" for folder in export_rows(wildcards.export)]


def is_table(path):
    """Whether a file of `table_files` is the csv of a table."""
    return path.endswith(".csv") and not path.endswith(".comparison.csv")


def record_texts(paper):
    """Param: a paper's citation, the URL of its data, and {table: title}, for records."""
    entry = PAPERS[paper]
    words = source_words(paper)
    pages = [words[name]["homepage"] for name in sorted(sources_of(paper)) if words[name].get("homepage")]
    titles = {name: table.title for name, table in entry.tables.items()}
    return {"citation": entry.citation, "homepage": pages[0] if pages else "", "titles": titles}
