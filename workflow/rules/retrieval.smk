# Retrieval: queries, a pool of documents, judgements; hits come back.
#
#   in    {RESULTS}/data/{dataset}/{documents,queries,judgements}.parquet, by the names that the registry gives
#   out   {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps retrieve -> (rerank ->) score, or search -> choice -> train -> rerank-tuned or retrieve-tuned -> score;
#         fuse makes one first stage of several

from lextables.tasks.retrieval.collection import files as collection_files

RETRIEVAL = of_task("retrieval")
RETRIEVED = any_of(RETRIEVAL)


localrules:
    retrieval_choose,
    retrieval_fuse,
    retrieval_score,


include: "functions/retrieval.smk"


# Kinds of retrievers, each with a script of its own: a change of one repeats no other's work.
FIRST_STAGES = {
    "bm25": "lexical",
    "okapi": "okapi",
    "bi-encoder": "dense",
    "embedding-api": "api",
    "linear": "linear",
}
SECOND_STAGES = {"cross-encoder": "rerank", "bi-encoder": "rerank_dense", "okapi": "rerank_okapi"}

# All forms of a data set's queries are one job's, and all ways in which a retriever reads documents.
for name, task in RETRIEVAL.items():
    for kind, stage in FIRST_STAGES.items():
        for number, (conditions, those) in enumerate(by_conditions("retrieve", name, kind).items()):

            rule:
                name:
                    f"{name}_retrieve_{stage}" + (f"_{number}" if number else "")
                input:
                    collection,
                output:
                    predictions=in_forms("retrieve", "predictions.parquet", conditions),
                    records=in_forms("retrieve", "run.json", conditions),
                log:
                    f"{RESULTS}/runs/{{dataset}}/retrieve/{{model}}/log.txt",
                benchmark:
                    f"{RESULTS}/benchmarks/{{dataset}}/retrieve/{{model}}.tsv"
                wildcard_constraints:
                    dataset=name,
                    model=those,
                conda:
                    ENVIRONMENT
                threads: MODEL_THREADS if stage in ("dense", "linear") else 1
                resources:
                    **(ON_GPU if stage in ("dense", "linear") else {}),
                    mem_mb=per_attempt(8000),
                    runtime=per_attempt(120),
                params:
                    settings=forms_of("retrieve"),
                    task=retrieval_task,
                    device=CONFIG.device,
                    vectors=KEPT_VECTORS,
                    asking=ASKING,
                    kind=stage,
                    code=code(f"retrieval_{stage}.py"),
                message:
                    "Ranking the documents of every query of {wildcards.dataset} with {wildcards.model}."
                script:
                    "../scripts/retrieval_{params.kind}.py"

    for kind, stage in SECOND_STAGES.items():

        rule:
            name:
                f"{name}_{stage}"
            input:
                data=collection,
                hits=first_hits,
            output:
                predictions=in_forms("rerank", "predictions.parquet", task.forms),
                records=in_forms("rerank", "run.json", task.forms),
            log:
                f"{RESULTS}/runs/{{dataset}}/rerank/{{model}}/log.txt",
            benchmark:
                f"{RESULTS}/benchmarks/{{dataset}}/rerank/{{model}}.tsv"
            wildcard_constraints:
                dataset=name,
                model=rerankers(name, kind),
            conda:
                ENVIRONMENT
            threads: 1 if kind == "okapi" else MODEL_THREADS
            resources:
                **({} if kind == "okapi" else ON_GPU),
                mem_mb=per_attempt(8000),
                runtime=per_attempt(120),
            params:
                settings=forms_of("rerank"),
                task=retrieval_task,
                device=CONFIG.device,
                vectors=KEPT_VECTORS,
                kind=stage,
                code=code(f"retrieval_{stage}.py"),
            message:
                "Reordering the first hits of {wildcards.dataset} with {wildcards.model}."
            script:
                "../scripts/retrieval_{params.kind}.py"

    # All that one model is asked about a retriever's hits, so that it is loaded once.
    for number, (conditions, those) in enumerate(by_conditions("ask", name, "language-model").items()):

        rule:
            name:
                f"{name}_ask" + (f"_{number}" if number else "")
            input:
                data=collection,
                hits=asked_hits,
            output:
                predictions=in_forms("ask", "predictions.parquet", conditions),
                records=in_forms("ask", "run.json", conditions),
            log:
                f"{RESULTS}/runs/{{dataset}}/ask/{{model}}/log.txt",
            benchmark:
                f"{RESULTS}/benchmarks/{{dataset}}/ask/{{model}}.tsv"
            wildcard_constraints:
                dataset=name,
                model=those,
            conda:
                ENVIRONMENT
            threads: MODEL_THREADS
            resources:
                **ASKING_ON_GPU,
                mem_mb=per_attempt(8000),
                runtime=per_attempt(720),
            params:
                settings=forms_of("ask"),
                task=retrieval_task,
                device=CONFIG.device,
                asking=ASKING,
                code=code("retrieval_ask.py"),
            message:
                "Asking a language model about the first hits of {wildcards.dataset} ({wildcards.model})."
            script:
                "../scripts/retrieval_ask.py"


SEARCH = run_folder("search")


