# What the rules of answers read, by their wildcards.


def answers_names(wildcards):
    """What the data set calls the tables and the column that the task reads."""
    return ANSWERS[wildcards.dataset].names.model_dump()


def answers_tables(*tables):
    """What gives the files of these tables of the task."""

    def files(wildcards):
        names = answers_names(wildcards)
        return data(wildcards.dataset, *(names[table] for table in tables))

    return files


def highlights_scored(wildcards):
    """What people marked, for a run that marks; nothing for others."""
    return answers_tables("highlights")(wildcards) if wildcards.experiment == "mark" else []


def answered_by(experiment, *kinds):
    """The pattern of the models whose runs of this experiment are of these kinds."""
    found = (run for run, spec in SPECS.items() if run.experiment == experiment and run.paper in ANSWERS)
    return any_of({re.escape(run.model) for run in found if SPECS[run].settings["kind"] in kinds})
