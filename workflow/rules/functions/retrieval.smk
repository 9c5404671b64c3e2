# What the rules of retrieval read, by their wildcards.


def collection(wildcards):
    """The files of the data set that its task reads."""
    task = RETRIEVAL[wildcards.dataset].model_dump(mode="json", include={"names"})
    return data(wildcards.dataset, *collection_files(task))


# What hits depend on of the registry's task, and what choosing and scoring do; no row or grid.
RANKED_BY = {"names", "forms", "pool", "training", "validation", "test", "top_gain"}
SCORED_BY = RANKED_BY | {"metrics", "groups", "choose_by"}


def retrieval_task(wildcards):
    """The task as ranking and training read it: no metric changes a hit."""
    return RETRIEVAL[wildcards.dataset].model_dump(mode="json", include=RANKED_BY)


def scored_task(wildcards):
    """The task as choosing and scoring read it."""
    return RETRIEVAL[wildcards.dataset].model_dump(mode="json", include=SCORED_BY)


# {(experiment, data set, model): the conditions of its runs}: the forms of the queries, and of a retriever that
# reads documents in several ways these too.
CONDITIONS = {}
for planned in SPECS:
    CONDITIONS.setdefault((planned.experiment, planned.paper, planned.model), []).append(planned.condition)


def forms_of(experiment):
    """{condition: settings} of the runs that one job makes, so that documents are encoded or analysed once."""

    def by_form(wildcards):
        found = CONDITIONS[experiment, wildcards.dataset, wildcards.model]
        return {name: settings(wildcards, experiment=experiment, condition=name) for name in found}

    return by_form


def first_hits(wildcards):
    """The hits that a reranker reorders, in the order of the forms."""
    forms = RETRIEVAL[wildcards.dataset].forms
    return [needs(wildcards, experiment="rerank", condition=form)[0] for form in forms]


def asked_hits(wildcards):
    """The hits that a language model is asked about, in the order of its conditions."""
    found = CONDITIONS["ask", wildcards.dataset, wildcards.model]
    return [needs(wildcards, experiment="ask", condition=name)[0] for name in found]


def in_forms(experiment, file, forms):
    """A file of each form's run, or of each condition's."""
    return [f"{run_folder(experiment, condition=form, seed=0)}/{file}" for form in forms]


def by_conditions(experiment, name, kind):
    """{conditions: the pattern of the models of a data set's runs of one kind that rank under these}."""
    alike = {}
    for model in systems(experiment, name, kind):
        alike.setdefault(tuple(CONDITIONS[experiment, name, model]), set()).add(re.escape(model))
    return {conditions: any_of(those) for conditions, those in sorted(alike.items())}


def rerankers(name, kind):
    """The pattern of a data set's rerankers of one kind, each with the retriever whose hits it reorders."""
    return any_of(map(re.escape, systems("rerank", name, kind)))


def systems(experiment, name, kind):
    """The models of a data set's runs of this experiment and kind."""
    found = (run for run in SPECS if run.experiment == experiment and run.paper == name)
    return {run.model for run in found if SPECS[run].settings["kind"] == kind}


def tuning(experiment):
    """What gives the kind of model that a run of this experiment fine-tunes, as the name of its module."""
    return lambda wildcards: settings(wildcards, experiment=experiment)["kind"].replace("-", "_")


def tuning_code(script, experiment):
    """The code of a training, in which each kind of model has a part of its own: a change repeats no other's."""
    kind = tuning(experiment)
    return lambda wildcards: fingerprint_of(script, f"lextables.tasks.retrieval.{kind(wildcards)}_tuning")


def chosen_by(wildcards, searched):
    """The predictions of the searches that a choice is made from, or of the retriever that they reorder."""
    found = spec(run_of(wildcards, experiment="choice")).needs
    runs = [run for run in found if (run.experiment == "search") == searched]
    return [f"{RESULTS}/{run.folder}/predictions.parquet" for run in runs]