rule retrieval_search:
    input:
        data=collection,
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        candidates=needed_by("search"),
    output:
        predictions=f"{SEARCH}/predictions.parquet",
        record=f"{SEARCH}/run.json",
    log:
        f"{SEARCH}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/search/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(240),
    params:
        settings=of_run("search"),
        task=retrieval_task,
        device=CONFIG.device,
        work=work("search"),
        tuning=tuning("search"),
        code=tuning_code("retrieval_search.py", "search"),
    message:
        "Fine-tuning {wildcards.model} on {wildcards.dataset} and reading the validation queries ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/retrieval_search.py"


rule retrieval_choose:
    input:
        data=collection,
        hits=lambda wildcards: chosen_by(wildcards, searched=False),
        searched=lambda wildcards: chosen_by(wildcards, searched=True),
    output:
        f"{run_folder('choice', seed=0)}/run.json",
    log:
        f"{RESULTS}/logs/{{dataset}}/choice/{{model}}/{{condition}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/choice/{{model}}/{{condition}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
    conda:
        ENVIRONMENT
    params:
        settings=of_run("choice"),
        task=scored_task,
        rates=lambda wildcards: [
            [run.seed, spec(run).settings["learning_rate"]]
            for run in spec(run_of(wildcards, experiment="choice")).needs
            if run.experiment == "search"
        ],
        code=code("retrieval_choose.py"),
    message:
        "Choosing the settings of {wildcards.model} on the validation queries of {wildcards.dataset}."
    script:
        "../scripts/retrieval_choose.py"


TRAIN = run_folder("train")


rule retrieval_train:
    input:
        data=collection,
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        choice=choice_for("train"),
    output:
        weights=directory(f"{TRAIN}/weights"),
        record=f"{TRAIN}/run.json",
    log:
        f"{TRAIN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/train/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(240),
    params:
        settings=of_run("train"),
        task=retrieval_task,
        device=CONFIG.device,
        work=work("train"),
        tuning=tuning("train"),
        code=tuning_code("retrieval_train.py", "train"),
    message:
        "Fine-tuning {wildcards.model} on the training queries of {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/retrieval_train.py"


TUNED = run_folder("rerank-tuned")


rule retrieval_rerank_tuned:
    input:
        data=collection,
        hits=needed_by("rerank-tuned"),
        weights=weights_for("rerank-tuned"),
    output:
        predictions=f"{TUNED}/predictions.parquet",
        record=f"{TUNED}/run.json",
    log:
        f"{TUNED}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/rerank-tuned/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(120),
    params:
        settings=of_run("rerank-tuned"),
        task=retrieval_task,
        device=CONFIG.device,
        kind="rerank_tuned",
        code=code("retrieval_rerank_tuned.py"),
    message:
        "Reordering the first hits of {wildcards.dataset} with the fine-tuned {wildcards.model} (seed {wildcards.seed})."
    script:
        "../scripts/retrieval_{params.kind}.py"


RERANK_CLASSIFIED = run_folder("rerank-classified")


use rule retrieval_rerank_tuned as retrieval_rerank_classified with:
    input:
        data=collection,
        hits=needed_by("rerank-classified"),
        weights=weights_for("rerank-classified"),
    output:
        predictions=f"{RERANK_CLASSIFIED}/predictions.parquet",
        record=f"{RERANK_CLASSIFIED}/run.json",
    log:
        f"{RERANK_CLASSIFIED}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/rerank-classified/{{model}}/{{condition}}/seed{{seed}}.tsv"
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(240),
    params:
        settings=of_run("rerank-classified"),
        kind="rerank_classified",
        code=code("retrieval_rerank_classified.py"),
    message:
        "Reordering the first hits of {wildcards.dataset} with the classifier {wildcards.model} (seed {wildcards.seed})."


RETRIEVED_TUNED = run_folder("retrieve-tuned")


use rule retrieval_rerank_tuned as retrieval_dense_tuned with:
    input:
        data=collection,
        weights=weights_for("retrieve-tuned"),
    output:
        predictions=f"{RETRIEVED_TUNED}/predictions.parquet",
        record=f"{RETRIEVED_TUNED}/run.json",
    log:
        f"{RETRIEVED_TUNED}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/retrieve-tuned/{{model}}/{{condition}}/seed{{seed}}.tsv"
    params:
        settings=of_run("retrieve-tuned"),
        kind="dense_tuned",
        code=code("retrieval_dense_tuned.py"),
    message:
        "Ranking the documents of every query of {wildcards.dataset} with the fine-tuned {wildcards.model} (seed {wildcards.seed})."


FUSED = run_folder("fuse")


rule retrieval_fuse:
    input:
        needed_by("fuse"),
    output:
        predictions=f"{FUSED}/predictions.parquet",
        record=f"{FUSED}/run.json",
    log:
        f"{FUSED}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/fuse/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
    conda:
        ENVIRONMENT
    params:
        settings=of_run("fuse"),
        code=code("retrieval_fuse.py"),
    message:
        "Ranking the documents of every query of {wildcards.dataset} by the scores of several systems ({wildcards.model}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/retrieval_fuse.py"


rule retrieval_score:
    input:
        data=collection,
        predictions=f"{RUN}/predictions.parquet",
    output:
        scores=f"{RUN}/scores.parquet",
        units=f"{RUN}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment=any_of(registry.PLANNERS["retrieval"].STAGES),
    conda:
        ENVIRONMENT
    params:
        queries=lambda wildcards: settings(wildcards).get("queries"),
        task=scored_task,
        code=code("retrieval_score.py"),
    message:
        "Scoring {wildcards.experiment} by {wildcards.model} on {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/retrieval_score.py"
