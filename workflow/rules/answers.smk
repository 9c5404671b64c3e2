# Answers: a document, questions with options; the predictions are a distribution over the options, and marked
# paragraphs.
#
#   in    {RESULTS}/data/{dataset}/{questions,responses,paragraphs,highlights}.parquet, under the names in the registry
#   out   {RESULTS}/runs/{dataset}/{answer,mark}/..., scores beside each run
#   steps answer or ask -> score; mark -> score; each document is predicted by a model of the other folds

from lextables.tasks.answers.collection import ANSWERED_FROM

ANSWERS = of_task("answers")
ANSWERED = any_of(ANSWERS)


if not CONFIG.submit_small_jobs:

    localrules:
        answers_prior,
        answers_score,


include: "functions/answers.smk"


# Baselines that do not read the text: the distribution of other documents' answers, or random answers.
use rule base_run as answers_prior with:
    input:
        answers_tables("questions", "responses"),
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="answer",
        model=answered_by("answer", "prior", "random"),
    params:
        **script_params("answers_prior"),
        names=answers_names,
    message:
        "Answering the questions of {wildcards.dataset} without a text ({wildcards.model})."


use rule answers_prior as answers_linear with:
    input:
        answers_tables(*ANSWERED_FROM),
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="answer",
        model=answered_by("answer", "linear"),
    threads: min(2, MODEL_THREADS)
    resources:
        mem_mb=per_attempt(4000),
    params:
        **script_params("answers_linear"),
    message:
        "Learning to answer the questions of {wildcards.dataset} from words ({wildcards.model})."


use rule base_model_run as answers_vectors with:
    input:
        answers_tables(*ANSWERED_FROM),
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="answer",
        model=answered_by("answer", "vectors"),
    params:
        **script_params("answers_vectors"),
        names=answers_names,
        vectors=KEPT_VECTORS,
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
    params:
        **script_params("answers_mark"),
    message:
        "Marking the paragraphs of {wildcards.dataset} for each question ({wildcards.model})."


use rule answers_vectors as answers_mark_vectors with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="mark",
        model=answered_by("mark", "vectors"),
    params:
        **script_params("answers_mark_vectors"),
    message:
        "Marking the paragraphs of {wildcards.dataset} for each question by vectors ({wildcards.model})."


use rule base_asking as answers_ask with:
    input:
        answers_tables(*ANSWERED_FROM),
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="ask",
    resources:
        **asking_job(1440, run_work()),
    params:
        **script_params("answers_ask"),
        names=answers_names,
        marks=False,
    message:
        "Asking {wildcards.model} the questions of {wildcards.dataset}."


use rule answers_ask as answers_mark_ask with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="mark",
        model=answered_by("mark", "language-model"),
    params:
        marks=True,
    message:
        "Asking {wildcards.model} which paragraphs of {wildcards.dataset} are relevant to each question."


use rule base_score as answers_score with:
    input:
        predictions=f"{RUN}/predictions.parquet",
        data=answers_tables(*ANSWERED_FROM),
        highlights=highlights_scored,
    wildcard_constraints:
        dataset=ANSWERED,
        experiment=any_of(planning.PLANNERS["answers"].STAGES),
    params:
        **script_params("answers_score"),
        task=lambda wildcards: ANSWERS[wildcards.dataset].model_dump(
            mode="json", include={"names", "smoothing", "folds"}
        ),
    message:
        "Scoring {wildcards.model} on {wildcards.dataset} ({wildcards.experiment}, seed {wildcards.seed})."
