# Retrieval: queries, a pool of documents, judgements; the predictions are ranked hits.
#
#   in    {RESULTS}/data/{dataset}/{documents,queries,judgements}.parquet, under the names in the registry
#   out   {RESULTS}/runs/{dataset}/..., scores beside each run
#   steps retrieve -> (rerank ->) score, or search -> choice -> train -> rerank-tuned or retrieve-tuned -> score;
#         fuse and feedback combine several first stages

from lextables.planning.rankings import Rankings, ranker_module

RANKINGS = Rankings(RUNS, RESOURCES)
RETRIEVED = any_of(RANKINGS.tasks)


RANKING_MESSAGES = {
    "retrieve": "Ranking the documents of every query of {wildcards.dataset} with {wildcards.model}.",
    "rerank": "Reordering the first hits of {wildcards.dataset} with {wildcards.model}.",
    "ask": "Asking a language model about the first hits of {wildcards.dataset} ({wildcards.model}).",
}

# One job makes all runs of a system: every form of the queries, and every way to read the documents.
for ranking_rule in RANKINGS.rules():

    rule:
        name:
            ranking_rule.name
        input:
            data=RANKINGS.tables,
            hits=RANKINGS.hits,
            weights=[],
        output:
            predictions=RANKINGS.files("predictions.parquet", ranking_rule.conditions),
            records=RANKINGS.files("run.json", ranking_rule.conditions),
        log:
            f"{RESULTS}/runs/{{dataset}}/{{experiment}}/{{model}}/log.txt",
        wildcard_constraints:
            dataset=ranking_rule.dataset,
            experiment=ranking_rule.experiment,
            model=any_of(ranking_rule.models),
        conda:
            ENVIRONMENT
        threads: RANKINGS.threads_of(ranking_rule.kind)
        resources:
            **RANKINGS.resources_of(ranking_rule.kind),
        params:
            kind=ranking_rule.kind,
            code=code("retrieval_rank.py", ranker_module(ranking_rule.kind)),
            settings=RANKINGS.settings,
            task=RANKINGS.ranked_task,
            device=CONFIG.device,
            vectors=KEPT_VECTORS,
            asking=RUNS.asking,
        message:
            RANKING_MESSAGES[ranking_rule.experiment]
        script:
            "../scripts/retrieval_rank.py"


rule retrieval_rerank_tuned:
    input:
        data=RANKINGS.tables,
        hits=RANKINGS.hits,
        weights=RUNS.start_weights,
    output:
        predictions=[f"{RUN}/predictions.parquet"],
        records=[f"{RUN}/run.json"],
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="rerank-tuned",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.run_work()),
    params:
        kind="cross-encoder",
        code=code("retrieval_rank.py", ranker_module("cross-encoder")),
        settings=RANKINGS.settings,
        task=RANKINGS.ranked_task,
        device=CONFIG.device,
        vectors=KEPT_VECTORS,
        asking=RUNS.asking,
    message:
        "Reordering the first hits of {wildcards.dataset} with the fine-tuned {wildcards.model} (seed {wildcards.seed})."
    script:
        "../scripts/retrieval_rank.py"


use rule retrieval_rerank_tuned as retrieval_rerank_classified with:
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="rerank-classified",
    params:
        kind="classifier",
        code=code("retrieval_rank.py", ranker_module("classifier")),
    message:
        "Reordering the first hits of {wildcards.dataset} with the classifier {wildcards.model} (seed {wildcards.seed})."


use rule retrieval_rerank_tuned as retrieval_dense_tuned with:
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="retrieve-tuned",
    params:
        kind="bi-encoder",
        code=code("retrieval_rank.py", ranker_module("bi-encoder")),
    message:
        "Ranking the documents of every query of {wildcards.dataset} with the fine-tuned {wildcards.model} (seed {wildcards.seed})."


use rule retrieval_rerank_tuned as retrieval_feedback with:
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="feedback",
    params:
        kind="feedback",
        code=code("retrieval_rank.py", ranker_module("feedback")),
    message:
        "Ranking the documents of every query of {wildcards.dataset} by several systems and the similarity to the first hits ({wildcards.model}, {wildcards.condition}, seed {wildcards.seed})."


rule retrieval_fuse:
    input:
        data=RANKINGS.tables,
        hits=RANKINGS.hits,
        weights=[],
    output:
        predictions=[f"{RUN}/predictions.parquet"],
        records=[f"{RUN}/run.json"],
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="fuse",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        kind="fusion",
        code=code("retrieval_rank.py", ranker_module("fusion")),
        settings=RANKINGS.settings,
        task=RANKINGS.ranked_task,
        device=CONFIG.device,
        vectors=KEPT_VECTORS,
        asking=RUNS.asking,
    message:
        "Ranking the documents of every query of {wildcards.dataset} by the scores of several systems ({wildcards.model}, {wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/retrieval_rank.py"


rule retrieval_search:
    input:
        data=RANKINGS.tables,
        census=f"{RESULTS}/data/{{dataset}}/census.json",
        candidates=RUNS.needed_predictions,
        choice=RUNS.choice,
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="search",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.run_work()),
    params:
        settings=RUNS.settings,
        task=RANKINGS.ranked_task,
        device=CONFIG.device,
        work=RUNS.work_folder,
        tuning=RANKINGS.tuning,
        code=RANKINGS.tuning_code,
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
        data=RANKINGS.tables,
        hits=RANKINGS.compared(searches=False),
        searched=RANKINGS.compared(searches=True),
    output:
        f"{RUNS.folder(seed=0)}/run.json",
    log:
        f"{RESULTS}/logs/{{dataset}}/{{experiment}}/{{model}}/{{condition}}.log",
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment="choice",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        settings=RUNS.settings,
        task=RANKINGS.scored_task,
        rates=RANKINGS.rates,
        code=code("retrieval_choose.py"),
    message:
        "Choosing the settings of {wildcards.model} on the validation queries of {wildcards.dataset}."
    script:
        "../scripts/retrieval_choose.py"


rule retrieval_score:
    input:
        data=RANKINGS.tables,
        predictions=f"{RUN}/predictions.parquet",
    output:
        scores=f"{RUN}/scores.parquet",
        units=f"{RUN}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    wildcard_constraints:
        dataset=RETRIEVED,
        experiment=any_of(PROJECT.scored_experiments("retrieval")),
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        queries=RANKINGS.queries,
        task=RANKINGS.scored_task,
        code=code("retrieval_score.py"),
    message:
        "Scoring {wildcards.experiment} by {wildcards.model} on {wildcards.dataset} ({wildcards.condition}, seed {wildcards.seed})."
    script:
        "../scripts/retrieval_score.py"
