# Span extraction: questions about contracts; predictions are the n best answer spans.
#
#   in    {RESULTS}/data/{dataset}/{contracts,questions,answers,training_examples}.parquet
#   out   {RESULTS}/features/spans/...; {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps windows -> (pretrain ->) search -> choice -> train, or the released weights -> read -> (join ->) score;
#         linear baselines: (vectors of text units ->) train -> read -> score, without windows
#         for text outputs: train -> read -> quote -> score, or a language model's outputs -> score

SPANS = of_task("spans")
SPANNED = any_of(SPANS)
# Data sets with scores of text outputs, and data sets with scores of spans.
QUOTED = any_of({name for name, task in SPANS.items() if task.quotes})
NOT_QUOTED = any_of({name for name, task in SPANS.items() if not task.quotes})
SPAN_SHARDS = 8
# Wildcard patterns of the linear models, and of all others.
LINEAR = any_of(
    {
        key
        for task in SPANS.values()
        for key, panel in task.models.items()
        if panel.kind == "linear"
    }
)
NEURAL = rf"(?!(?:{LINEAR})/)[^/]+"
WINDOWS = f"{RESULTS}/features/spans/{{dataset}}/{{model}}/{{length}}x{{step}}"
UNIT_VECTORS = (
    f"{RESULTS}/features/spans/{{dataset}}/{{encoder}}/vectors/{{length}}.parquet"
)


if not CONFIG.submit_small_jobs:

    localrules:
        spans_choose,
        spans_join,
        spans_score,
        spans_score_outputs,


include: "functions/spans.smk"


