# Inputs and params of the rule of submitted predictions.


def submitted_data(wildcards):
    """Input: the tables that predictions are checked against."""
    tables = {
        "retrieval": collection,
        "spans": lambda wildcards: data(wildcards.dataset, "contracts", "questions"),
        "classification": CLASSIFICATION.examples_and_heads,
        "answers": answers_tables(*ANSWERED_FROM),
    }
    return tables[TASKS[wildcards.dataset].task](wildcards)


# The fields of a task that the check depends on.
CHECKED_FIELDS = {
    "task",
    "names",
    "test",
    "evaluator",
    "n_best",
    "linear",
    "loss",
    "multi_label",
    "heads",
}


def submitted_task(wildcards):
    """Param: the task for the check."""
    return TASKS[wildcards.dataset].model_dump(mode="json", include=CHECKED_FIELDS)


def submitted_code(wildcards):
    """Param: `code` of the check, which has a module for each kind of task."""
    return fingerprint_of(
        "submitted.py", f"lextables.tasks.{TASKS[wildcards.dataset].task}.submitted"
    )
