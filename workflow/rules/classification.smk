# Classification: texts or pairs, and heads with answers; predictions are a probability for each answer.
#
#   in    {RESULTS}/data/{dataset}/{examples,heads,texts}.parquet, under the names in the registry
#   out   {RESULTS}/features/classification/...; {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps tokens -> search -> choice -> train -> read, or single-task -> score;
#         linear baselines: (vectors of texts ->) train -> read -> score

CLASSIFICATION = of_task("classification")
CLASSIFIED = any_of(CLASSIFICATION)
TOKENS = f"{RESULTS}/features/classification/{{dataset}}/{{model}}/{{length}}/tokens.parquet"
TEXT_VECTORS = f"{RESULTS}/features/classification/{{dataset}}/{{encoder}}/vectors-{{piece}}.parquet"
# Wildcard patterns of the linear models, and of all others.
CLASSIFICATION_LINEAR = any_of(
    {key for task in CLASSIFICATION.values() for key, panel in task.models.items() if panel.kind == "linear"}
)
CLASSIFICATION_NEURAL = rf"(?!(?:{CLASSIFICATION_LINEAR})/)[^/]+"


localrules:
    classification_choose,
    classification_score,


include: "functions/classification.smk"


# Each text once, for all heads.
rule classification_features:
    input:
        examples=data("{dataset}", "examples"),
        texts=lambda wildcards: data(wildcards.dataset, CLASSIFICATION[wildcards.dataset].names.texts),
    output:
        tokens=TOKENS,
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{model}}/{{length}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/features/{{model}}/{{length}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
        length=r"\d+",
    conda:
        ENVIRONMENT
    params:
        weights=tokenizer_of,
        views=tokenised_views,
        code=code("classification_features.py"),
    message:
        "Tokenising the texts of {wildcards.dataset} for {wildcards.model}, {wildcards.length} tokens at most."
    script:
        "../scripts/classification_features.py"


# Search and single-task models are read while they are trained, and their weights are deleted: 144 models would
# fill a disk.
rule classification_search:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=examples_and_heads,
        tokens=tokens_of("search"),
        choice=[],
        start=[],
    output:
        predictions=f"{run_folder('search')}/predictions.parquet",
        record=f"{run_folder('search')}/run.json",
    log:
        f"{run_folder('search')}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/search/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(1440),
    params:
        experiment="search",
        settings=of_run("search"),
        splits=splits_of("training", "validation"),
        device=CONFIG.device,
        work=work("search"),
        code=code("classification_train.py"),
    message:
        "Training {wildcards.model} on {wildcards.dataset} and reading the validation examples ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/classification_train.py"


use rule classification_search as classification_single_task with:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=examples_and_heads,
        tokens=tokens_of("single-task"),
        choice=choice_for("single-task"),
        start=[],
    output:
        predictions=f"{run_folder('single-task')}/predictions.parquet",
        record=f"{run_folder('single-task')}/run.json",
    log:
        f"{run_folder('single-task')}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/single-task/{{model}}/{{condition}}/seed{{seed}}.tsv"
    params:
        experiment="single-task",
        settings=of_run("single-task"),
        splits=splits_of("final", "test"),
        work=work("single-task"),
    message:
        "Training {wildcards.model} for each head of {wildcards.dataset} and reading the test examples ({wildcards.condition}, seed {wildcards.seed})."


CLASSIFICATION_TRAIN = run_folder("train")


use rule classification_search as classification_train with:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=examples_and_heads,
        tokens=tokens_of("train"),
        choice=choice_for("train"),
        start=weights_for("train"),
    output:
        weights=directory(f"{CLASSIFICATION_TRAIN}/weights"),
        record=f"{CLASSIFICATION_TRAIN}/run.json",
    log:
        f"{CLASSIFICATION_TRAIN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/train/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
        model=CLASSIFICATION_NEURAL,
    params:
        experiment="train",
        settings=of_run("train"),
        splits=splits_of("final", "test"),
        work=work("train"),
    message:
        "Training {wildcards.model} for all heads of {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."


rule classification_choose:
    input:
        data=examples_and_heads,
        published=lambda wildcards: (
            data(wildcards.dataset, "published_settings")
            if settings(wildcards, experiment="choice")["published"]
            else []
        ),
        searched=needed_by("choice"),
    output:
        f"{run_folder('choice', seed=0)}/run.json",
    log:
        f"{RESULTS}/logs/{{dataset}}/choice/{{model}}/{{condition}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/choice/{{model}}/{{condition}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
    conda:
        ENVIRONMENT
    params:
        settings=of_run("choice"),
        splits=splits_of("validation"),
        code=code("classification_choose.py"),
    message:
        "Choosing the settings of {wildcards.model} for {wildcards.dataset} ({wildcards.condition})."
    script:
        "../scripts/classification_choose.py"


CLASSIFICATION_READ = run_folder("read")


rule classification_read:
    input:
        data=examples_and_heads,
        tokens=tokens_of("read"),
        weights=weights_for("read"),
    output:
        predictions=f"{CLASSIFICATION_READ}/predictions.parquet",
        record=f"{CLASSIFICATION_READ}/run.json",
    log:
        f"{CLASSIFICATION_READ}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/read/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
        model=CLASSIFICATION_NEURAL,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(240),
    params:
        settings=of_run("read"),
        splits=splits_of("test"),
        device=CONFIG.device,
        code=code("classification_read.py"),
    message:
        "Reading the test examples of {wildcards.dataset} with {wildcards.model} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/classification_read.py"


rule classification_vectors:
    input:
        examples=data("{dataset}", "examples"),
        texts=lambda wildcards: data(wildcards.dataset, CLASSIFICATION[wildcards.dataset].names.texts),
    output:
        vectors=TEXT_VECTORS,
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{encoder}}/vectors-{{piece}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/features/{{encoder}}/vectors-{{piece}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
        piece=r"\d+",
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(4000),
        runtime=per_attempt(240),
    params:
        weights=encoder_of,
        views=encoded_views,
        device=CONFIG.device,
        code=code("classification_vectors.py"),
    message:
        "Encoding the texts of {wildcards.dataset} with {wildcards.encoder}, in pieces of {wildcards.piece} words."
    script:
        "../scripts/classification_vectors.py"


# Linear baselines: no tokens, no GPU.
rule classification_train_linear:
    input:
        data=classified_texts,
        vectors=vectors_for("train", TEXT_VECTORS, piece="piece"),
    output:
        weights=directory(f"{CLASSIFICATION_TRAIN}/weights"),
        record=f"{CLASSIFICATION_TRAIN}/run.json",
    log:
        f"{CLASSIFICATION_TRAIN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/train/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
        model=CLASSIFICATION_LINEAR,
    conda:
        ENVIRONMENT
    threads: min(2, MODEL_THREADS)
    resources:
        mem_mb=per_attempt(8000),
    params:
        settings=of_run("train"),
        splits=splits_of("final"),
        code=code("classification_train_linear.py"),
    message:
        "Training {wildcards.model} on the examples of {wildcards.dataset} ({wildcards.condition})."
    script:
        "../scripts/classification_train_linear.py"


rule classification_read_linear:
    input:
        data=classified_texts,
        vectors=vectors_for("read", TEXT_VECTORS, piece="piece"),
        weights=weights_for("read"),
    output:
        predictions=f"{CLASSIFICATION_READ}/predictions.parquet",
        record=f"{CLASSIFICATION_READ}/run.json",
    log:
        f"{CLASSIFICATION_READ}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/read/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
        model=CLASSIFICATION_LINEAR,
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(8000),
    params:
        settings=of_run("read"),
        splits=splits_of("test"),
        code=code("classification_read_linear.py"),
    message:
        "Reading the test examples of {wildcards.dataset} with {wildcards.model} ({wildcards.condition})."
    script:
        "../scripts/classification_read_linear.py"


CLASSIFICATION_ASK = run_folder("ask")


# Language models without training.
rule classification_ask:
    input:
        data=classified_texts,
    output:
        predictions=f"{CLASSIFICATION_ASK}/predictions.parquet",
        record=f"{CLASSIFICATION_ASK}/run.json",
    log:
        f"{CLASSIFICATION_ASK}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/ask/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ASKING_ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(720),
    params:
        settings=of_run("ask"),
        splits=splits_of("test"),
        device=CONFIG.device,
        asking=ASKING,
        code=code("classification_ask.py"),
    message:
        "Asking {wildcards.model} about the test examples of {wildcards.dataset}."
    script:
        "../scripts/classification_ask.py"


rule classification_score:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        predictions=f"{RUN}/predictions.parquet",
        data=examples_and_heads,
    output:
        scores=f"{RUN}/scores.parquet",
        units=f"{RUN}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment=any_of(registry.PLANNERS["classification"].STAGES),
    conda:
        ENVIRONMENT
    params:
        splits=splits_of("test"),
        task=lambda wildcards: CLASSIFICATION[wildcards.dataset].model_dump(
            mode="json", include={"evaluator", "metrics", "unit", "multi_label", "groups", "views"}
        ),
        code=code("classification_score.py"),
    message:
        "Scoring {wildcards.model} on the test examples of {wildcards.dataset} ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/classification_score.py"
