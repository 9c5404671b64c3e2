# Inputs and params of the rule of submitted predictions.


def given_data(wildcards):
    """Input: the tables that predictions are checked against."""
    tables = {
        "retrieval": collection,
        "spans": lambda wildcards: data(wildcards.dataset, "contracts", "questions"),
        "classification": examples_and_heads,
        "answers": answers_tables(*ANSWERED_FROM),
    }
    return tables[TASKS[wildcards.dataset].task](wildcards)


# The fields of a task that the check depends on.
GIVEN_BY = {"task", "names", "test", "n_best", "linear", "loss", "multi_label", "heads"}


def given_task(wildcards):
    """Param: the task for the check."""
    return TASKS[wildcards.dataset].model_dump(mode="json", include=GIVEN_BY)


def given_code(wildcards):
    """Param: `code` of the check, which has a module for each kind of task."""
    return fingerprint_of("submitted.py", f"lextables.tasks.{TASKS[wildcards.dataset].task}.submitted")
