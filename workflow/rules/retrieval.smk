# Retrieval: queries, a pool of documents, judgements; the predictions are ranked hits.
#
#   in    {RESULTS}/data/{dataset}/{documents,queries,judgements}.parquet, under the names in the registry
#   out   {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps retrieve -> (rerank ->) score, or search -> choice -> train -> rerank-tuned or retrieve-tuned -> score;
#         fuse and feedback combine several first stages

from lextables.tasks.retrieval.collection import files as collection_files

RETRIEVAL = of_task("retrieval")
RETRIEVED = any_of(RETRIEVAL)


if not CONFIG.submit_small_jobs:

    localrules:
        retrieval_choose,
        retrieval_fuse,
        retrieval_score,


include: "functions/retrieval.smk"


# Each kind of retriever and reranker has its own script, so that changing it does not rerun the others.
STAGES = {
    ("retrieve", "bm25"): "lexical",
    ("retrieve", "okapi"): "okapi",
    ("retrieve", "bi-encoder"): "dense",
    ("retrieve", "embedding-api"): "api",
    ("retrieve", "linear"): "linear",
    ("rerank", "cross-encoder"): "rerank",
    ("rerank", "bi-encoder"): "rerank_dense",
    ("rerank", "okapi"): "rerank_okapi",
    ("ask", "language-model"): "ask",
}
WITHOUT_MODEL = ("lexical", "okapi", "api", "rerank_okapi")
RANKING_MESSAGES = {
    "retrieve": "Ranking the documents of every query of {wildcards.dataset} with {wildcards.model}.",
    "rerank": "Reordering the first hits of {wildcards.dataset} with {wildcards.model}.",
    "ask": "Asking a language model about the first hits of {wildcards.dataset} ({wildcards.model}).",
}

# One job makes all runs of a model: every form of the queries, and every view of the documents.
for name, experiment, stage, conditions, model, title in ranking_rules():

    rule:
        name:
            title
        input:
            data=collection,
            hits=hits_of,
        output:
            predictions=in_conditions("predictions.parquet", conditions),
            records=in_conditions("run.json", conditions),
        log:
            f"{RESULTS}/runs/{{dataset}}/{{experiment}}/{{model}}/log.txt",
        benchmark:
            f"{RESULTS}/benchmarks/{{dataset}}/{{experiment}}/{{model}}.tsv"
        wildcard_constraints:
            dataset=name,
            experiment=experiment,
            model=model,
        conda:
            ENVIRONMENT
        threads: 1 if stage in WITHOUT_MODEL else MODEL_THREADS
        resources:
            **ranking_resources(stage),
        params:
            **script_params(f"retrieval_{stage}"),
            settings=settings_by_condition,
            task=retrieval_task,
            device=CONFIG.device,
            vectors=KEPT_VECTORS,
            asking=ASKING,
        message:
            RANKING_MESSAGES[experiment]
        script:
            "../scripts/{params.script}.py"


use rule base_model_run as retrieval_search with:
    input:
        data=collection,
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        candidates=needs,
        choice=choice_of,
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="search",
    params:
        task=retrieval_task,
        work=work,
        tuning=tuning,
        script="retrieval_train",
        code=tuning_code,
    message:
        "Fine-tuning {wildcards.model} on {wildcards.dataset} and reading the validation queries ({wildcards.condition}, seed {wildcards.seed})."


use rule retrieval_search as retrieval_train with:
    output:
        weights=directory(f"{RUN}/weights"),
        record=f"{RUN}/run.json",
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="train",
    message:
        "Fine-tuning {wildcards.model} on the training queries of {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."


use rule base_choice as retrieval_choose with:
    input:
        data=collection,
        hits=lambda wildcards: chosen_by(wildcards, searched=False),
        searched=lambda wildcards: chosen_by(wildcards, searched=True),
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="choice",
    params:
        **script_params("retrieval_choose"),
        task=scored_task,
        rates=lambda wildcards: [
            [run.seed, spec(run).settings["learning_rate"]]
            for run in spec(run_of(wildcards)).needs
            if run.experiment == "search"
        ],
    message:
        "Choosing the settings of {wildcards.model} on the validation queries of {wildcards.dataset}."


use rule base_model_run as retrieval_rerank_tuned with:
    input:
        data=collection,
        hits=needs,
        weights=weights_of,
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="rerank-tuned",
    params:
        **script_params("retrieval_rerank_tuned"),
        task=retrieval_task,
    message:
        "Reordering the first hits of {wildcards.dataset} with the fine-tuned {wildcards.model} (seed {wildcards.seed})."


use rule retrieval_rerank_tuned as retrieval_rerank_classified with:
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="rerank-classified",
    params:
        **script_params("retrieval_rerank_classified"),
    message:
        "Reordering the first hits of {wildcards.dataset} with the classifier {wildcards.model} (seed {wildcards.seed})."


use rule retrieval_rerank_tuned as retrieval_dense_tuned with:
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="retrieve-tuned",
    params:
        **script_params("retrieval_dense_tuned"),
    message:
        "Ranking the documents of every query of {wildcards.dataset} with the fine-tuned {wildcards.model} (seed {wildcards.seed})."


use rule retrieval_rerank_tuned as retrieval_feedback with:
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="feedback",
    params:
        **script_params("retrieval_feedback"),
        vectors=KEPT_VECTORS,
    message:
        "Ranking the documents of every query of {wildcards.dataset} by several systems and the similarity to the first hits ({wildcards.model}, {wildcards.condition}, seed {wildcards.seed})."


use rule base_run as retrieval_fuse with:
    input:
        needs,
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="fuse",
    params:
        **script_params("retrieval_fuse"),
    message:
        "Ranking the documents of every query of {wildcards.dataset} by the scores of several systems ({wildcards.model}, {wildcards.condition}, seed {wildcards.seed})."


use rule base_score as retrieval_score with:
    input:
        data=collection,
        predictions=f"{RUN}/predictions.parquet",
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment=any_of(planning.PLANNERS["retrieval"].STAGES),
    params:
        **script_params("retrieval_score"),
        queries=lambda wildcards: settings(wildcards).get("queries"),
        task=scored_task,
    message:
        "Scoring {wildcards.experiment} by {wildcards.model} on {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."
