# Retrieval: queries, a pool of documents, judgements; the predictions are ranked hits.
#
#   in    {RESULTS}/data/{dataset}/{documents,queries,judgements}.parquet, under the names in the registry
#   out   {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps retrieve -> (rerank ->) score, or search -> choice -> train -> rerank-tuned or retrieve-tuned -> score;
#         fuse and feedback combine several first stages

from lextables.planning import rankings
from lextables.tasks.retrieval.collection import files as collection_files

RETRIEVAL = of_task("retrieval")
RETRIEVED = any_of(RETRIEVAL)


if not CONFIG.submit_small_jobs:

    localrules:
        retrieval_choose,
        retrieval_fuse,
        retrieval_score,


include: "functions/retrieval.smk"


RANKING_MESSAGES = {
    "retrieve": "Ranking the documents of every query of {wildcards.dataset} with {wildcards.model}.",
    "rerank": "Reordering the first hits of {wildcards.dataset} with {wildcards.model}.",
    "ask": "Asking a language model about the first hits of {wildcards.dataset} ({wildcards.model}).",
}

# One job makes all runs of a system: every form of the queries, and every way to read the documents.
for ranking_rule in rankings.ranking_rules(SPECS, RETRIEVAL):

    rule:
        name:
            ranking_rule.name
        input:
            data=collection,
            hits=hits_of,
            weights=[],
        output:
            predictions=in_conditions("predictions.parquet", ranking_rule.conditions),
            records=in_conditions("run.json", ranking_rule.conditions),
        log:
            f"{RESULTS}/runs/{{dataset}}/{{experiment}}/{{model}}/log.txt",
        benchmark:
            f"{RESULTS}/benchmarks/{{dataset}}/{{experiment}}/{{model}}.tsv"
        wildcard_constraints:
            dataset=ranking_rule.dataset,
            experiment=ranking_rule.experiment,
            model=any_of(map(re.escape, ranking_rule.models)),
        conda:
            ENVIRONMENT
        threads: 1 if ranking_rule.kind in rankings.WITHOUT_MODEL else MODEL_THREADS
        resources:
            **ranking_resources(ranking_rule.kind),
        params:
            **ranker_params(ranking_rule.kind),
            settings=ranking_settings,
            task=retrieval_task,
            device=CONFIG.device,
            vectors=KEPT_VECTORS,
            asking=ASKING,
        message:
            RANKING_MESSAGES[ranking_rule.experiment]
        script:
            "../scripts/retrieval_rank.py"


rule retrieval_rerank_tuned:
    input:
        data=collection,
        hits=hits_of,
        weights=weights_of,
    output:
        predictions=[f"{RUN}/predictions.parquet"],
        records=[f"{RUN}/run.json"],
    log:
        f"{RUN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="rerank-tuned",
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **model_job(run_work()),
    params:
        **ranker_params("cross-encoder"),
        settings=ranking_settings,
        task=retrieval_task,
        device=CONFIG.device,
        vectors=KEPT_VECTORS,
        asking=ASKING,
    message:
        "Reordering the first hits of {wildcards.dataset} with the fine-tuned {wildcards.model} (seed {wildcards.seed})."
    script:
        "../scripts/retrieval_rank.py"


use rule retrieval_rerank_tuned as retrieval_rerank_classified with:
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="rerank-classified",
    params:
        **ranker_params("classifier"),
    message:
        "Reordering the first hits of {wildcards.dataset} with the classifier {wildcards.model} (seed {wildcards.seed})."


use rule retrieval_rerank_tuned as retrieval_dense_tuned with:
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="retrieve-tuned",
    params:
        **ranker_params("bi-encoder"),
    message:
        "Ranking the documents of every query of {wildcards.dataset} with the fine-tuned {wildcards.model} (seed {wildcards.seed})."


use rule retrieval_rerank_tuned as retrieval_feedback with:
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="feedback",
    params:
        **ranker_params("feedback"),
    message:
        "Ranking the documents of every query of {wildcards.dataset} by several systems and the similarity to the first hits ({wildcards.model}, {wildcards.condition}, seed {wildcards.seed})."


rule retrieval_fuse:
    input:
        data=collection,
        hits=hits_of,
        weights=[],
    output:
        predictions=[f"{RUN}/predictions.parquet"],
        records=[f"{RUN}/run.json"],
    log:
        f"{RUN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="fuse",
    conda:
        ENVIRONMENT
    params:
        **ranker_params("fusion"),
        settings=ranking_settings,
        task=retrieval_task,
        device=CONFIG.device,
        vectors=KEPT_VECTORS,
        asking=ASKING,
    message:
        "Ranking the documents of every query of {wildcards.dataset} by the scores of several systems ({wildcards.model}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/retrieval_rank.py"


rule retrieval_search:
    input:
        data=collection,
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        candidates=needs,
        choice=choice_of,
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="search",
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **model_job(run_work()),
    params:
        settings=settings,
        task=retrieval_task,
        device=CONFIG.device,
        work=work,
        tuning=tuning,
        code=tuning_code,
    message:
        "Fine-tuning {wildcards.model} on {wildcards.dataset} and reading the validation queries ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/retrieval_train.py"


use rule retrieval_search as retrieval_train with:
    output:
        weights=directory(f"{RUN}/weights"),
        record=f"{RUN}/run.json",
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="train",
    message:
        "Fine-tuning {wildcards.model} on the training queries of {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."


rule retrieval_choose:
    input:
        data=collection,
        hits=lambda wildcards: chosen_by(wildcards, searched=False),
        searched=lambda wildcards: chosen_by(wildcards, searched=True),
    output:
        f"{run_folder(seed=0)}/run.json",
    log:
        f"{RESULTS}/logs/{{dataset}}/{{experiment}}/{{model}}/{{condition}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/{{experiment}}/{{model}}/{{condition}}.tsv"
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="choice",
    conda:
        ENVIRONMENT
    params:
        settings=settings,
        task=scored_task,
        rates=searched_rates,
        code=code("retrieval_choose.py"),
    message:
        "Choosing the settings of {wildcards.model} on the validation queries of {wildcards.dataset}."
    script:
        "../scripts/retrieval_choose.py"


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
        experiment=any_of(planning.PLANNERS["retrieval"].STAGES),
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
