# Answers: a document, questions with options; the predictions are a distribution over the options, and marked
# paragraphs.
#
#   in    {RESULTS}/data/{dataset}/{questions,responses,paragraphs,highlights}.parquet, under the names in the registry
#   out   {RESULTS}/runs/{dataset}/{answer,mark}/..., scores beside each run
#   steps answer or ask -> score; mark -> score; each document is predicted by a model of the other folds

from lextables.planning.answer_jobs import SCORED_BY, models_of
from lextables.tasks.answers.collection import ANSWERED_FROM, WITHOUT_TEXT

ANSWERS = of_task("answers")
ANSWERED = any_of(ANSWERS)


if not CONFIG.submit_small_jobs:

    localrules:
        answers_prior,
        answers_score,


include: "functions/answers.smk"


# Baselines that do not read the text: the distribution of other documents' answers, or random answers.
rule answers_prior:
    input:
        data=answers_tables(*WITHOUT_TEXT),
        highlights=[],
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="answer",
        model=answered_by("answer", "prior", "random"),
    conda:
        ENVIRONMENT
    params:
        **predictor_params("words"),
        settings=settings,
        names=answers_names,
        device=CONFIG.device,
        vectors=KEPT_VECTORS,
        asking=ASKING,
    message:
        "Answering the questions of {wildcards.dataset} without a text ({wildcards.model})."
    script:
        "../scripts/answers_predict.py"


use rule answers_prior as answers_linear with:
    input:
        data=answers_tables(*ANSWERED_FROM),
        highlights=[],
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="answer",
        model=answered_by("answer", "linear"),
    threads: min(2, MODEL_THREADS)
    resources:
        mem_mb=per_attempt(4000),
    message:
        "Learning to answer the questions of {wildcards.dataset} from words ({wildcards.model})."


use rule answers_linear as answers_vectors with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="answer",
        model=answered_by("answer", "vectors"),
    threads: MODEL_THREADS
    resources:
        **model_job(run_work()),
    params:
        **predictor_params("vectors"),
    message:
        "Learning to answer the questions of {wildcards.dataset} from vectors ({wildcards.model})."


use rule answers_linear as answers_mark with:
    input:
        data=answers_tables(*ANSWERED_FROM),
        highlights=answers_tables("highlights"),
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="mark",
        model=answered_by("mark", "never", "random", "overlap", "linear"),
    message:
        "Marking the paragraphs of {wildcards.dataset} for each question ({wildcards.model})."


use rule answers_vectors as answers_mark_vectors with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="mark",
        model=answered_by("mark", "vectors"),
    message:
        "Marking the paragraphs of {wildcards.dataset} for each question by vectors ({wildcards.model})."


use rule answers_vectors as answers_ask with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="ask",
        model="[^/]+",
    resources:
        **asking_job(1440, run_work()),
    params:
        **predictor_params("language_model"),
    message:
        "Asking {wildcards.model} the questions of {wildcards.dataset}."


use rule answers_ask as answers_mark_ask with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="mark",
        model=answered_by("mark", "language-model"),
    message:
        "Asking {wildcards.model} which paragraphs of {wildcards.dataset} are relevant to each question."


rule answers_score:
    input:
        predictions=f"{RUN}/predictions.parquet",
        data=answers_tables(*ANSWERED_FROM),
        highlights=highlights_scored,
    output:
        scores=f"{RUN}/scores.parquet",
        units=f"{RUN}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=ANSWERED,
        experiment=any_of(planning.PLANNERS["answers"].STAGES),
    conda:
        ENVIRONMENT
    params:
        task=lambda wildcards: ANSWERS[wildcards.dataset].model_dump(
            mode="json", include=SCORED_BY
        ),
        code=code("answers_score.py"),
    message:
        "Scoring {wildcards.model} on {wildcards.dataset} ({wildcards.experiment}, seed {wildcards.seed})."
    script:
        "../scripts/answers_score.py"
