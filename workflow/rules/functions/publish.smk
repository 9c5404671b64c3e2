# The exports, and their inputs and params.

from lextables.models import prompts


def exports():
    """{export: (paper, data sets)}: one for each paper, and one for each data set with an export of its own.

    Auxiliary data sets, which others published, are left out.
    """
    exports = {}
    for paper in CONFIG.papers:
        entry = PAPERS[paper]
        separate = entry.publish.apart
        auxiliary = {
            name for name, data_set in entry.data.items() if data_set.auxiliary
        }
        own = {paper, *entry.data, *entry.tasks} - auxiliary - separate.keys()
        exports[paper] = (paper, sorted(own))
        exports |= {name: (paper, [name]) for name in separate}
    return exports


# The fields of a task that the formats of its data set depend on.
EXPORTED_FIELDS = {
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
PROMPT_FIELDS = {"classification": "prompt", "answers": "prompt", "spans": "presence"}


def export_about(wildcards):
    """Param: the parts of the paper's file that an export shows."""
    name, sets = EXPORTS[wildcards.export]
    paper = PAPERS[name]
    about = paper.model_dump(mode="json", include={"title", "citation", "publish"})
    tasks = {
        data_set: paper.tasks[data_set] for data_set in sets if data_set in paper.tasks
    }
    fields = {
        data_set: task.model_dump(mode="json", include=EXPORTED_FIELDS)
        for data_set, task in tasks.items()
    }
    for data_set, task in tasks.items():
        if prompt := getattr(
            getattr(task, "asking", None), PROMPT_FIELDS.get(task.task, ""), None
        ):
            fields[data_set]["prompt"] = prompts.load(
                PROJECT_PATH / f"resources/prompts/{prompt}.txt"
            ).plain()
    return about | {"tasks": fields}


def export_census(wildcards):
    """Input: the census of each data set of an export."""
    return [
        f"{RESULTS}/data/{name}/census.json" for name in EXPORTS[wildcards.export][1]
    ]


def export_rows(export):
    """{run folder: the rows that it fills} for the data sets of an export, without submitted predictions."""
    paper, names = EXPORTS[export]
    rows_of = {}
    for row in (
        row
        for rows in PLANS[paper].rows.values()
        for row in rows
        if not row["submitted"]
    ):
        for folder in (folder for runs in row["runs"].values() for folder in runs):
            if folder.split("/")[1] in names:
                rows_of.setdefault(folder, set()).add(row["row"])
    return {folder: sorted(rows_of[folder]) for folder in sorted(rows_of)}


def export_files(file):
    """Input function: a file of each run in an export."""
    return lambda wildcards: [
        f"{RESULTS}/{folder}/{file}" for folder in export_rows(wildcards.export)
    ]


# Experiments that predict the test split with trained weights.
READING = ("read", "rerank-tuned", "retrieve-tuned")


def runs_behind(run):
    """A run and all runs whose predictions it depends on."""
    return {run}.union(*map(runs_behind, SPECS[run].needs))


@cache
def export_weights(export):
    """Input: the fine-tuned weights behind the rows of an export.

    Left out are linear models, which only lextables loads, trainings on a share of the examples, and those of zero
    updates, which keep their first weights.
    """
    names = EXPORTS[export][1]
    shown = export_rows(export)
    behind = {
        other for run in SPECS if run.folder in shown for other in runs_behind(run)
    }
    folders = set()
    for run in behind:
        if run.paper not in names or run.experiment not in READING:
            continue
        for training in SPECS[run].sources:
            learnt = SPECS[training].settings
            whole = learnt.get("updates") != [0] and learnt.get("percent", 100) == 100
            own = training.experiment == "train" and training.paper == run.paper
            if whole and own and learnt.get("kind") != "linear":
                folders.add(f"{RESULTS}/{training.folder}/weights")
    return sorted(folders)
