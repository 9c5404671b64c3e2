# Features of texts, computed once for each model: windows or tokens for fine-tuned
# models, vectors for linear ones.
#
#   in    {RESULTS}/data/{dataset}/*.parquet; for windows also weights that the project trained
#   out   {RESULTS}/features/<task>/{dataset}/{model}/...
#   steps contracts -> windows of tokens; texts or pairs -> tokens; segments or pieces of texts -> vectors
#
# Inputs and params come from the job of the features
# (lextables/planning/feature_jobs.py).  As in runs.smk, param `job` is what the action
# is given, `code` the fingerprint of its code, and `places` has folders and limits,
# which change no result.
#
# `unpack` is Snakemake's.  All other names that are not defined here, such as JOBS,
# FeatureJobs and window_files, are from common.smk.

# Each object has the inputs, params and resources of a rule, as functions of wildcards.
FEATURES = FeatureJobs(JOBS)
WINDOWS = FEATURES.windows()
# {length} is the length of a window in tokens, {step} the distance between the starts
# of two windows.
WINDOWS_FOLDER = f"{RESULTS}/features/spans/{{dataset}}/{{model}}/{{length}}x{{step}}"
TOKENS = FEATURES.tokens()
ENCODINGS = FEATURES.encodings()  # vectors


wildcard_constraints:
    length=r"\d+",
    step=r"\d+",
    size=r"\d+",


# Windows of tokens of the training, validation and test contracts, cut by the tokenizer
# of a model.
rule windows:
    input:
        # `data`: tables of the data set; `weights`: those of a model that is trained
        # here.
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


# Tokens of each text, {length} at most, by the tokenizer {model}; once, for all heads
# of a classifier.
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


# Vectors of segments of contracts, of pieces of texts, or of queries and documents, shared
# by all models that read vectors.  {size} is the greatest number of tokens that the
# encoder reads, or 0 for its own limit; for classification it is the number of words of
# a piece.
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
