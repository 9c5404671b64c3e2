# Runs: the actions of all tasks.  Every rule takes its inputs, settings and resources
# from the job of its run, which `lextables plan --job <folder of the run>` prints; the
# folder `actions` of a task has what each action does.  Param `job` is what the action
# is given, and `code` the fingerprint of its code: if one of them changes, the rule
# runs again.  Param `places` has folders and limits, which change no result.
#
#   in    {RESULTS}/data/{dataset}/*.parquet, features, and other runs
#   out   {RESULTS}/runs/{dataset}/<experiment>/{model}/{condition}/seed<k>/: weights, or predictions.parquet; run.json;
#         scores.parquet and units.parquet beside predictions
#   steps (pretrain ->) search -> choose -> train, or the released weights -> predict -> (combine ->) score;
#         rank -> (rerank ->) score; ask -> score; submitted -> score

# {model} is the key of a model in a paper's file, such keys joined by `+`, or the key
# of a user's row.  {condition} distinguishes the runs of one model: by the view, the
# share of the training data or the trial.
#
# JOBS and the other names without definition here are from common.smk.

# The jobs of runs with these parts; the other parts of a run are wildcards.  Each
# object has `folder`, the pattern of the folders of the runs, and functions of
# wildcards for inputs, params and resources.
PRETRAIN = JOBS.rule(experiment="pretrain", condition="contracts", seed=0)
RELEASE = JOBS.rule(experiment="release", condition="as-released", seed=0)
SEARCH = JOBS.rule(experiment="search")
SINGLE_TASK = JOBS.rule(experiment="single-task")
CHOOSE = JOBS.rule(experiment="choice", seed=0)
TRAIN = JOBS.rule(experiment="train")
SUBMITTED = JOBS.rule(experiment="submitted")
SCORE = JOBS.scoring()
FETCHED += JOBS.released_files  # the authors' weights, for the target `fetch`


wildcard_constraints:
    dataset="[^/]+",
    experiment="[^/]+",
    model="[^/]+",
    condition="[^/]+",
    seed=r"\d+",


# Masked language modelling on contracts.
rule pretrain:
    input:
        # Here and in the other rules: files by their role for the action, such as
        # `data` and `weights`.
        unpack(PRETRAIN.inputs),
    output:
        weights=directory(f"{PRETRAIN.folder}/weights"),
        record=f"{PRETRAIN.folder}/run.json",
    log:
        f"{PRETRAIN.folder}/log.txt",
    conda:
        ENVIRONMENT
    threads: PRETRAIN.threads
    resources:
        **PRETRAIN.resources,
    params:
        code=PRETRAIN.code,
        job=PRETRAIN.params,
        places=PRETRAIN.places,
    message:
        "Training {wildcards.model} to fill in masked words of contracts."
    script:
        "../scripts/task.py"


# The authors' fine-tuned weights, unpacked from their zip.
rule release:
    input:
        unpack(RELEASE.inputs),
    output:
        weights=directory(f"{RELEASE.folder}/weights"),
        record=f"{RELEASE.folder}/run.json",
    log:
        f"{RELEASE.folder}/log.txt",
    conda:
        ENVIRONMENT
    params:
        code=RELEASE.code,
        job=RELEASE.params,
        places=RELEASE.places,
    message:
        "Unpacking the authors' {wildcards.model}."
    script:
        "../scripts/task.py"


# One training for each trial of a grid: it predicts the validation part, and its
# weights are deleted.
rule search:
    input:
        unpack(SEARCH.inputs),
    output:
        predictions=f"{SEARCH.folder}/predictions.parquet",
        record=f"{SEARCH.folder}/run.json",
    log:
        f"{SEARCH.folder}/log.txt",
    conda:
        ENVIRONMENT
    threads: SEARCH.threads
    resources:
        **SEARCH.resources,
    params:
        code=SEARCH.code,
        job=SEARCH.params,
        places=SEARCH.places,
    message:
        "Training {wildcards.model} on {wildcards.dataset} for a choice ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/task.py"


# One training for each head: it predicts the test part, and its weights are deleted,
# because 144 models would fill a disk.
rule single_task:
    input:
        unpack(SINGLE_TASK.inputs),
    output:
        predictions=f"{SINGLE_TASK.folder}/predictions.parquet",
        record=f"{SINGLE_TASK.folder}/run.json",
    log:
        f"{SINGLE_TASK.folder}/log.txt",
    conda:
        ENVIRONMENT
    threads: SINGLE_TASK.threads
    resources:
        **SINGLE_TASK.resources,
    params:
        code=SINGLE_TASK.code,
        job=SINGLE_TASK.params,
        places=SINGLE_TASK.places,
    message:
        "Training {wildcards.model} for each head of {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/task.py"


