# Answers: a document, questions with options; a distribution over these comes back, and marked paragraphs.
#
#   in    {RESULTS}/data/{dataset}/{questions,responses,paragraphs,highlights}.parquet, by the registry's names
#   out   {RESULTS}/runs/{dataset}/{answer,mark}/..., scores beside each run
#   steps answer or ask -> score; mark -> score; what is learnt for a document comes from other folds, in the same job

from lextables.tasks.answers.collection import ANSWERED_FROM

ANSWERS = of_task("answers")
ANSWERED = any_of(ANSWERS)


localrules:
    answers_prior,
    answers_score,


include: "functions/answers.smk"


ANSWER = run_folder("answer")


# No text is read: the other documents' answers, or none.
rule answers_prior:
    input:
        answers_tables("questions", "responses"),
    output:
        predictions=f"{ANSWER}/predictions.parquet",
        record=f"{ANSWER}/run.json",
    log:
        f"{ANSWER}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/answer/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=ANSWERED,
        model=answered_by("answer", "prior", "random"),
    conda:
        ENVIRONMENT
    params:
        settings=of_run("answer"),
        names=answers_names,
        kind="prior",
        code=code("answers_prior.py"),
    message:
        "Answering the questions of {wildcards.dataset} without a text ({wildcards.model})."
    script:
        "../scripts/answers_{params.kind}.py"


use rule answers_prior as answers_linear with:
    input:
        answers_tables(*ANSWERED_FROM),
    wildcard_constraints:
        dataset=ANSWERED,
        model=answered_by("answer", "linear"),
    threads: min(2, MODEL_THREADS)
    resources:
        mem_mb=per_attempt(4000),
    params:
        kind="linear",
        code=code("answers_linear.py"),
    message:
        "Learning to answer the questions of {wildcards.dataset} from words ({wildcards.model})."


use rule answers_prior as answers_vectors with:
    input:
        answers_tables(*ANSWERED_FROM),
    wildcard_constraints:
        dataset=ANSWERED,
        model=answered_by("answer", "vectors"),
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(120),
    params:
        device=CONFIG.device,
        vectors=KEPT_VECTORS,
        kind="vectors",
        code=code("answers_vectors.py"),
    message:
        "Learning to answer the questions of {wildcards.dataset} from vectors ({wildcards.model})."


MARK = run_folder("mark")


use rule answers_linear as answers_mark with:
    input:
        data=answers_tables(*ANSWERED_FROM),
        highlights=answers_tables("highlights"),
    output:
        predictions=f"{MARK}/predictions.parquet",
        record=f"{MARK}/run.json",
    log:
        f"{MARK}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/mark/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=ANSWERED,
        model=answered_by("mark", "never", "random", "overlap", "linear"),
    params:
        settings=of_run("mark"),
        kind="mark",
        code=code("answers_mark.py"),
    message:
        "Marking the paragraphs of {wildcards.dataset} for each question ({wildcards.model})."


use rule answers_vectors as answers_mark_vectors with:
    output:
        predictions=f"{MARK}/predictions.parquet",
        record=f"{MARK}/run.json",
    log:
        f"{MARK}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/mark/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=ANSWERED,
        model=answered_by("mark", "vectors"),
    params:
        settings=of_run("mark"),
        kind="mark_vectors",
        code=code("answers_mark_vectors.py"),
    message:
        "Marking the paragraphs of {wildcards.dataset} for each question by vectors ({wildcards.model})."


ASK_ANSWERS = run_folder("ask")


rule answers_ask:
    input:
        answers_tables(*ANSWERED_FROM),
    output:
        predictions=f"{ASK_ANSWERS}/predictions.parquet",
        record=f"{ASK_ANSWERS}/run.json",
    log:
        f"{ASK_ANSWERS}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/ask/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=ANSWERED,
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ASKING_ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(1440),
    params:
        settings=of_run("ask"),
        names=answers_names,
        device=CONFIG.device,
        asking=ASKING,
        marks=False,
        code=code("answers_ask.py"),
    message:
        "Asking {wildcards.model} the questions of {wildcards.dataset}."
    script:
        "../scripts/answers_ask.py"


use rule answers_ask as answers_mark_ask with:
    output:
        predictions=f"{MARK}/predictions.parquet",
        record=f"{MARK}/run.json",
    log:
        f"{MARK}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/mark/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=ANSWERED,
        model=answered_by("mark", "language-model"),
    params:
        settings=of_run("mark"),
        marks=True,
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
        experiment=any_of(registry.PLANNERS["answers"].STAGES),
    conda:
        ENVIRONMENT
    params:
        task=lambda wildcards: ANSWERS[wildcards.dataset].model_dump(
            mode="json", include={"names", "smoothing", "folds"}
        ),
        code=code("answers_score.py"),
    message:
        "Scoring {wildcards.model} on {wildcards.dataset} ({wildcards.experiment}, seed {wildcards.seed})."
    script:
        "../scripts/answers_score.py"