use rule base as spans_features with:
    input:
        data=data("{dataset}", "contracts", "questions", "training_examples"),
        weights=tokenizer_for,
    output:
        train=windows("train"),
        validation=windows("validation"),
        test=windows("test"),
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{model}}/{{length}}x{{step}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/features/{{model}}/{{length}}x{{step}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
        length=r"\d+",
        step=r"\d+",
    threads: min(2, MODEL_THREADS)
    resources:
        mem_mb=per_attempt(4000),
    params:
        **script_params("spans_features"),
        settings=cutting,
        shards=SPAN_SHARDS,
    message:
        "Cutting the contracts of {wildcards.dataset} into windows of tokens for {wildcards.model}."


PRETRAINED = run_folder(experiment="pretrain", condition="contracts", seed=0)


# Masked language modelling on EDGAR's contracts, or those of the sample.
use rule base_training as spans_pretrain with:
    input:
        contracts=pretraining_texts,
    output:
        weights=directory(f"{PRETRAINED}/weights"),
        record=f"{PRETRAINED}/run.json",
    log:
        f"{PRETRAINED}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/pretrain/{{model}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
    resources:
        **model_job(run_work(experiment="pretrain", condition="contracts")),
    params:
        **script_params("spans_pretrain"),
        settings=lambda wildcards: settings(
            wildcards, experiment="pretrain", condition="contracts"
        ),
        work=lambda wildcards: work(
            wildcards, experiment="pretrain", condition="contracts"
        ),
    message:
        "Training {wildcards.model} to fill in masked words of contracts."


FETCHED += [
    f"{RESULTS}/sources/{spec.settings['file']}"
    for run, spec in SPECS.items()
    if run.experiment == "release"
]
RELEASED = run_folder(experiment="release", condition="as-released", seed=0)


# The authors' fine-tuned weights, unpacked from their zip.
use rule base as spans_release with:
    input:
        lambda wildcards: f"{RESULTS}/sources/{release_settings(wildcards)['file']}",
    output:
        weights=directory(f"{RELEASED}/weights"),
        record=f"{RELEASED}/run.json",
    log:
        f"{RELEASED}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/release/{{model}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
    params:
        **script_params("spans_release"),
        settings=release_settings,
    message:
        "Unpacking the authors' {wildcards.model}."


use rule base_model_run as spans_search with:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=data("{dataset}", "contracts", "questions"),
        train=windows_of("train"),
        read=windows_of("validation"),
        weights=weights_of,
    wildcard_constraints:
        dataset=SPANNED,
        experiment="search",
    params:
        **script_params("spans_search"),
        work=work,
    message:
        "Fine-tuning {wildcards.model} on a part of {wildcards.dataset} and reading the held-out contracts ({wildcards.condition})."


use rule base_choice as spans_choose with:
    input:
        data=data("{dataset}", "contracts", "questions", "answers"),
        searched=needs,
    wildcard_constraints:
        dataset=SPANNED,
        experiment="choice",
    params:
        **script_params("spans_choose"),
    message:
        "Choosing the settings of {wildcards.model} on the held-out contracts of {wildcards.dataset}."


use rule base_training as spans_train with:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=data("{dataset}", "contracts", "questions"),
        train=windows_of("train"),
        weights=weights_of,
        choice=choice_of,
    wildcard_constraints:
        dataset=SPANNED,
        experiment="train",
        model=NEURAL,
    params:
        **script_params("spans_train"),
    message:
        "Fine-tuning {wildcards.model} on the contracts of {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."


use rule base_model_run as spans_read with:
    input:
        data=data("{dataset}", "contracts", "questions"),
        train=windows_of("train"),
        read=windows_of("test"),
        weights=weights_of,
    output:
        predictions=f"{RUN}/predictions.parquet",
        reading=directory(f"{RUN}/reading"),
        record=f"{RUN}/run.json",
    wildcard_constraints:
        dataset=SPANNED,
        experiment="read",
        model=NEURAL,
    params:
        **script_params("spans_read"),
    message:
        "Reading the test contracts of {wildcards.dataset} with {wildcards.model} ({wildcards.condition}, seed {wildcards.seed})."


# Sentence vectors of text units from a frozen encoder, shared by all linear models.
use rule base as spans_vectors with:
    input:
        data=data("{dataset}", "contracts"),
    output:
        UNIT_VECTORS,
    log:
        f"{RESULTS}/logs/{{dataset}}/vectors/{{encoder}}/{{length}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/vectors/{{encoder}}/{{length}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
        length=r"\d+",
    threads: MODEL_THREADS
    resources:
        **model_job(
            lambda wildcards: estimator().encoding(
                wildcards.encoder, wildcards.dataset
            )
        ),
    params:
        **script_params("spans_vectors"),
        settings=encoding,
        device=CONFIG.device,
    message:
        "Encoding the sentences of {wildcards.dataset} with {wildcards.encoder}."


# Linear baselines: no windows, no pretrained weights, no GPU.
use rule base_run as spans_train_linear with:
    input:
        data=data("{dataset}", "contracts", "training_examples"),
        vectors=vectors_of(UNIT_VECTORS, length="max_length"),
    output:
        weights=directory(f"{RUN}/weights"),
        record=f"{RUN}/run.json",
    wildcard_constraints:
        dataset=SPANNED,
        experiment="train",
        model=LINEAR,
    threads: min(2, MODEL_THREADS)
    resources:
        mem_mb=per_attempt(6000),
    params:
        **script_params("spans_train_linear"),
    message:
        "Training {wildcards.model} on the contracts of {wildcards.dataset}."


use rule base_run as spans_read_linear with:
    input:
        data=data("{dataset}", "contracts", "questions"),
        vectors=vectors_of(UNIT_VECTORS, length="max_length"),
        weights=weights_of,
    wildcard_constraints:
        dataset=SPANNED,
        experiment="read",
        model=LINEAR,
    resources:
        mem_mb=per_attempt(4000),
    params:
        **script_params("spans_read_linear"),
    message:
        "Reading the test contracts of {wildcards.dataset} with {wildcards.model}."


# Language models without training.
use rule base_asking as spans_ask with:
    input:
        data=data("{dataset}", "contracts", "questions"),
    wildcard_constraints:
        dataset=NOT_QUOTED,
        experiment="ask",
    params:
        **script_params("spans_ask"),
    message:
        "Asking {wildcards.model} about the test contracts of {wildcards.dataset}."


use rule base_asking as spans_write with:
    input:
        data=data("{dataset}", "contracts", "questions"),
        predictions=needs,
    wildcard_constraints:
        dataset=QUOTED,
        experiment="ask",
    params:
        **script_params("spans_write"),
    message:
        "Asking {wildcards.model} about the test contracts of {wildcards.dataset} ({wildcards.condition})."


# Text outputs: the spans of a linear model above a threshold, or a constant output for every question.
use rule base_run as spans_quote with:
    input:
        data=data("{dataset}", "contracts", "questions", "answers"),
        predictions=needs,
        weights=weights_of,
    wildcard_constraints:
        dataset=QUOTED,
        experiment="quote",
    params:
        **script_params("spans_quote"),
    message:
        "Writing the outputs of {wildcards.model} for {wildcards.dataset} ({wildcards.condition})."


# Joins spans that continue in the next window.
use rule base_run as spans_join with:
    input:
        predictions=needs,
        data=data("{dataset}", "contracts", "questions"),
    wildcard_constraints:
        dataset=SPANNED,
        experiment="join",
    params:
        **script_params("spans_join"),
    message:
        "Joining the spans of adjacent windows ({wildcards.dataset}, {wildcards.model}, seed {wildcards.seed})."


use rule base_score as spans_score with:
    input:
        predictions=f"{RUN}/predictions.parquet",
        data=data("{dataset}", "questions", "answers"),
    wildcard_constraints:
        dataset=NOT_QUOTED,
        experiment=any_of(planning.PLANNERS["spans"].STAGES),
    params:
        **script_params("spans_score"),
        relaxed=lambda wildcards: SPANS[wildcards.dataset].relaxed,
        low_thresholds=lambda wildcards: list(SPANS[wildcards.dataset].low_thresholds),
    message:
        "Scoring the spans of {wildcards.model} on the test contracts of {wildcards.dataset} ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."


use rule base_score as spans_score_outputs with:
    input:
        predictions=f"{RUN}/predictions.parquet",
        data=data("{dataset}", "questions", "answers"),
    wildcard_constraints:
        dataset=QUOTED,
        experiment=any_of(planning.PLANNERS["spans"].STAGES),
    params:
        **script_params("spans_score_outputs"),
    message:
        "Scoring the outputs of {wildcards.model} for {wildcards.dataset} ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