# The best trial of a search, or the authors' settings.
rule choose:
    input:
        unpack(CHOOSE.inputs),
    output:
        record=f"{CHOOSE.folder}/run.json",
    log:
        f"{CHOOSE.folder}/log.txt",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=CHOOSE.code,
        job=CHOOSE.params,
        places=CHOOSE.places,
    message:
        "Choosing the settings of {wildcards.model} for {wildcards.dataset} ({wildcards.condition})."
    script:
        "../scripts/task.py"


# A training with the chosen settings, whose weights are kept.
rule train:
    input:
        unpack(TRAIN.inputs),
    output:
        weights=directory(f"{TRAIN.folder}/weights"),
        record=f"{TRAIN.folder}/run.json",
    log:
        f"{TRAIN.folder}/log.txt",
    conda:
        ENVIRONMENT
    threads: TRAIN.threads
    resources:
        **TRAIN.resources,
    params:
        code=TRAIN.code,
        job=TRAIN.params,
        places=TRAIN.places,
    message:
        "Training {wildcards.model} on {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/task.py"


# Predictions of one run for the test part.  PREDICTING are the experiments with such
# runs.  Those in COMBINING fuse or join the predictions of other runs, which takes
# seconds and needs no node of a cluster.
for experiment in PREDICTING:
    PREDICT = JOBS.rule(experiment=experiment)

    rule:
        name:
            experiment
        input:
            unpack(PREDICT.inputs),
        output:
            predictions=f"{PREDICT.folder}/predictions.parquet",
            record=f"{PREDICT.folder}/run.json",
        log:
            f"{PREDICT.folder}/log.txt",
        localrule: SMALL_JOBS_ARE_LOCAL and experiment in COMBINING
        conda:
            ENVIRONMENT
        threads: PREDICT.threads
        resources:
            **PREDICT.resources,
        params:
            code=PREDICT.code,
            job=PREDICT.params,
            places=PREDICT.places,
        message:
            f"Predicting the test part of {{wildcards.dataset}} with {{wildcards.model}} ({experiment}, {{wildcards.condition}}, seed {{wildcards.seed}})."
        script:
            "../scripts/task.py"


# One job makes all runs of a system that ranks without being trained here, one run for
# each condition: every form of the queries, and every way to read the documents.
for ranking_rule in JOBS.ranking_rules():
    RANK = JOBS.ranking(ranking_rule)
    RANK_FOLDERS = [
        JOBS.folder(**ranking_rule.fixed, condition=name, seed=0)
        for name in ranking_rule.conditions
    ]

    rule:
        name:
            ranking_rule.name
        input:
            unpack(RANK.inputs),
        output:
            predictions=[f"{folder}/predictions.parquet" for folder in RANK_FOLDERS],
            record=[f"{folder}/run.json" for folder in RANK_FOLDERS],
        log:
            f"{RESULTS}/runs/{ranking_rule.dataset}/{ranking_rule.experiment}/{{model}}/log.txt",
        wildcard_constraints:
            model=any_of(ranking_rule.models),
        conda:
            ENVIRONMENT
        threads: RANK.threads
        resources:
            **RANK.resources,
        params:
            code=RANK.code,
            job=RANK.params,
            places=RANK.places,
        message:
            f"Ranking the documents of every query of {ranking_rule.dataset} with {{wildcards.model}} ({ranking_rule.experiment})."
        script:
            "../scripts/task.py"


# Language models without training; those that rank have a rule above.
for dataset in JOBS.asked_data_sets():
    ASK = JOBS.rule(dataset=dataset, experiment="ask")

    rule:
        name:
            f"{dataset}_ask"
        input:
            unpack(ASK.inputs),
        output:
            predictions=f"{ASK.folder}/predictions.parquet",
            record=f"{ASK.folder}/run.json",
        log:
            f"{ASK.folder}/log.txt",
        conda:
            ENVIRONMENT
        threads: ASK.threads
        resources:
            **ASK.resources,
        params:
            code=ASK.code,
            job=ASK.params,
            places=ASK.places,
        message:
            f"Asking {{wildcards.model}} about the test part of {dataset} ({{wildcards.condition}})."
        script:
            "../scripts/task.py"


# Predictions of a user, from the config key extra_predictions: checked against the data
# set, then scored like any.
rule submitted:
    input:
        unpack(SUBMITTED.inputs),
    output:
        predictions=f"{SUBMITTED.folder}/predictions.parquet",
        record=f"{SUBMITTED.folder}/run.json",
    log:
        f"{SUBMITTED.folder}/log.txt",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        code=SUBMITTED.code,
        job=SUBMITTED.params,
        places=SUBMITTED.places,
    message:
        "Checking the predictions of {wildcards.model} for {wildcards.dataset} (seed {wildcards.seed})."
    script:
        "../scripts/task.py"


# Metrics of a run's predictions, and the contributions of the test units to them.
rule score:
    input:
        unpack(SCORE.inputs),
    output:
        scores=f"{SCORE.folder}/scores.parquet",
        units=f"{SCORE.folder}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=SCORE.code,
        job=SCORE.params,
        places=SCORE.places,
    message:
        "Scoring {wildcards.model} on {wildcards.dataset} ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/task.py"
