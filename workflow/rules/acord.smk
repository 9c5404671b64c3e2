# ACORD: retrieval of contract clauses, rated by experts.
#
#   in    {RESULTS}/sources/acord/ACORD.zip
#   out   {RESULTS}/data/acord/*.parquet, census.json; {RESULTS}/runs/acord/...; scores beside each run
#   steps zip -> data sets -> retrieve -> rerank, or finetune -> rerank-finetuned -> score

ACORD = PAPERS["acord"]
ACORD_DATA = f"{RESULTS}/data/acord"
ACORD_RUNS = f"{RESULTS}/runs/acord"
ACORD_SETS = ["clauses", "queries", "judgements", "ratings"]
ACORD_FORMATS = ["short", "medium", "long"]


rule acord_data:
    input:
        release=f"{RESULTS}/sources/{ACORD.source}/{ACORD.file}",
        provenance=f"{RESULTS}/sources/{ACORD.source}/{ACORD.file}.json",
    output:
        [f"{ACORD_DATA}/{name}.parquet" for name in ACORD_SETS],
        census=f"{ACORD_DATA}/census.json",
    log:
        f"{RESULTS}/logs/acord_data.log",
    benchmark:
        f"{RESULTS}/benchmarks/acord_data.tsv"
    conda:
        ENVIRONMENT
    params:
        categories=ACORD.categories,
        query_aliases=ACORD.query_aliases,
        census=ACORD.census,
        code=code("acord_data.py"),
    message:
        "Checking ACORD's zip and writing clauses, queries, judgements and ratings as parquet."
    script:
        "../scripts/acord_data.py"


# One job for the three query formats: the clauses are analysed or encoded once.
rule acord_retrieve:
    input:
        census=f"{ACORD_DATA}/census.json",
        data=[f"{ACORD_DATA}/{name}.parquet" for name in ACORD_SETS],
    output:
        predictions=[
            f"{ACORD_RUNS}/retrieve/{{model}}/{style}/seed0/predictions.parquet" for style in ACORD_FORMATS
        ],
        records=[f"{ACORD_RUNS}/retrieve/{{model}}/{style}/seed0/run.json" for style in ACORD_FORMATS],
    log:
        f"{ACORD_RUNS}/retrieve/{{model}}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/acord_retrieve/{{model}}.tsv"
    conda:
        ENVIRONMENT
    threads: lambda wildcards: 1 if wildcards.model.startswith("bm25") else 4
    resources:
        gpu=lambda wildcards: 0 if wildcards.model.startswith("bm25") else MODEL_GPU,
        mem_mb=8000,
        runtime=120,
    params:
        settings=lambda wildcards: {
            style: settings(wildcards, paper="acord", experiment="retrieve", condition=style)
            for style in ACORD_FORMATS
        },
        device=CONFIG.device,
        code=code("acord_retrieve.py"),
    message:
        "Ranking the judged clauses of every ACORD query with {wildcards.model}."
    script:
        "../scripts/acord_retrieve.py"


rule acord_rerank:
    input:
        census=f"{ACORD_DATA}/census.json",
        data=[f"{ACORD_DATA}/{name}.parquet" for name in ACORD_SETS],
        hits=lambda wildcards: [
            needs(wildcards, paper="acord", experiment="rerank", condition=style)[0]
            for style in ACORD_FORMATS
        ],
    output:
        predictions=[
            f"{ACORD_RUNS}/rerank/{{model}}/{style}/seed0/predictions.parquet" for style in ACORD_FORMATS
        ],
        records=[f"{ACORD_RUNS}/rerank/{{model}}/{style}/seed0/run.json" for style in ACORD_FORMATS],
    log:
        f"{ACORD_RUNS}/rerank/{{model}}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/acord_rerank/{{model}}.tsv"
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        gpu=MODEL_GPU,
        mem_mb=8000,
        runtime=120,
    params:
        settings=lambda wildcards: {
            style: settings(wildcards, paper="acord", experiment="rerank", condition=style)
            for style in ACORD_FORMATS
        },
        device=CONFIG.device,
        code=code("acord_rerank.py"),
    message:
        "Reordering first-stage hits with {wildcards.model}."
    script:
        "../scripts/acord_rerank.py"


rule acord_finetune:
    input:
        census=f"{ACORD_DATA}/census.json",
        data=[f"{ACORD_DATA}/{name}.parquet" for name in ACORD_SETS],
        candidates=lambda wildcards: needs(wildcards, paper="acord", experiment="finetune"),
    output:
        predictions=f"{ACORD_RUNS}/finetune/{{model}}/{{condition}}/seed{{seed}}/predictions.parquet",
        record=f"{ACORD_RUNS}/finetune/{{model}}/{{condition}}/seed{{seed}}/run.json",
    log:
        f"{ACORD_RUNS}/finetune/{{model}}/{{condition}}/seed{{seed}}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/acord_finetune/{{model}}/{{condition}}/seed{{seed}}.tsv"
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        gpu=MODEL_GPU,
        mem_mb=8000,
        runtime=240,
    params:
        settings=lambda wildcards: settings(wildcards, paper="acord", experiment="finetune"),
        device=CONFIG.device,
        work=lambda wildcards: work(wildcards, paper="acord", experiment="finetune"),
        code=code("acord_finetune.py"),
    message:
        "Fine-tuning {wildcards.model} on ACORD's training queries ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/acord_finetune.py"


rule acord_rerank_finetuned:
    input:
        census=f"{ACORD_DATA}/census.json",
        data=[f"{ACORD_DATA}/{name}.parquet" for name in ACORD_SETS],
        needs=lambda wildcards: needs(wildcards, paper="acord", experiment="rerank-finetuned"),
    output:
        predictions=f"{ACORD_RUNS}/rerank-finetuned/{{model}}/{{condition}}/seed{{seed}}/predictions.parquet",
        record=f"{ACORD_RUNS}/rerank-finetuned/{{model}}/{{condition}}/seed{{seed}}/run.json",
    log:
        f"{ACORD_RUNS}/rerank-finetuned/{{model}}/{{condition}}/seed{{seed}}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/acord_rerank_finetuned/{{model}}/{{condition}}/seed{{seed}}.tsv"
    conda:
        ENVIRONMENT
    params:
        code=code("acord_rerank_finetuned.py"),
        settings=lambda wildcards: settings(wildcards, paper="acord", experiment="rerank-finetuned"),
    message:
        "Choosing hyper-parameters on the validation queries and reordering hits with {wildcards.model}."
    script:
        "../scripts/acord_rerank_finetuned.py"


rule acord_score:
    input:
        predictions=f"{ACORD_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/predictions.parquet",
        data=[f"{ACORD_DATA}/{name}.parquet" for name in ("queries", "judgements")],
    output:
        f"{ACORD_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/scores.parquet",
    log:
        f"{RESULTS}/logs/acord_score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/acord_score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        experiment="retrieve|rerank|rerank-finetuned",
    conda:
        ENVIRONMENT
    params:
        queries=lambda wildcards: settings(wildcards, paper="acord").get("queries"),
        code=code("acord_score.py"),
    message:
        "Scoring {wildcards.experiment} by {wildcards.model} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/acord_score.py"
