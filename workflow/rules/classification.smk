# Classification: texts or pairs, and heads with answers; the predictions are a probability for each answer.
#
#   in    {RESULTS}/data/{dataset}/{examples,heads,texts}.parquet, under the names in the registry
#   out   {RESULTS}/features/classification/...; {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps tokens -> search -> choice -> train -> read, or single-task -> score;
#         linear baselines: (vectors of texts ->) train -> read -> score

CLASSIFICATION = of_task("classification")
CLASSIFIED = any_of(CLASSIFICATION)
TOKENS = (
    f"{RESULTS}/features/classification/{{dataset}}/{{model}}/{{length}}/tokens.parquet"
)
TEXT_VECTORS = f"{RESULTS}/features/classification/{{dataset}}/{{encoder}}/vectors-{{piece}}.parquet"
# Wildcard patterns of the linear models, and of all others.
CLASSIFICATION_LINEAR = any_of(
    {
        key
        for task in CLASSIFICATION.values()
        for key, panel in task.models.items()
        if panel.kind == "linear"
    }
)
CLASSIFICATION_NEURAL = rf"(?!(?:{CLASSIFICATION_LINEAR})/)[^/]+"


if not CONFIG.submit_small_jobs:

    localrules:
        classification_choose,
        classification_score,


include: "functions/classification.smk"


# Each text once, for all heads.
use rule base as classification_features with:
    input:
        examples=data("{dataset}", "examples"),
        texts=lambda wildcards: data(
            wildcards.dataset, CLASSIFICATION[wildcards.dataset].names.texts
        ),
    output:
        tokens=TOKENS,
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{model}}/{{length}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/features/{{model}}/{{length}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
        length=r"\d+",
    params:
        **script_params("classification_features"),
        weights=tokenizer_of,
        views=tokenised_views,
    message:
        "Tokenising the texts of {wildcards.dataset} for {wildcards.model}, {wildcards.length} tokens at most."


# Search and single-task models are read while they are trained, and their weights are deleted: 144 models would
# fill a disk.
use rule base_model_run as classification_search with:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=examples_and_heads,
        tokens=tokens_of,
        choice=choice_of,
        start=weights_of,
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="search",
    params:
        **script_params("classification_train"),
        splits=splits_of("training", "validation"),
        work=work,
    message:
        "Training {wildcards.model} on {wildcards.dataset} and reading the validation examples ({wildcards.condition}, seed {wildcards.seed})."


use rule classification_search as classification_single_task with:
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="single-task",
    params:
        splits=splits_of("final", "test"),
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


use rule base_choice as classification_choose with:
    input:
        data=examples_and_heads,
        published=lambda wildcards: (
            data(wildcards.dataset, "published_settings")
            if settings(wildcards)["published"]
            else []
        ),
        searched=needs,
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="choice",
    params:
        **script_params("classification_choose"),
        splits=splits_of("validation"),
    message:
        "Choosing the settings of {wildcards.model} for {wildcards.dataset} ({wildcards.condition})."


use rule base_model_run as classification_read with:
    input:
        data=examples_and_heads,
        tokens=tokens_of,
        weights=weights_of,
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="read",
        model=CLASSIFICATION_NEURAL,
    params:
        **script_params("classification_read"),
        splits=splits_of("test"),
    message:
        "Reading the test examples of {wildcards.dataset} with {wildcards.model} ({wildcards.condition}, seed {wildcards.seed})."


use rule classification_features as classification_vectors with:
    output:
        vectors=TEXT_VECTORS,
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{encoder}}/vectors-{{piece}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/features/{{encoder}}/vectors-{{piece}}.tsv"
    wildcard_constraints:
        dataset=CLASSIFIED,
        piece=r"\d+",
    threads: MODEL_THREADS
    resources:
        **model_job(
            lambda wildcards: estimator().encoding(
                wildcards.encoder, wildcards.dataset
            )
        ),
    params:
        **script_params("classification_vectors"),
        weights=encoder_of,
        views=encoded_views,
        device=CONFIG.device,
    message:
        "Encoding the texts of {wildcards.dataset} with {wildcards.encoder}, in pieces of {wildcards.piece} words."


# Linear baselines: no tokens, no GPU.
use rule base_run as classification_train_linear with:
    input:
        data=classified_texts,
        vectors=vectors_of(TEXT_VECTORS, piece="piece"),
    output:
        weights=directory(f"{RUN}/weights"),
        record=f"{RUN}/run.json",
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="train",
        model=CLASSIFICATION_LINEAR,
    threads: min(2, MODEL_THREADS)
    resources:
        mem_mb=per_attempt(8000),
    params:
        **script_params("classification_train_linear"),
        splits=splits_of("final"),
    message:
        "Training {wildcards.model} on the examples of {wildcards.dataset} ({wildcards.condition})."


use rule base_run as classification_read_linear with:
    input:
        data=classified_texts,
        vectors=vectors_of(TEXT_VECTORS, piece="piece"),
        weights=weights_of,
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="read",
        model=CLASSIFICATION_LINEAR,
    resources:
        mem_mb=per_attempt(8000),
    params:
        **script_params("classification_read_linear"),
        splits=splits_of("test"),
    message:
        "Reading the test examples of {wildcards.dataset} with {wildcards.model} ({wildcards.condition})."


# Language models without training.
use rule base_asking as classification_ask with:
    input:
        data=classified_texts,
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment="ask",
    params:
        **script_params("classification_ask"),
        splits=splits_of("test"),
    message:
        "Asking {wildcards.model} about the test examples of {wildcards.dataset}."


use rule base_score as classification_score with:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        predictions=f"{RUN}/predictions.parquet",
        data=examples_and_heads,
    wildcard_constraints:
        dataset=CLASSIFIED,
        experiment=any_of(planning.PLANNERS["classification"].STAGES),
    params:
        **script_params("classification_score"),
        splits=splits_of("test"),
        task=lambda wildcards: CLASSIFICATION[wildcards.dataset].model_dump(
            mode="json",
            include={"evaluator", "metrics", "unit", "multi_label", "groups", "views"},
        ),
    message:
        "Scoring {wildcards.model} on the test examples of {wildcards.dataset} ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
