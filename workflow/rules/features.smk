# Features of texts, computed once for each model: windows or tokens for fine-tuned
# models, vectors for linear ones.
#
#   in    {RESULTS}/data/{dataset}/*.parquet; for windows also weights that the project trained
#   out   {RESULTS}/features/<task>/{dataset}/{model}/...
#   steps contracts -> windows of tokens; texts or pairs -> tokens; text units or pieces of texts -> vectors

FEATURES = FeatureJobs(JOBS)
WINDOWS = FEATURES.windows()
WINDOWS_FOLDER = f"{RESULTS}/features/spans/{{dataset}}/{{model}}/{{length}}x{{step}}"
TOKENS = FEATURES.tokens()
ENCODINGS = FEATURES.encodings()


wildcard_constraints:
    length=r"\d+",
    step=r"\d+",
    size=r"\d+",


# Windows of training, validation and test contracts; they begin {step} tokens apart.
rule windows:
    input:
        unpack(WINDOWS.inputs),
    output:
        train=window_files(WINDOWS_FOLDER, "train"),
        validation=window_files(WINDOWS_FOLDER, "validation"),
        test=window_files(WINDOWS_FOLDER, "test"),
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{model}}/{{length}}x{{step}}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        code=WINDOWS.code,
        job=WINDOWS.params,
        places=WINDOWS.places,
    message:
        "Cutting the contracts of {wildcards.dataset} into windows of tokens for {wildcards.model}."
    script:
        "../scripts/task.py"


# Each text once, for all heads.
rule tokens:
    input:
        unpack(TOKENS.inputs),
    output:
        tokens=f"{RESULTS}/features/classification/{{dataset}}/{{model}}/{{length}}/tokens.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{model}}/{{length}}.log",
    # Before other jobs that are ready, because a long chain of jobs waits for it.
    priority: 1
    conda:
        ENVIRONMENT
    params:
        code=TOKENS.code,
        job=TOKENS.params,
        places=TOKENS.places,
    message:
        "Tokenising the texts of {wildcards.dataset} for {wildcards.model}, {wildcards.length} tokens at most."
    script:
        "../scripts/task.py"


# Units of contracts, pieces of texts, or queries and documents: shared by all models
# that read vectors.
rule vectors:
    input:
        unpack(ENCODINGS.inputs),
    output:
        vectors=f"{RESULTS}/features/{{task}}/{{dataset}}/{{encoder}}/vectors/{{size}}.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/features/{{encoder}}/{{task}}-vectors-{{size}}.log",
    wildcard_constraints:
        task="spans|classification|retrieval|answers",
    conda:
        ENVIRONMENT
    threads: ENCODINGS.threads
    resources:
        **ENCODINGS.resources,
    params:
        code=ENCODINGS.code,
        job=ENCODINGS.params,
        places=ENCODINGS.places,
    message:
        "Encoding the texts of {wildcards.dataset} with {wildcards.encoder}."
    script:
        "../scripts/task.py"
