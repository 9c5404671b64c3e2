# Span extraction: questions about contracts; predictions are the n best answer spans.
#
#   in    {RESULTS}/data/{dataset}/{contracts,questions,answers,training_examples}.parquet
#   out   {RESULTS}/features/spans/...; {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps windows -> (pretrain ->) search -> choice -> train, or the released weights -> read -> (join ->) score;
#         linear baselines: (vectors of text units ->) train -> read -> score, without windows

SPANS = of_task("spans")
SPANNED = any_of(SPANS)
SPAN_SHARDS = 8
# Wildcard patterns of the linear models, and of all others.
LINEAR = any_of(
    {key for task in SPANS.values() for key, panel in task.models.items() if panel.kind == "linear"}
)
NEURAL = rf"(?!(?:{LINEAR})/)[^/]+"
WINDOWS = f"{RESULTS}/features/spans/{{dataset}}/{{model}}/{{length}}x{{step}}"
UNIT_VECTORS = f"{RESULTS}/features/spans/{{dataset}}/{{encoder}}/vectors/{{length}}.parquet"


localrules:
    spans_choose,
    spans_join,
    spans_score,


include: "functions/spans.smk"


rule spans_features:
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
    conda:
        ENVIRONMENT
    threads: min(2, MODEL_THREADS)
    resources:
        mem_mb=per_attempt(4000),
    params:
        settings=cutting,
        shards=SPAN_SHARDS,
        code=code("spans_features.py"),
    message:
        "Cutting the contracts of {wildcards.dataset} into windows of tokens for {wildcards.model}."
    script:
        "../scripts/spans_features.py"


PRETRAIN = run_folder("pretrain", condition="contracts", seed=0)


# Masked language modelling on EDGAR's contracts, or those of the sample.
rule spans_pretrain:
    input:
        contracts=pretraining_texts,
    output:
        weights=directory(f"{PRETRAIN}/weights"),
        record=f"{PRETRAIN}/run.json",
    log:
        f"{PRETRAIN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/pretrain/{{model}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(1440),
    params:
        settings=of_run("pretrain", condition="contracts"),
        device=CONFIG.device,
        work=work("pretrain", condition="contracts"),
        code=code("spans_pretrain.py"),
    message:
        "Training {wildcards.model} to fill in masked words of contracts."
    script:
        "../scripts/spans_pretrain.py"


RELEASE = run_folder("release", condition="as-released", seed=0)
FETCHED += [
    f"{RESULTS}/sources/{spec.settings['file']}" for run, spec in SPECS.items() if run.experiment == "release"
]


# The authors' fine-tuned weights, unpacked from their zip.
rule spans_release:
    input:
        lambda wildcards: "{}/sources/{}".format(
            RESULTS, spec(run_of(wildcards, experiment="release", condition="as-released")).settings["file"]
        ),
    output:
        weights=directory(f"{RELEASE}/weights"),
        record=f"{RELEASE}/run.json",
    log:
        f"{RELEASE}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/release/{{model}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
    conda:
        ENVIRONMENT
    params:
        settings=of_run("release", condition="as-released"),
        code=code("spans_release.py"),
    message:
        "Unpacking the authors' {wildcards.model}."
    script:
        "../scripts/spans_release.py"


SPANS_SEARCH = run_folder("search")


rule spans_search:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=data("{dataset}", "contracts", "questions"),
        train=windows_of("train", "search"),
        read=windows_of("validation", "search"),
        weights=weights_for("search"),
    output:
        predictions=f"{SPANS_SEARCH}/predictions.parquet",
        record=f"{SPANS_SEARCH}/run.json",
    log:
        f"{SPANS_SEARCH}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/search/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(1440),
    params:
        settings=of_run("search"),
        device=CONFIG.device,
        work=work("search"),
        code=code("spans_search.py"),
    message:
        "Fine-tuning {wildcards.model} on a part of {wildcards.dataset} and reading the held-out contracts ({wildcards.condition})."
    script:
        "../scripts/spans_search.py"


rule spans_choose:
    input:
        data=data("{dataset}", "contracts", "questions", "answers"),
        searched=needed_by("choice"),
    output:
        f"{run_folder('choice', seed=0)}/run.json",
    log:
        f"{RESULTS}/logs/{{dataset}}/choice/{{model}}/{{condition}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/choice/{{model}}/{{condition}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
    conda:
        ENVIRONMENT
    params:
        settings=of_run("choice"),
        code=code("spans_choose.py"),
    message:
        "Choosing the settings of {wildcards.model} on the held-out contracts of {wildcards.dataset}."
    script:
        "../scripts/spans_choose.py"


SPANS_TRAIN = run_folder("train")


