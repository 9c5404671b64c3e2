# What the rule of given predictions reads, by its wildcards.


def given_data(wildcards):
    """The files of the data set that predictions are checked against."""
    tables = {
        "retrieval": collection,
        "spans": lambda wildcards: data(wildcards.dataset, "contracts", "questions"),
        "classification": examples_and_heads,
        "answers": answers_tables(*ANSWERED_FROM),
    }
    return tables[TASKS[wildcards.dataset].task](wildcards)


# What the check depends on of the registry's task, whichever it is.
GIVEN_BY = {"task", "names", "test", "n_best", "linear", "loss", "multi_label", "heads"}


def given_task(wildcards):
    """The task as the check reads it."""
    return TASKS[wildcards.dataset].model_dump(mode="json", include=GIVEN_BY)


def given_code(wildcards):
    """The code of the check, in which each task has a part of its own."""
    return fingerprint_of("submitted.py", f"lextables.tasks.{TASKS[wildcards.dataset].task}.submitted")
