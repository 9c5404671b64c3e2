# Span extraction over contracts: CUAD, and the extraction task of MAUD.
#
#   in    {RESULTS}/data/{task}/{contracts,questions,answers,training_examples}.parquet
#   out   {RESULTS}/features/{task}/...; {RESULTS}/models/{task}/...; {RESULTS}/runs/{task}/..., scores beside each run
#   steps windows -> (pretrain ->) search -> finetune, or the released weights -> (join ->) score

SPAN_DATA = f"{RESULTS}/data/{{task}}"
SPAN_RUNS = f"{RESULTS}/runs/{{task}}"
SPAN_MODELS = f"{RESULTS}/models/{{task}}"


wildcard_constraints:
    task="|".join(SPAN_TASKS),


rule span_features:
    input:
        census=f"{SPAN_DATA}/census.json",
        data=[f"{SPAN_DATA}/{name}.parquet" for name in ("contracts", "questions", "training_examples")],
        weights=span_weights,
    output:
        train=span_windows("train"),
        validation=span_windows("validation"),
        test=span_windows("test"),
    log:
        f"{RESULTS}/logs/span_features/{{task}}/{{model}}/{{length}}x{{step}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/span_features/{{task}}/{{model}}/{{length}}x{{step}}.tsv"
    wildcard_constraints:
        length=r"\d+",
        step=r"\d+",
    conda:
        ENVIRONMENT
    threads: 2
    resources:
        mem_mb=4000,
    params:
        settings=span_reading,
        shards=SPAN_SHARDS,
        code=code("span_features.py"),
    message:
        "Cutting the contracts of {wildcards.task} into windows of tokens for {wildcards.model}."
    script:
        "../scripts/span_features.py"


# Contracts pretraining: the masked-language-model objective on EDGAR's contracts, or the sample's own.
rule span_pretrain:
    input:
        contracts=lambda wildcards: (
            expand(f"{EDGAR}.parquet", quarter=CONFIG.edgar_quarters)
            if CONFIG.data == "release"
            else [f"{RESULTS}/data/{wildcards.task}/contracts.parquet"]
        ),
    output:
        weights=directory(f"{SPAN_MODELS}/pretrained/{{model}}"),
        record=f"{SPAN_RUNS}/pretrain/{{model}}/contracts/seed0/run.json",
    log:
        f"{SPAN_RUNS}/pretrain/{{model}}/contracts/seed0/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/span_pretrain/{{task}}/{{model}}.tsv"
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        gpu=MODEL_GPU,
        mem_mb=8000,
        runtime=1440,
    params:
        settings=lambda wildcards: settings(wildcards, experiment="pretrain", condition="contracts"),
        device=CONFIG.device,
        work=lambda wildcards: work(wildcards, experiment="pretrain", condition="contracts"),
        code=code("span_pretrain.py"),
    message:
        "Training {wildcards.model} to fill in masked words of contracts."
    script:
        "../scripts/span_pretrain.py"


# The authors' own fine-tuned weights, out of their zip.
rule span_released_weights:
    input:
        lambda wildcards: f"{RESULTS}/sources/{SPAN_TASKS[wildcards.task].checkpoints}/{wildcards.name}.zip",
    output:
        directory(f"{SPAN_MODELS}/released/{{name}}"),
    log:
        f"{RESULTS}/logs/span_released_weights/{{task}}/{{name}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/span_released_weights/{{task}}/{{name}}.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("span_released_weights.py"),
    message:
        "Unpacking the authors' {wildcards.name}."
    script:
        "../scripts/span_released_weights.py"


rule span_finetune:
    input:
        census=f"{SPAN_DATA}/census.json",
        data=[f"{SPAN_DATA}/{name}.parquet" for name in ("contracts", "questions", "answers")],
        train=span_windows_of("train"),
        read=lambda wildcards: span_windows_of("validation" if wildcards.experiment == "search" else "test")(
            wildcards
        ),
        weights=span_weights,
        searched=needs,
    output:
        predictions=f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/predictions.parquet",
        record=f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/run.json",
        weights=directory(f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/model"),
    log:
        f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/spans/{{task}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        experiment="search|finetune",
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        gpu=MODEL_GPU,
        mem_mb=8000,
        runtime=1440,
    params:
        settings=settings,
        relaxed=lambda wildcards: SPAN_TASKS[wildcards.task].relaxed,
        tail=lambda wildcards: list(SPAN_TASKS[wildcards.task].tail),
        device=CONFIG.device,
        work=work,
        code=code("span_finetune.py"),
    message:
        "Fine-tuning {wildcards.model} on {wildcards.task}, then reading contracts with it ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/span_finetune.py"


rule span_read_released:
    input:
        census=f"{SPAN_DATA}/census.json",
        data=[f"{SPAN_DATA}/{name}.parquet" for name in ("contracts", "questions", "answers")],
        train=span_windows_of("train"),
        read=span_windows_of("test"),
        weights=span_weights,
    output:
        predictions=f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/predictions.parquet",
        record=f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/run.json",
        weights=directory(f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/model"),
    log:
        f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/spans/{{task}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        experiment="released",
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        gpu=MODEL_GPU,
        mem_mb=8000,
        runtime=720,
    params:
        settings=settings,
        device=CONFIG.device,
        code=code("span_read_released.py"),
    message:
        "Reading the test contracts of {wildcards.task} with {wildcards.model} as it was released."
    script:
        "../scripts/span_read_released.py"


# Spans that go on in the next window, joined into one.
rule span_join:
    input:
        predictions=needs,
        data=[f"{SPAN_DATA}/{name}.parquet" for name in ("contracts", "questions")],
    output:
        predictions=f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/predictions.parquet",
        record=f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/run.json",
    log:
        f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/spans/{{task}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        experiment="joined",
    conda:
        ENVIRONMENT
    params:
        settings=settings,
        code=code("span_join.py"),
    message:
        "Joining the spans of adjacent windows ({wildcards.task}, {wildcards.model}, seed {wildcards.seed})."
    script:
        "../scripts/span_join.py"


rule span_score:
    input:
        predictions=f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/predictions.parquet",
        data=[f"{SPAN_DATA}/{name}.parquet" for name in ("questions", "answers")],
    output:
        f"{SPAN_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/scores.parquet",
    log:
        f"{RESULTS}/logs/span_score/{{task}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/span_score/{{task}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        experiment="finetune|released|joined",
    conda:
        ENVIRONMENT
    params:
        relaxed=lambda wildcards: SPAN_TASKS[wildcards.task].relaxed,
        tail=lambda wildcards: list(SPAN_TASKS[wildcards.task].tail),
        code=code("span_score.py"),
    message:
        "Scoring the spans of {wildcards.model} on {wildcards.task}'s test contracts ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/span_score.py"
