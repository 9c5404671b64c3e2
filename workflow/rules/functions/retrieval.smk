# Input functions and params of the rules of retrieval.


def collection(wildcards):
    """Input: the tables that the task reads."""
    task = RETRIEVAL[wildcards.dataset].model_dump(mode="json", include={"names"})
    return data(wildcards.dataset, *collection_files(task))


def retrieval_task(wildcards):
    """Param: the task for ranking and training, without the metrics."""
    return RETRIEVAL[wildcards.dataset].model_dump(
        mode="json", include=rankings.RANKED_BY
    )


def scored_task(wildcards):
    """Param: the task for choosing and scoring."""
    return RETRIEVAL[wildcards.dataset].model_dump(
        mode="json", include=rankings.SCORED_BY
    )


CONDITIONS = rankings.conditions_by_system(SPECS)


def conditions_of(wildcards):
    """The conditions of the runs that one job makes: that of the wildcards, or all of a system."""
    if "condition" in wildcards.keys():
        return [wildcards.condition]
    return CONDITIONS[wildcards.experiment, wildcards.dataset, wildcards.model]


def ranking_settings(wildcards):
    """Param: {condition: settings} of the runs that one job makes."""
    names = conditions_of(wildcards)
    return {name: settings(wildcards, condition=name) for name in names}


def hits_of(wildcards):
    """Input: the hits that a job reads, by condition; empty for a retriever."""
    hits = []
    for name in conditions_of(wildcards):
        hits += needs(wildcards, condition=name)
    return hits


def in_conditions(file, conditions):
    """A file of the run of each condition."""
    return [f"{run_folder(condition=name, seed=0)}/{file}" for name in conditions]


def ranker_params(kind):
    """Params: the module that ranks, and the fingerprint of the script with it."""
    name = rankings.ranker(kind)
    ranker_module = f"{rankings.RANKERS}.{name}"
    return {"ranker": name, "code": code("retrieval_rank.py", ranker_module)}


def tuning(wildcards):
    """Param: the kind of model that a run fine-tunes, as in the name of its module."""
    return rankings.ranker(settings(wildcards)["kind"])


def tuning_code(wildcards):
    """Param: `code` of a training, which has a module for each kind of model."""
    return fingerprint_of(
        "retrieval_train.py", f"lextables.tasks.retrieval.{tuning(wildcards)}_tuning"
    )


def chosen_by(wildcards, searched):
    """Input: the predictions of the searches that a choice is made from, or of the retriever that they reorder."""
    return [
        f"{RESULTS}/{run.folder}/predictions.parquet"
        for run in spec(run_of(wildcards)).needs
        if (run.experiment == "search") == searched
    ]


def searched_rates(wildcards):
    """Param: [seed, learning rate] of the searches that a choice is made from."""
    return [
        [run.seed, spec(run).settings["learning_rate"]]
        for run in spec(run_of(wildcards)).needs
        if run.experiment == "search"
    ]


def ranking_work(wildcards):
    """The work of a job that makes all runs of a model."""
    names = conditions_of(wildcards)
    return estimator().work([run_of(wildcards, condition=name) for name in names])


def ranking_resources(kind):
    """The resources of a ranking rule for this kind of system."""
    if kind in rankings.WITHOUT_MODEL:
        return {"mem_mb": per_attempt(resources.LEAST_MB), "runtime": capped(120)}
    if kind == "language-model":
        return asking_job(720, ranking_work)
    return model_job(ranking_work)
