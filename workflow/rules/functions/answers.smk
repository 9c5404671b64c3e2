# Input functions and params of the rules of answers.


def answers_names(wildcards):
    """Param: the data set's names of the tables and the column that the task reads."""
    return ANSWERS[wildcards.dataset].names.model_dump()


def answers_tables(*tables):
    """Input function: these tables of the task."""

    def files(wildcards):
        names = answers_names(wildcards)
        return data(wildcards.dataset, *(names[table] for table in tables))

    return files


def highlights_scored(wildcards):
    """Input: the human highlights, for a run that marks paragraphs; empty for others."""
    return (
        answers_tables("highlights")(wildcards)
        if wildcards.experiment == "mark"
        else []
    )


def answered_by(experiment, *kinds):
    """The pattern of the models of these kinds in an experiment."""
    runs = (
        run
        for run, spec in SPECS.items()
        if run.experiment == experiment and run.paper in ANSWERS
    )
    return any_of(
        {re.escape(run.model) for run in runs if SPECS[run].settings["kind"] in kinds}
    )
