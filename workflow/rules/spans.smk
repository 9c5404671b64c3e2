# Span extraction: questions about contracts; predictions are the n best answer spans.
#
#   in    {RESULTS}/data/{dataset}/{contracts,questions,answers,training_examples}.parquet
#   out   {RESULTS}/features/spans/...; {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps windows -> (pretrain ->) search -> choice -> train, or the released weights -> read -> (join ->) score;
#         linear baselines: (vectors of text units ->) train -> read -> score, without windows
#         for text outputs: train -> read -> quote -> score, or a language model's outputs -> score

from lextables.planning.spans import SHARDS, SpanRuns, window_files

SPAN_RUNS = SpanRuns(RUNS)
SPAN_DATASETS = any_of(SPAN_RUNS.tasks)
# Data sets with scores of text outputs, and data sets with scores of spans.
TEXT_DATASETS = any_of(SPAN_RUNS.text_datasets)
ONLY_SPANS = any_of(SPAN_RUNS.tasks.keys() - SPAN_RUNS.text_datasets)
# Wildcard patterns of the linear models, and of all others.
LINEAR_SPAN_MODELS = any_of(PROJECT.linear_models("spans"))
NEURAL_SPAN_MODELS = rf"(?!(?:{LINEAR_SPAN_MODELS})/)[^/]+"
PRETRAINED = {"experiment": "pretrain", "condition": "contracts"}
PRETRAINED_FOLDER = RUNS.folder(**PRETRAINED, seed=0)
RELEASED = {"experiment": "release", "condition": "as-released"}
RELEASED_FOLDER = RUNS.folder(**RELEASED, seed=0)
FETCHED += SPAN_RUNS.released_files


rule spans_features:
    input:
        data=PROJECT.tables("{dataset}", "contracts", "questions", "training_examples"),
        weights=SPAN_RUNS.tokenizer_weights,
    output:
        train=window_files(SPAN_RUNS.windows, "train"),
        validation=window_files(SPAN_RUNS.windows, "validation"),
        test=window_files(SPAN_RUNS.windows, "test"),
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{model}}/{{length}}x{{step}}.log",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        length=r"\d+",
        step=r"\d+",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        code=code("spans_features.py"),
        settings=SPAN_RUNS.cutting,
        shards=SHARDS,
    message:
        "Cutting the contracts of {wildcards.dataset} into windows of tokens for {wildcards.model}."
    script:
        "../scripts/spans_features.py"


# Masked language modelling on contracts.
rule spans_pretrain:
    input:
        contracts=SPAN_RUNS.pretraining_contracts,
    output:
        weights=directory(f"{PRETRAINED_FOLDER}/weights"),
        record=f"{PRETRAINED_FOLDER}/run.json",
    log:
        f"{PRETRAINED_FOLDER}/log.txt",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.run_work(**PRETRAINED)),
    params:
        code=code("spans_pretrain.py"),
        settings=lambda wildcards: RUNS.settings(wildcards, **PRETRAINED),
        work=lambda wildcards: RUNS.work_folder(wildcards, **PRETRAINED),
        device=CONFIG.device,
    message:
        "Training {wildcards.model} to fill in masked words of contracts."
    script:
        "../scripts/spans_pretrain.py"


# The authors' fine-tuned weights, unpacked from their zip.
rule spans_release:
    input:
        lambda wildcards: SPAN_RUNS.released_file(wildcards, **RELEASED),
    output:
        weights=directory(f"{RELEASED_FOLDER}/weights"),
        record=f"{RELEASED_FOLDER}/run.json",
    log:
        f"{RELEASED_FOLDER}/log.txt",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
    conda:
        ENVIRONMENT
    params:
        code=code("spans_release.py"),
        settings=lambda wildcards: RUNS.settings(wildcards, **RELEASED),
    message:
        "Unpacking the authors' {wildcards.model}."
    script:
        "../scripts/spans_release.py"


# One training for each trial of a grid, without the held-out contracts.
rule spans_search:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=PROJECT.tables("{dataset}", "contracts", "questions"),
        train=SPAN_RUNS.windows_of("train"),
        read=SPAN_RUNS.windows_of("validation"),
        start_weights=RUNS.of_sources("weights"),
        start_records=RUNS.of_sources("run.json"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        experiment="search",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.run_work()),
    params:
        code=code("spans_search.py"),
        settings=RUNS.settings,
        work=RUNS.work_folder,
        device=CONFIG.device,
    message:
        "Fine-tuning {wildcards.model} on a part of {wildcards.dataset} and reading the held-out contracts ({wildcards.condition})."
    script:
        "../scripts/spans_search.py"


rule spans_choose:
    input:
        data=PROJECT.tables("{dataset}", "contracts", "questions", "answers"),
        searched=RUNS.needed_predictions,
    output:
        f"{RUNS.folder(seed=0)}/run.json",
    log:
        f"{RESULTS}/logs/{{dataset}}/{{experiment}}/{{model}}/{{condition}}.log",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        experiment="choice",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=code("spans_choose.py"),
        settings=RUNS.settings,
    message:
        "Choosing the settings of {wildcards.model} on the held-out contracts of {wildcards.dataset}."
    script:
        "../scripts/spans_choose.py"


rule spans_train:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=PROJECT.tables("{dataset}", "contracts", "questions"),
        train=SPAN_RUNS.windows_of("train"),
        start_weights=RUNS.of_sources("weights"),
        start_records=RUNS.of_sources("run.json"),
        choice=RUNS.choice,
    output:
        weights=directory(f"{RUN}/weights"),
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        experiment="train",
        model=NEURAL_SPAN_MODELS,
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.run_work()),
    params:
        code=code("spans_train.py"),
        settings=RUNS.settings,
        work=RUNS.work_folder,
        device=CONFIG.device,
    message:
        "Fine-tuning {wildcards.model} on the contracts of {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/spans_train.py"


