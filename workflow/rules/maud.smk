# MAUD: multiple-choice questions about clauses of merger agreements, and the extraction of these clauses.
#
#   in    {RESULTS}/sources/maud/..., {RESULTS}/sources/maud_extraction/... (or LegalBench-RAG's spans in maud),
#         resources/facts/maud_questions.yaml
#   out   {RESULTS}/data/maud/*.parquet and {RESULTS}/data/maud_extraction/*.parquet, each with census.json;
#         {RESULTS}/runs/maud/..., scores beside each run
#   steps zip -> data sets -> tokens -> search -> single or multi -> score; the extraction task -> spans.smk

MAUD = PAPERS["maud"]
MAUD_DATA = f"{RESULTS}/data/maud"
MAUD_RUNS = f"{RESULTS}/runs/maud"
MAUD_SETS = [
    "examples",
    "texts",
    "questions",
    "contracts",
    "hyperparameters",
    "multi_task_grid",
    "answer_counts",
    "split_overlap",
    "constraint_violations",
]
MAUD_SETTINGS = [*MAUD.settings["single"], *MAUD.settings["multi"]]


rule maud_data:
    input:
        release=f"{RESULTS}/sources/maud/maud_v1.zip",
        recorded=str(HERE / "resources/facts/maud_questions.yaml"),
        settings=[f"{RESULTS}/sources/maud/{name}" for name in MAUD_SETTINGS],
        extraction=[f"{RESULTS}/sources/{name}" for name in maud_extraction_files()],
        provenance=[
            f"{RESULTS}/sources/{name}.json"
            for name in [
                *(f"maud/{name}" for name in ("maud_v1.zip", *MAUD_SETTINGS)),
                *maud_extraction_files(),
            ]
        ],
    output:
        [f"{MAUD_DATA}/{name}.parquet" for name in MAUD_SETS],
        [
            f"{RESULTS}/data/maud_extraction/{name}.parquet"
            for name in ("contracts", "questions", "answers", "training_examples")
        ],
        census=f"{MAUD_DATA}/census.json",
        extraction_census=f"{RESULTS}/data/maud_extraction/census.json",
    log:
        f"{RESULTS}/logs/maud_data.log",
    benchmark:
        f"{RESULTS}/benchmarks/maud_data.tsv"
    conda:
        ENVIRONMENT
    resources:
        mem_mb=4000,
    params:
        questions=MAUD.questions,
        heads=MAUD.heads,
        constraints=MAUD.constraints,
        printed_types=MAUD.printed_types,
        legalbench_queries=MAUD.legalbench_queries,
        settings=MAUD.settings,
        census=MAUD.census,
        code=code("maud_data.py"),
    message:
        "Checking MAUD's questions, texts and spans and writing them as parquet."
    script:
        "../scripts/maud_data.py"


# Each text once, for all questions that are asked of it.
rule maud_tokens:
    input:
        census=f"{MAUD_DATA}/census.json",
        texts=f"{MAUD_DATA}/texts.parquet",
    output:
        tokens=f"{RESULTS}/features/maud/{{model}}/{{length}}/tokens.parquet",
        counts=f"{RESULTS}/features/maud/{{model}}/{{length}}/counts.json",
    log:
        f"{RESULTS}/logs/maud_tokens/{{model}}/{{length}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/maud_tokens/{{model}}/{{length}}.tsv"
    wildcard_constraints:
        length=r"\d+",
    conda:
        ENVIRONMENT
    params:
        weights=lambda wildcards: next(
            identified({name: spec.settings[name] for name in ("model", "weights", "revision", "found")})
            for run, spec in PLANS["maud"].specs.items()
            if (run.paper, run.model) == ("maud", wildcards.model)
        ),
        code=code("maud_tokens.py"),
    message:
        "Tokenising MAUD's texts for {wildcards.model}, {wildcards.length} tokens at most."
    script:
        "../scripts/maud_tokens.py"


rule maud_train:
    input:
        census=f"{MAUD_DATA}/census.json",
        data=[
            f"{MAUD_DATA}/{name}.parquet"
            for name in ("examples", "questions", "hyperparameters", "multi_task_grid")
        ],
        tokens=lambda wildcards: "{}/features/maud/{}/{}/tokens.parquet".format(
            RESULTS, wildcards.model, settings(wildcards, paper="maud")["max_length"]
        ),
        searched=lambda wildcards: needs(wildcards, paper="maud"),
    output:
        predictions=f"{MAUD_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/predictions.parquet",
        record=f"{MAUD_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/run.json",
    log:
        f"{MAUD_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/maud/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    conda:
        ENVIRONMENT
    threads: 4
    resources:
        gpu=MODEL_GPU,
        mem_mb=8000,
        runtime=1440,
    params:
        settings=lambda wildcards: settings(wildcards, paper="maud"),
        rates=lambda wildcards: [run["learning_rates"][0] for run in needed_settings(wildcards, paper="maud")],
        device=CONFIG.device,
        work=lambda wildcards: work(wildcards, paper="maud"),
        code=code("maud_train.py"),
    message:
        "Training {wildcards.model} on MAUD ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/maud_train.py"


rule maud_score:
    input:
        census=f"{MAUD_DATA}/census.json",
        predictions=f"{MAUD_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/predictions.parquet",
        data=[f"{MAUD_DATA}/{name}.parquet" for name in ("examples", "questions")],
    output:
        f"{MAUD_RUNS}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}/scores.parquet",
    log:
        f"{RESULTS}/logs/maud_score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/maud_score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        experiment="single|multi",
    conda:
        ENVIRONMENT
    params:
        code=code("maud_score.py"),
    message:
        "Scoring {wildcards.model} on MAUD's test examples ({wildcards.experiment}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/maud_score.py"
