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
    if wildcards.experiment != "mark":
        return []
    return answers_tables("highlights")(wildcards)


def answered_by(experiment, *kinds):
    """The pattern of the models of these kinds in an experiment."""
    models = models_of(SPECS, ANSWERS, experiment, kinds)
    return any_of(map(re.escape, models))


def predictor_params(predictor):
    """Params: the module of a kind of models, and the fingerprint of the script with it."""
    predictor_module = f"lextables.tasks.answers.predictors.{predictor}"
    return {
        "predictor": predictor,
        "code": code("answers_predict.py", predictor_module),
    }