# Predictions for the test contracts with fine-tuned, released or a user's weights.
rule spans_read:
    input:
        data=PROJECT.tables("{dataset}", "contracts", "questions"),
        train=SPAN_RUNS.windows_of("train"),
        read=SPAN_RUNS.windows_of("test"),
        weights=RUNS.of_sources("weights"),
        source_records=RUNS.of_sources("run.json"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        reading=directory(f"{RUN}/reading"),
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        experiment="read",
        model=NEURAL_SPAN_MODELS,
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.run_work()),
    params:
        code=code("spans_read.py"),
        settings=RUNS.settings,
        device=CONFIG.device,
    message:
        "Reading the test contracts of {wildcards.dataset} with {wildcards.model} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/spans_read.py"


# Sentence vectors of text units from a frozen encoder, shared by all linear models.
rule spans_vectors:
    input:
        data=PROJECT.tables("{dataset}", "contracts"),
    output:
        SPAN_RUNS.vectors,
    log:
        f"{RESULTS}/logs/{{dataset}}/vectors/{{encoder}}/{{length}}.log",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        length=r"\d+",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.encoding),
    params:
        code=code("spans_vectors.py"),
        settings=SPAN_RUNS.encoding,
        device=CONFIG.device,
    message:
        "Encoding the sentences of {wildcards.dataset} with {wildcards.encoder}."
    script:
        "../scripts/spans_vectors.py"


# Linear baselines: no windows, no pretrained weights, no GPU.
rule spans_train_linear:
    input:
        data=PROJECT.tables("{dataset}", "contracts", "training_examples"),
        vectors=RUNS.vectors(SPAN_RUNS.vectors, length="max_length"),
    output:
        weights=directory(f"{RUN}/weights"),
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        experiment="train",
        model=LINEAR_SPAN_MODELS,
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(6000),
    params:
        code=code("spans_train_linear.py"),
        settings=RUNS.settings,
    message:
        "Training {wildcards.model} on the contracts of {wildcards.dataset}."
    script:
        "../scripts/spans_train_linear.py"


rule spans_read_linear:
    input:
        data=PROJECT.tables("{dataset}", "contracts", "questions"),
        vectors=RUNS.vectors(SPAN_RUNS.vectors, length="max_length"),
        weights=RUNS.of_sources("weights"),
        source_records=RUNS.of_sources("run.json"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        experiment="read",
        model=LINEAR_SPAN_MODELS,
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        code=code("spans_read_linear.py"),
        settings=RUNS.settings,
    message:
        "Reading the test contracts of {wildcards.dataset} with {wildcards.model}."
    script:
        "../scripts/spans_read_linear.py"


# Language models without training.
rule spans_ask:
    input:
        data=PROJECT.tables("{dataset}", "contracts", "questions"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=ONLY_SPANS,
        experiment="ask",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_asking(720, RESOURCES.run_work()),
    params:
        code=code("spans_ask.py"),
        settings=RUNS.settings,
        device=CONFIG.device,
        asking=RUNS.asking,
        writes=False,
    message:
        "Asking {wildcards.model} about the test contracts of {wildcards.dataset}."
    script:
        "../scripts/spans_ask.py"


# Outputs of language models that are scored as text.
rule spans_write:
    input:
        data=PROJECT.tables("{dataset}", "contracts", "questions"),
        predictions=RUNS.needed_predictions,
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=TEXT_DATASETS,
        experiment="ask",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_asking(720, RESOURCES.run_work()),
    params:
        code=code("spans_ask.py"),
        settings=RUNS.settings,
        device=CONFIG.device,
        asking=RUNS.asking,
        writes=True,
    message:
        "Asking {wildcards.model} about the test contracts of {wildcards.dataset} ({wildcards.condition})."
    script:
        "../scripts/spans_ask.py"


# Text outputs: the spans of a linear model above a threshold, or a constant output for every question.
rule spans_quote:
    input:
        data=PROJECT.tables("{dataset}", "contracts", "questions", "answers"),
        predictions=RUNS.needed_predictions,
        weights=RUNS.of_sources("weights"),
        source_records=RUNS.of_sources("run.json"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=TEXT_DATASETS,
        experiment="quote",
    conda:
        ENVIRONMENT
    params:
        code=code("spans_quote.py"),
        settings=RUNS.settings,
    message:
        "Writing the outputs of {wildcards.model} for {wildcards.dataset} ({wildcards.condition})."
    script:
        "../scripts/spans_quote.py"


# Joins spans that continue in the next window.
rule spans_join:
    input:
        predictions=RUNS.needed_predictions,
        data=PROJECT.tables("{dataset}", "contracts", "questions"),
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        experiment="join",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=code("spans_join.py"),
        settings=RUNS.settings,
    message:
        "Joining the spans of adjacent windows ({wildcards.dataset}, {wildcards.model}, seed {wildcards.seed})."
    script:
        "../scripts/spans_join.py"


rule spans_score:
    input:
        predictions=f"{RUN}/predictions.parquet",
        data=PROJECT.tables("{dataset}", "questions", "answers"),
    output:
        scores=f"{RUN}/scores.parquet",
        units=f"{RUN}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    wildcard_constraints:
        dataset=SPAN_DATASETS,
        experiment=any_of(PROJECT.scored_experiments("spans")),
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=code("spans_score.py"),
        evaluator=lambda wildcards: SPAN_RUNS.tasks[wildcards.dataset].evaluator,
        settings=SPAN_RUNS.scoring,
    message:
        "Scoring {wildcards.model} on the test contracts of {wildcards.dataset} ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/spans_score.py"
