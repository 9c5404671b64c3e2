# Input functions and params of the rules of retrieval.


def collection(wildcards):
    """Input: the tables that the task reads."""
    task = RETRIEVAL[wildcards.dataset].model_dump(mode="json", include={"names"})
    return data(wildcards.dataset, *collection_files(task))


# The fields of the registry's task that hits depend on, and those that choosing and scoring depend on.
RANKED_BY = {"names", "forms", "pool", "training", "validation", "test", "top_gain"}
SCORED_BY = RANKED_BY | {"metrics", "groups", "choose_by"}


def retrieval_task(wildcards):
    """Param: the task for ranking and training, without the metrics."""
    return RETRIEVAL[wildcards.dataset].model_dump(mode="json", include=RANKED_BY)


def scored_task(wildcards):
    """Param: the task for choosing and scoring."""
    return RETRIEVAL[wildcards.dataset].model_dump(mode="json", include=SCORED_BY)


# {(experiment, data set, model): the conditions of its runs}: the forms of the queries and, for a retriever that
# reads documents in several ways, these ways.
CONDITIONS = {}
for planned in SPECS:
    CONDITIONS.setdefault(
        (planned.experiment, planned.paper, planned.model), []
    ).append(planned.condition)


def conditions_of(wildcards):
    """The conditions of the runs that one job makes."""
    return CONDITIONS[wildcards.experiment, wildcards.dataset, wildcards.model]


def settings_by_condition(wildcards):
    """Param: {condition: settings} of the runs that one job makes."""
    return {
        name: settings(wildcards, condition=name) for name in conditions_of(wildcards)
    }


def hits_of(wildcards):
    """Input: the hits that a reranker or a language model reorders, by condition; empty for a retriever."""
    return [
        path
        for name in conditions_of(wildcards)
        for path in needs(wildcards, condition=name)
    ]


def in_conditions(file, conditions):
    """A file of the run of each condition."""
    return [f"{run_folder(condition=name, seed=0)}/{file}" for name in conditions]


def ranking_rules():
    """(data set, experiment, stage, conditions, pattern of the models, name) of each ranking rule.

    Models whose runs have the same conditions share a rule.
    """
    for name in RETRIEVAL:
        for (experiment, kind), stage in STAGES.items():
            by_conditions = {}
            for model in systems(experiment, name, kind):
                conditions = tuple(CONDITIONS[experiment, name, model])
                by_conditions.setdefault(conditions, set()).add(re.escape(model))
            for number, (conditions, models) in enumerate(
                sorted(by_conditions.items())
            ):
                step = f"retrieve_{stage}" if experiment == "retrieve" else stage
                title = f"{name}_{step}" + (f"_{number}" if number else "")
                yield name, experiment, stage, conditions, any_of(models), title


def systems(experiment, name, kind):
    """The models of a data set's runs of this experiment and kind."""
    runs = (run for run in SPECS if run.experiment == experiment and run.paper == name)
    return {run.model for run in runs if SPECS[run].settings["kind"] == kind}


def tuning(wildcards):
    """Param: the kind of model that a run fine-tunes, as in the name of its module."""
    return settings(wildcards)["kind"].replace("-", "_")


def tuning_code(wildcards):
    """Param: `code` of a training, which has a module for each kind of model."""
    return fingerprint_of(
        "retrieval_train.py", f"lextables.tasks.retrieval.{tuning(wildcards)}_tuning"
    )


def chosen_by(wildcards, searched):
    """Input: the predictions of the searches that a choice is made from, or of the retriever that they reorder."""
    runs = [
        run
        for run in spec(run_of(wildcards)).needs
        if (run.experiment == "search") == searched
    ]
    return [f"{RESULTS}/{run.folder}/predictions.parquet" for run in runs]


def ranking_work(wildcards):
    """The work of a job that makes all runs of a model."""
    return estimator().work(
        [run_of(wildcards, condition=name) for name in conditions_of(wildcards)]
    )


def ranking_resources(stage):
    """The resources of a ranking rule."""
    if stage in WITHOUT_MODEL:
        return {"mem_mb": per_attempt(resources.LEAST_MB), "runtime": capped(120)}
    return asking_job(720, ranking_work) if stage == "ask" else model_job(ranking_work)