rule spans_train:
    input:
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        data=data("{dataset}", "contracts", "questions"),
        train=windows_of("train", "train"),
        weights=weights_for("train"),
        choice=choice_for("train"),
    output:
        weights=directory(f"{SPANS_TRAIN}/weights"),
        record=f"{SPANS_TRAIN}/run.json",
    log:
        f"{SPANS_TRAIN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/train/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
        model=NEURAL,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(1440),
    params:
        settings=of_run("train"),
        device=CONFIG.device,
        work=work("train"),
        code=code("spans_train.py"),
    message:
        "Fine-tuning {wildcards.model} on the contracts of {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/spans_train.py"


SPANS_READ = run_folder("read")


rule spans_read:
    input:
        data=data("{dataset}", "contracts", "questions"),
        train=windows_of("train", "read"),
        read=windows_of("test", "read"),
        weights=weights_for("read"),
    output:
        predictions=f"{SPANS_READ}/predictions.parquet",
        reading=directory(f"{SPANS_READ}/reading"),
        record=f"{SPANS_READ}/run.json",
    log:
        f"{SPANS_READ}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/read/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
        model=NEURAL,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(720),
    params:
        settings=of_run("read"),
        device=CONFIG.device,
        code=code("spans_read.py"),
    message:
        "Reading the test contracts of {wildcards.dataset} with {wildcards.model} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/spans_read.py"


# Sentence vectors of text units from a frozen encoder, shared by all linear models.
rule spans_vectors:
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
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(4000),
        runtime=per_attempt(120),
    params:
        settings=encoding,
        device=CONFIG.device,
        code=code("spans_vectors.py"),
    message:
        "Encoding the sentences of {wildcards.dataset} with {wildcards.encoder}."
    script:
        "../scripts/spans_vectors.py"


# Linear baselines: no windows, no pretrained weights, no GPU.
rule spans_train_linear:
    input:
        data=data("{dataset}", "contracts", "training_examples"),
        vectors=vectors_for("train", UNIT_VECTORS, length="max_length"),
    output:
        weights=directory(f"{SPANS_TRAIN}/weights"),
        record=f"{SPANS_TRAIN}/run.json",
    log:
        f"{SPANS_TRAIN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/train/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
        model=LINEAR,
    conda:
        ENVIRONMENT
    threads: min(2, MODEL_THREADS)
    resources:
        mem_mb=per_attempt(6000),
    params:
        settings=of_run("train"),
        code=code("spans_train_linear.py"),
    message:
        "Training {wildcards.model} on the contracts of {wildcards.dataset}."
    script:
        "../scripts/spans_train_linear.py"


rule spans_read_linear:
    input:
        data=data("{dataset}", "contracts", "questions"),
        vectors=vectors_for("read", UNIT_VECTORS, length="max_length"),
        weights=weights_for("read"),
    output:
        predictions=f"{SPANS_READ}/predictions.parquet",
        record=f"{SPANS_READ}/run.json",
    log:
        f"{SPANS_READ}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/read/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
        model=LINEAR,
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        settings=of_run("read"),
        code=code("spans_read_linear.py"),
    message:
        "Reading the test contracts of {wildcards.dataset} with {wildcards.model}."
    script:
        "../scripts/spans_read_linear.py"


SPANS_ASK = run_folder("ask")


# Language models without training.
rule spans_ask:
    input:
        data=data("{dataset}", "contracts", "questions"),
    output:
        predictions=f"{SPANS_ASK}/predictions.parquet",
        record=f"{SPANS_ASK}/run.json",
    log:
        f"{SPANS_ASK}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/ask/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ASKING_ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(720),
    params:
        settings=of_run("ask"),
        device=CONFIG.device,
        asking=ASKING,
        code=code("spans_ask.py"),
    message:
        "Asking {wildcards.model} about the test contracts of {wildcards.dataset}."
    script:
        "../scripts/spans_ask.py"


JOIN = run_folder("join")


# Joins spans that continue in the next window.
rule spans_join:
    input:
        predictions=needed_by("join"),
        data=data("{dataset}", "contracts", "questions"),
    output:
        predictions=f"{JOIN}/predictions.parquet",
        record=f"{JOIN}/run.json",
    log:
        f"{JOIN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/join/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
    conda:
        ENVIRONMENT
    params:
        settings=of_run("join"),
        code=code("spans_join.py"),
    message:
        "Joining the spans of adjacent windows ({wildcards.dataset}, {wildcards.model}, seed {wildcards.seed})."
    script:
        "../scripts/spans_join.py"


rule spans_score:
    input:
        predictions=f"{RUN}/predictions.parquet",
        data=data("{dataset}", "questions", "answers"),
    output:
        scores=f"{RUN}/scores.parquet",
        units=f"{RUN}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=SPANNED,
        experiment=any_of(registry.PLANNERS["spans"].STAGES),
    conda:
        ENVIRONMENT
    params:
        relaxed=lambda wildcards: SPANS[wildcards.dataset].relaxed,
        low_thresholds=lambda wildcards: list(SPANS[wildcards.dataset].low_thresholds),
        code=code("spans_score.py"),
    message:
        "Scoring the spans of {wildcards.model} on the test contracts of {wildcards.dataset} ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/spans_score.py"
