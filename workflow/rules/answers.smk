# Answers: a document, questions with options; the predictions are a distribution over the options, and marked
# paragraphs.
#
#   in    {RESULTS}/data/{dataset}/{questions,responses,paragraphs,highlights}.parquet, under the names in the registry
#   out   {RESULTS}/runs/{dataset}/{answer,mark}/..., scores beside each run
#   steps answer or ask -> score; mark -> score; each document is predicted by a model of the other folds

from lextables.planning.answer_jobs import AnswerJobs, predictor_module
from lextables.tasks.answers.collection import ANSWERED_FROM, WITHOUT_TEXT

ANSWERS = AnswerJobs(RUNS)
ANSWERED = any_of(ANSWERS.tasks)


# Baselines that do not read the text: the distribution of other documents' answers, or random answers.
rule answers_prior:
    input:
        data=ANSWERS.tables(*WITHOUT_TEXT),
        highlights=[],
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="answer",
        model=ANSWERS.models("answer", "prior", "random"),
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        predictor="words",
        code=code("answers_predict.py", predictor_module("words")),
        settings=RUNS.settings,
        names=ANSWERS.names,
        device=CONFIG.device,
        vectors=KEPT_VECTORS,
        asking=RUNS.asking,
    message:
        "Answering the questions of {wildcards.dataset} without a text ({wildcards.model})."
    script:
        "../scripts/answers_predict.py"


use rule answers_prior as answers_linear with:
    input:
        data=ANSWERS.tables(*ANSWERED_FROM),
        highlights=[],
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="answer",
        model=ANSWERS.models("answer", "linear"),
    threads: min(2, RESOURCES.model_threads)
    resources:
        mem_mb=per_attempt(4000),
    message:
        "Learning to answer the questions of {wildcards.dataset} from words ({wildcards.model})."


use rule answers_linear as answers_vectors with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="answer",
        model=ANSWERS.models("answer", "vectors"),
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_model(RESOURCES.run_work()),
    params:
        predictor="vectors",
        code=code("answers_predict.py", predictor_module("vectors")),
    message:
        "Learning to answer the questions of {wildcards.dataset} from vectors ({wildcards.model})."


use rule answers_linear as answers_mark with:
    input:
        data=ANSWERS.tables(*ANSWERED_FROM),
        highlights=ANSWERS.tables("highlights"),
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="mark",
        model=ANSWERS.models("mark", "never", "random", "overlap", "linear"),
    message:
        "Marking the paragraphs of {wildcards.dataset} for each question ({wildcards.model})."


use rule answers_vectors as answers_mark_vectors with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="mark",
        model=ANSWERS.models("mark", "vectors"),
    message:
        "Marking the paragraphs of {wildcards.dataset} for each question by vectors ({wildcards.model})."


use rule answers_vectors as answers_ask with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="ask",
        model="[^/]+",
    resources:
        **RESOURCES.of_asking(1440, RESOURCES.run_work()),
    params:
        predictor="language_model",
        code=code("answers_predict.py", predictor_module("language_model")),
    message:
        "Asking {wildcards.model} the questions of {wildcards.dataset}."


use rule answers_ask as answers_mark_ask with:
    wildcard_constraints:
        dataset=ANSWERED,
        experiment="mark",
        model=ANSWERS.models("mark", "language-model"),
    message:
        "Asking {wildcards.model} which paragraphs of {wildcards.dataset} are relevant to each question."


rule answers_score:
    input:
        predictions=f"{RUN}/predictions.parquet",
        data=ANSWERS.tables(*ANSWERED_FROM),
        highlights=ANSWERS.scored_highlights,
    output:
        scores=f"{RUN}/scores.parquet",
        units=f"{RUN}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    wildcard_constraints:
        dataset=ANSWERED,
        experiment=any_of(PROJECT.scored_experiments("answers")),
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        task=ANSWERS.scored_task,
        code=code("answers_score.py"),
    message:
        "Scoring {wildcards.model} on {wildcards.dataset} ({wildcards.experiment}, seed {wildcards.seed})."
    script:
        "../scripts/answers_score.py"
