# Classification: texts or pairs, and heads with answers; the predictions are a probability for each answer.
#
#   in    {RESULTS}/data/{dataset}/{examples,heads,texts}.parquet, under the names in the registry
#   out   {RESULTS}/features/classification/...; {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps tokens -> search -> choice -> train -> read, or single-task -> score;
#         linear baselines: (vectors of texts ->) train -> read -> score

from lextables.planning.classification import Classification

FEATURES = f"{RESULTS}/features/classification/{{dataset}}"
TOKENS = f"{FEATURES}/{{model}}/{{length}}/tokens.parquet"
TEXT_VECTORS = f"{FEATURES}/{{encoder}}/vectors-{{piece}}.parquet"
CLASSIFICATION = Classification(RUNS, TOKENS)
CLASSIFIED = any_of(CLASSIFICATION.tasks)
# Patterns of the linear models, and of all others.
CLASSIFICATION_LINEAR = any_of(PROJECT.linear_models("classification"))
CLASSIFICATION_NEURAL = rf"(?!(?:{CLASSIFICATION_LINEAR})/)[^/]+"


# Each text once, for all heads.
rule classification_features:
    input:
        examples=CLASSIFICATION.tables("examples"),
        texts=CLASSIFICATION.tables("texts"),
    output:
        tokens=TOKENS,
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{model}}/{{length}}.log",
    wildcard_constraints:
        dataset=CLASSIFIED,
        length=r"\d+",
    # At the head of a long chain of jobs.
    priority: 1
    conda:
        ENVIRONMENT
    params:
        code=code("classification_features.py"),
        weights=CLASSIFICATION.tokenizer,
        views=CLASSIFICATION.tokenised_views,
    message:
        "Tokenising the texts of {wildcards.dataset} for {wildcards.model}, {wildcards.length} tokens at most."
    script:
        "../scripts/classification_features.py"


# Search and single-task models are read while they are trained, and their weights are deleted: 144 models would
# fill a disk.
rule classification_search:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=CLASSIFICATION.tables("examples", "heads"),
        tokens=CLASSIFICATION.tokens_of_run,
        choice=RUNS.choice,
        start_weights=RUNS.of_sources("weights"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="search",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.run_work()),
    params:
        code=code("classification_train.py"),
        settings=RUNS.settings,
        splits=CLASSIFICATION.splits("training", "validation"),
        device=CONFIG.device,
        work=RUNS.work_folder,
    message:
        "Training {wildcards.model} on {wildcards.dataset} and reading the validation examples ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/classification_train.py"


use rule classification_search as classification_single_task with:
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="single-task",
    params:
        splits=CLASSIFICATION.splits("final", "test"),
    message:
        "Training {wildcards.model} for each head of {wildcards.dataset} and reading the test examples ({wildcards.condition}, seed {wildcards.seed})."


use rule classification_single_task as classification_train with:
    output:
        weights=directory(f"{RUN}/weights"),
        record=f"{RUN}/run.json",
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="train",
        model=CLASSIFICATION_NEURAL,
    message:
        "Training {wildcards.model} for all heads of {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."


rule classification_choose:
    input:
        data=CLASSIFICATION.tables("examples", "heads"),
        published=CLASSIFICATION.published_settings,
        searched=RUNS.needed_predictions,
        records=RUNS.needed_records,
    output:
        f"{RUNS.folder(seed=0)}/run.json",
    log:
        f"{RESULTS}/logs/{{dataset}}/{{experiment}}/{{model}}/{{condition}}.log",
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="choice",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=code("classification_choose.py"),
        settings=RUNS.settings,
        splits=CLASSIFICATION.splits("validation"),
    message:
        "Choosing the settings of {wildcards.model} for {wildcards.dataset} ({wildcards.condition})."
    script:
        "../scripts/classification_choose.py"


rule classification_read:
    input:
        data=CLASSIFICATION.tables("examples", "heads"),
        tokens=CLASSIFICATION.tokens_of_run,
        weights=RUNS.of_sources("weights"),
        source_records=RUNS.of_sources("run.json"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="read",
        model=CLASSIFICATION_NEURAL,
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.run_work()),
    params:
        code=code("classification_read.py"),
        settings=RUNS.settings,
        splits=CLASSIFICATION.splits("test"),
        device=CONFIG.device,
    message:
        "Reading the test examples of {wildcards.dataset} with {wildcards.model} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/classification_read.py"


rule classification_vectors:
    input:
        examples=CLASSIFICATION.tables("examples"),
        texts=CLASSIFICATION.tables("texts"),
    output:
        vectors=TEXT_VECTORS,
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{encoder}}/vectors-{{piece}}.log",
    wildcard_constraints:
        dataset=CLASSIFIED,
        piece=r"\d+",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.encoding),
    params:
        code=code("classification_vectors.py"),
        weights=CLASSIFICATION.encoder,
        views=CLASSIFICATION.encoded_views,
        device=CONFIG.device,
    message:
        "Encoding the texts of {wildcards.dataset} with {wildcards.encoder}, in pieces of {wildcards.piece} words."
    script:
        "../scripts/classification_vectors.py"


# Linear baselines: no tokens, no GPU.
rule classification_train_linear:
    input:
        data=CLASSIFICATION.tables("examples", "heads", "texts"),
        vectors=RUNS.vectors(TEXT_VECTORS, piece="piece"),
    output:
        weights=directory(f"{RUN}/weights"),
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="train",
        model=CLASSIFICATION_LINEAR,
    conda:
        ENVIRONMENT
    threads: min(2, RESOURCES.model_threads)
    resources:
        mem_mb=per_attempt(8000),
    params:
        code=code("classification_train_linear.py"),
        settings=RUNS.settings,
        splits=CLASSIFICATION.splits("final"),
    message:
        "Training {wildcards.model} on the examples of {wildcards.dataset} ({wildcards.condition})."
    script:
        "../scripts/classification_train_linear.py"


rule classification_read_linear:
    input:
        data=CLASSIFICATION.tables("examples", "heads", "texts"),
        vectors=RUNS.vectors(TEXT_VECTORS, piece="piece"),
        weights=RUNS.of_sources("weights"),
        source_records=RUNS.of_sources("run.json"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="read",
        model=CLASSIFICATION_LINEAR,
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(8000),
    params:
        code=code("classification_read_linear.py"),
        settings=RUNS.settings,
        splits=CLASSIFICATION.splits("test"),
    message:
        "Reading the test examples of {wildcards.dataset} with {wildcards.model} ({wildcards.condition})."
    script:
        "../scripts/classification_read_linear.py"


# Language models without training.
rule classification_ask:
    input:
        data=CLASSIFICATION.tables("examples", "heads", "texts"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="ask",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_asking(720, RESOURCES.run_work()),
    params:
        code=code("classification_ask.py"),
        settings=RUNS.settings,
        splits=CLASSIFICATION.splits("test"),
        device=CONFIG.device,
        asking=RUNS.asking,
    message:
        "Asking {wildcards.model} about the test examples of {wildcards.dataset}."
    script:
        "../scripts/classification_ask.py"


rule classification_score:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        predictions=f"{RUN}/predictions.parquet",
        data=CLASSIFICATION.tables("examples", "heads"),
    output:
        scores=f"{RUN}/scores.parquet",
        units=f"{RUN}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment=any_of(PROJECT.scored_experiments("classification")),
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=code("classification_score.py"),
        splits=CLASSIFICATION.splits("test"),
        task=CLASSIFICATION.scores,
    message:
        "Scoring {wildcards.model} on the test examples of {wildcards.dataset} ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/classification_score.py"
