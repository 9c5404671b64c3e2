"""The runs of a retrieval task: retrievers, alone or with a reranker; both may be
fine-tuned.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import PositiveFloat, PositiveInt, field_validator, model_validator

from lextables.metrics.ranking import by_name
from lextables.models.resolve import Missing, Weights, model_settings
from lextables.models.settings import limited_updates
from lextables.pipeline.entries import Entry
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.pipeline.user_rows import Key
from lextables.tasks.classification.planner import ClassificationPlanner
from lextables.tasks.planner import (
    ASK,
    OUR_PROMPT,
    PAPER_GRID,
    SUBMITTED,
    Difference,
    Grid,
    Planner,
    Row,
    Search,
    SubmittedFiles,
    TrainingLimits,
    additional_name,
    fewer_seeds,
    rate_trials,
    reason_not_run,
)
from lextables.tasks.retrieval.ranking import Chunks

USER_MAX_LENGTH = 512
BM25 = {"k1": 0.9, "b": 0.4}  # Anserini's defaults
DocumentForm = Literal["whole", "paragraphs", "filtered"]
RowType = TypeVar("RowType", "Reranker", "Finetuned")
# {condition: its runs, one per seed}, or why there are none.
RunsOrMissing = dict[str, tuple[Run, ...]] | Missing
# Kinds of retrievers that read documents whole.
READ_WHOLE = ("bm25", "fusion", "linear", "prior")
NO_ENCODER = "feedback needs a fusion whose last system is a bi-encoder"
NO_PROMPT = (
    "the paper does not state its prompt; a row with another prompt is additional"
)
NOT_THEIRS = [Difference("the paper's prompt", OUR_PROMPT)]
NO_GPU = (
    "needs a GPU: every paragraph, or every document as cut for a query, is encoded"
)


class Retriever(Entry):
    """A first-stage system.

    `bm25` has one ``index`` for each query, over its judged documents, or one over all
    documents.  `okapi` is gensim's BM25, whose collection is the pool of a query
    (`lextables.models.okapi`), or one of the ``chunks`` of LawngNLI's released code.

    `prior` reads no query (`rankers.prior`): it ranks ``by`` the gains of documents for
    other queries, or by their length.

    A `fusion` ranks by the mean of the standardised scores of the systems ``of``: keys
    of other retrievers or of fine-tuned bi-encoders, with the weights ``shares`` (none:
    equal).  With ``feedback`` it fuses twice; in between, the query is moved towards
    its first ``feedback`` hits, in the vectors of the last system
    (`rankers.feedback.fuse_with_feedback`).

    A `linear` one is trained on the judgements of the training and validation queries,
    with words in ``topics`` topics and, if it has a ``model``, with its vectors;
    ``penalty`` is scikit-learn's C.  ``baseline`` and ``lenient`` are those of a
    `Panel`.

    ``documents`` are ways to read documents: `whole` (cut at the length of the model),
    `paragraphs` (the best paragraph counts; only models with vectors) or `filtered`
    (cut to the paragraphs that BM25 finds for the query; also `okapi`).  One job ranks
    with all of them.  Most tables show the first, and rerankers get the hits of the
    last.  Those in ``needs_gpu`` are left out without a GPU, because encoding their
    texts takes hours or days on a CPU.
    """

    row: str
    kind: Literal[
        "bm25", "okapi", "prior", "bi-encoder", "embedding-api", "fusion", "linear"
    ]
    by: Literal["gain", "length"] | None = None
    index: Literal["query", "corpus"] | None = None
    model: str | None = None
    of: tuple[str, ...] = ()
    shares: tuple[PositiveFloat, ...] = ()
    feedback: PositiveInt | None = None
    documents: tuple[DocumentForm, ...] = ("whole",)
    needs_gpu: tuple[DocumentForm, ...] = ()
    chunks: Chunks | None = None
    topics: PositiveInt | None = None
    penalty: PositiveFloat | None = None
    additional: bool = False
    reranked: bool = True
    baseline: bool = False
    lenient: bool = False
    also_trained_on: tuple[str, ...] = ()

    def fault(self) -> str:
        """What is wrong with the fields of this kind; empty if nothing is."""
        if bool(self.of) != (self.kind == "fusion"):
            return "only a fusion has `of`, and it needs it"
        is_trainable = self.topics and self.penalty and not self.reranked
        if self.kind == "linear" and not is_trainable:
            return "a linear retriever needs topics, a penalty and reranked: false"
        if bool(self.by) != (self.kind == "prior"):
            return "only a prior has `by`, and it needs it"
        if self.kind in READ_WHOLE and self.documents != ("whole",):
            return f"{self.kind} reads documents whole"
        if self.kind == "okapi" and "paragraphs" in self.documents:
            return "okapi reads documents whole or filtered"
        if self.chunks and self.kind != "okapi":
            return "only okapi has chunks"
        if len(self.shares) not in (0, len(self.of)):
            return "`shares` needs a value for each system in `of`, or none"
        if self.feedback and not self.of:
            return NO_ENCODER
        return ""

    @property
    def reranked_reading(self) -> str:
        """How documents are read for the hits that rerankers get."""
        return self.documents[-1]

    def conditions(self, forms: Sequence[str]) -> dict[str, tuple[str, str]]:
        """{condition of a run: (the form of the queries, how documents are read)}."""
        conditions: dict[str, tuple[str, str]] = {}
        for form in forms:
            for read in self.documents:
                is_first = read == self.documents[0]
                name = form if is_first else f"{form}-{read}"
                conditions[name] = (form, read)
        return conditions


class Reranker(Entry):
    """A second-stage system, which reads documents as the retriever whose first hits it
    ranks.

    A bi-encoder and `okapi` rank the hits as they would rank a pool.  A language model
    is asked (`RerankingPrompts`); if its row is published, it is asked with our prompt
    in an additional row.  A classifier reads a pair of a document and a query: it is
    the ``model`` in the panel of the classification task ``of``, trained there, under a
    ``view`` of the task, with ``max_length`` tokens (none: as in training).  Relevance
    is the probability (or, with the ``score`` `logit`, the logit) of an answer of its
    ``head``: the one with the name of the query's value in the column ``by``, or the
    one that ``answers`` gives for that value.
    """

    row: str
    kind: Literal[
        "cross-encoder", "language-model", "bi-encoder", "okapi", "classifier"
    ]
    model: str = ""
    of: str = ""
    view: str = ""
    head: str = ""
    by: str = ""
    answers: Mapping[str, str] = {}
    score: Literal["probability", "logit"] = "probability"
    max_length: PositiveInt | None = None
    chunks: Chunks | None = None
    additional: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Raise `ValueError` if a kind lacks a field, or has one of another kind."""
        if bool(self.model) == (self.kind == "okapi"):
            raise ValueError(
                f"the reranker {self.row!r} needs a model; only okapi has none"
            )
        is_classifier = self.kind == "classifier"
        fields = (self.of, self.view, self.head, self.by)
        if {bool(value) for value in fields} != {is_classifier}:
            raise ValueError(
                f"the reranker {self.row!r}: only a classifier has of, view, head and by, and it needs all"
            )
        if self.score == "logit" and not is_classifier:
            raise ValueError(f"the reranker {self.row!r}: only a classifier has logits")
        if self.chunks and self.kind != "okapi":
            raise ValueError(f"the reranker {self.row!r}: only okapi has chunks")
        return self


class RerankingPrompts(Entry):
    """Names of the prompts for language models that rerank, for each way of asking.

    ``passes`` is the number of passes of pairwise comparisons.  Under a grid in
    ``hits``, only that number of first hits of a query is ranked (none: all hits of the
    retriever).
    """

    pointwise: str
    pairwise: str
    passes: PositiveInt = 1
    hits: Mapping[str, PositiveInt] = {}


class RetrievalGrid(Grid):
    """``updates`` are the numbers of updates to try, all of them in one training."""

    updates: tuple[int, ...]

    def limited(self, limits: TrainingLimits) -> Self:
        """The grid of a rehearsal."""
        updates = limited_updates(self.updates, limits.updates)
        changed = {"updates": tuple(updates), "max_updates": self.max_updates}
        return super().limited(limits).model_copy(update=changed)


class Finetuned(Entry):
    """A model fine-tuned on the training queries: a cross-encoder reranks, a bi-encoder
    retrieves.

    ``grids`` replace the task's grids of the same names.  For a bi-encoder,
    ``temperature`` divides the cosines in the loss (not other similarities), and
    ``documents`` is the number of documents for each query of a batch.
    """

    row: str
    model: str
    kind: Literal["cross-encoder", "bi-encoder"] = "cross-encoder"
    additional: bool = False
    also_trained_on: tuple[str, ...] = ()
    grids: Mapping[str, RetrievalGrid] = {}
    temperature: PositiveFloat = 0.05
    documents: PositiveInt = 8


class RetrievalTables(Entry):
    """Names of the data set's tables and columns that the task reads.

    ``order`` is a column of the judgements: the pool of a query has its descending
    order.
    """

    documents: str = "documents"
    document: str = "document_id"
    text: str = "text"
    gain: str = "gain"
    order: str | None = None


class RetrievalTask(Entry):
    """The settings of a retrieval task that a paper fixed.

    ``forms`` are columns with wordings of the queries; most tables show the first, and
    the others are ranked only for ``form_queries``.  With the ``pool`` `judged`, a
    query's hits are among the documents judged for it, else among all.  ``top`` is the
    number of hits that a retriever returns.  ``training``, ``validation`` and ``test``
    are splits of the queries.  ``metrics`` are names of `metrics.ranking`; ``top_gain``
    is the highest gain, and ``groups`` are columns of the queries by which scores are
    grouped.  The best trial of a grid has the best ``choose_by`` on the validation
    queries.  A published score of a tuned model is the mean of ``averages`` runs; the
    grid `paper` has the paper's settings.  ``asking`` is for language models.
    """

    task: Literal["retrieval"]
    names: RetrievalTables = RetrievalTables()
    forms: tuple[str, ...] = ("text",)
    form_queries: tuple[str, ...] = ()
    pool: Literal["judged", "all"] = "judged"
    top: int = 100
    training: str = "train"
    validation: str = "valid"
    test: str = "test"
    metrics: tuple[str, ...]
    top_gain: PositiveInt = 1
    groups: tuple[str, ...] = ()
    choose_by: str = "NDCG@10"
    retrievers: Mapping[Key, Retriever]
    rerankers: Mapping[Key, Reranker] = {}
    asking: RerankingPrompts | None = None
    finetuned: Mapping[Key, Finetuned] = {}
    averages: PositiveInt = 1
    grids: Mapping[str, RetrievalGrid] = {}

    @field_validator("metrics", "choose_by")
    @classmethod
    def _known(cls, names: Any) -> Any:
        listed = (names,) if isinstance(names, str) else names
        for name in listed:
            try:
                by_name(name)
            except BadInput as error:
                raise ValueError(error.what) from None
        return names

    @model_validator(mode="after")
    def _first_stages(self) -> Self:
        """Raise `ValueError` for keys that are used twice, and for a wrong first
        stage.
        """
        kinds = {reranker.kind for reranker in self.rerankers.values()}
        if "language-model" in kinds and not self.asking:
            raise ValueError(
                "rerankers that are language models need `asking` with the names of prompts"
            )
        tuned = {
            key for key, tuned in self.finetuned.items() if tuned.kind == "bi-encoder"
        }
        twice = tuned & self.retrievers.keys()
        if twice:
            raise ValueError(
                f"{min(twice)} is the key of a retriever and of a fine-tuned model; rename one of them"
            )
        for key, retriever in self.retrievers.items():
            fault = retriever.fault() or self._fault_of_fusion(retriever, tuned)
            if fault:
                raise ValueError(f"retrievers.{key}: {fault}")
        return self

    def _fault_of_fusion(self, fusion: Retriever, tuned: Set[str]) -> str:
        """What is wrong with the systems of a fusion; empty if nothing is."""
        if not fusion.of:
            return ""
        last = self.retrievers.get(fusion.of[-1])
        encodes = last is None or (last.kind, last.documents) == (
            "bi-encoder",
            ("whole",),
        )
        if fusion.feedback and not encodes:
            return NO_ENCODER
        single = set(tuned)
        for key, retriever in self.retrievers.items():
            if retriever.kind != "fusion":
                single.add(key)
        unknown = set(fusion.of) - single
        if unknown:
            return f"{min(unknown)} is no other retriever or fine-tuned bi-encoder"
        return ""


class RetrievalPlanner(Planner):
    """Plans a retrieval task; the name of a row is `<retriever> / <reranker>`.

    `rows` collects rows in ``shown_rows``, to which the methods `add_…_row` and
    `add_…_rows` append.
    """

    STAGES = (
        "retrieve",
        "rerank",
        "rerank-tuned",
        "rerank-classified",
        "retrieve-tuned",
        "fuse",
        "feedback",
        ASK,
        SUBMITTED,
    )
    FORMS: ClassVar = {
        "trec": (".txt", ".run", ".trec"),
        "csv": (".csv",),
        "jsonl": (".jsonl",),
    }
    task: RetrievalTask

    def __init__(self, name: str, task: RetrievalTask, context: Any) -> None:
        super().__init__(name, task, context)
        self.MAIN = task.forms[0]
        self.shown_rows: list[Row] = []

    def rows(self) -> list[Row]:
        """The rows of retrievers, each with those of its rerankers, then the rows of
        fine-tuned retrievers and of fusions.
        """
        retrievers = self.retrievers()
        fusions = {}
        first_stages: dict[str, RunsOrMissing] = {}  # by key of the first stage
        for key, retriever in retrievers.items():
            if retriever.kind == "fusion":
                fusions[key] = retriever
            else:
                first_stages[key] = self.retriever_runs(key, retriever)
        for key, retriever in retrievers.items():
            if key in fusions:
                continue
            self.add_row(retriever, None, first_stages[key])
            is_api = retriever.kind == "embedding-api"
            if is_api or not retriever.reranked or retriever.index == "corpus":
                continue
            hits = self.hits_to_rerank(retriever, first_stages[key])
            self.add_zero_shot_rows(key, retriever, hits)
            if not retriever.additional:
                self.add_tuned_rows(key, retriever, hits)
        for key, tuned in self.finetuned_of_kind("bi-encoder").items():
            first_stages[key] = self.tuned_retriever_runs(key, tuned)
            self.add_row(tuned, None, first_stages[key])
        for key, fusion in fusions.items():
            self.add_row(fusion, None, self.fusion_runs(key, fusion, first_stages))
        return self.shown_rows

    def retrievers(self) -> dict[str, Retriever]:
        """The retrievers of the registry, then those of the user, which read documents
        in the ways of the registry's first bi-encoder.
        """
        retrievers = dict(self.task.retrievers)
        documents = [
            retriever.documents
            for retriever in retrievers.values()
            if retriever.kind == "bi-encoder"
        ]
        fields = {"kind": "bi-encoder", "documents": [*documents, ("whole",)][0]}
        retrievers.update(self.user_panels(Retriever, ["bi-encoder"], **fields))
        return retrievers

    def submitted_row(self, extra: SubmittedFiles) -> Row:
        """The row of submitted predictions, for the first form of the queries only."""
        submitted = super().submitted_row(extra)
        retriever = Retriever(row=submitted.row, kind="bm25", additional=True)
        row = self.system_row(retriever, None, submitted.runs)
        reason = f"the predictions are for the {self.MAIN} form of the queries"
        about = {**row.about, "read": {self.MAIN: "whole"}}
        return replace(row, submitted=True, reason=reason, parameters=None, about=about)

    def finetuned_of_kind(self, kind: str) -> dict[str, Finetuned]:
        return {
            key: tuned
            for key, tuned in self.task.finetuned.items()
            if tuned.kind == kind
        }

    def system_row(
        self,
        retriever: Retriever | Finetuned,
        reranker: Reranker | Finetuned | None,
        outcome: RunsOrMissing,
        pairwise: bool = False,
    ) -> Row:
        """The row of a retriever, alone or with a reranker: its runs, or the reason
        without them.
        """
        first_stage = Retriever(row="", kind="bi-encoder")
        if isinstance(retriever, Retriever):
            first_stage = retriever
        conditions = first_stage.conditions(self.task.forms)
        readings = {name: read for name, (_, read) in conditions.items()}
        left_out = set(first_stage.needs_gpu) & set(readings.values())
        reason = ""
        if left_out and not (reranker or self.context.reads_all):
            # The row of a retriever has the runs of the readings that need no GPU.
            reason = NO_GPU
        if isinstance(outcome, Missing):
            reason = outcome.reason
        if reranker:
            readings = dict.fromkeys(self.task.forms, first_stage.reranked_reading)
        second = reranker.row if reranker else "None"
        last = reranker or retriever
        parts = self.parts(retriever, reranker)
        kinds = {part.kind for part in parts}
        is_tuned = any(isinstance(part, Finetuned) for part in parts)
        return Row(
            f"{retriever.row} / {second}",
            additional=retriever.additional or last.additional,
            asked=last.kind == "language-model",
            reason=reason,
            parameters=self.context.parameters(*self.models_of(parts)),
            trained=is_tuned or bool(kinds & {"linear", "classifier"}),
            averages=self.task.averages if is_tuned else 1,
            baseline=first_stage.baseline and reranker is None,
            lenient=first_stage.lenient,
            runs={} if isinstance(outcome, Missing) else outcome,
            about={
                "retriever": retriever.row,
                "reranker": second,
                "reranked": reranker is not None,
                "rerankable": first_stage.reranked,
                "tuned": is_tuned,
                "fused": bool(first_stage.of),
                "pairwise": pairwise,
                "documents": first_stage.reranked_reading,
                "read": readings,
                "model": last.model,
                "control": first_stage.kind == "prior",
            },
        )

    def add_row(
        self,
        retriever: Retriever | Finetuned,
        reranker: Reranker | Finetuned | None,
        outcome: RunsOrMissing,
        pairwise: bool = False,
    ) -> None:
        """Add a row (`system_row`)."""
        self.shown_rows.append(self.system_row(retriever, reranker, outcome, pairwise))

    def parts(
        self, retriever: Retriever | Finetuned, reranker: Reranker | Finetuned | None
    ) -> list[Retriever | Reranker | Finetuned]:
        """The systems that a row consists of: those of a fusion, or its two stages."""
        if isinstance(retriever, Retriever) and retriever.of:
            return [self.first_stage(key) for key in retriever.of]
        return [retriever, reranker] if reranker else [retriever]

    def models_of(self, parts: Sequence[Retriever | Reranker | Finetuned]) -> list[str]:
        """The registered models of systems.

        A classifier has a key in the panel of another task instead.
        """
        models = []
        for part in parts:
            if part.kind == "classifier" and part.of in self.others:
                models.append(self.others[part.of].task.models[part.model].model)
            elif part.model:
                models.append(part.model)
        return models

    def ranked_queries(self, form: str) -> list[str] | None:
        """The queries that are ranked in this form of their wording; None for all."""
        return None if form == self.MAIN else sorted(self.task.form_queries)

    def retriever_runs(self, key: str, retriever: Retriever) -> RunsOrMissing:
        """Register the runs of a retriever that is not fine-tuned, by condition."""
        settings: JsonObject = {"kind": retriever.kind, "pool": self.task.pool}
        settings["top"] = self.task.top
        if retriever.kind == "bm25":
            settings.update(BM25, index=retriever.index or "corpus")
        elif retriever.kind == "linear":
            settings.update(BM25, topics=retriever.topics, penalty=retriever.penalty)
        elif retriever.kind == "prior":
            settings["by"] = retriever.by
        elif retriever.chunks:
            settings["chunks"] = retriever.chunks.model_dump()
        if retriever.model:
            weights = self.context.weights(retriever.model)
            if isinstance(weights, Missing):
                return weights
            settings.update(model_settings(retriever.model, weights))
            settings["max_length"] = self.max_length(retriever.model)
            if retriever.kind == "embedding-api":
                settings["api"] = self.context.config.llm
        runs: dict[str, tuple[Run, ...]] = {}
        for condition, (form, read) in retriever.conditions(self.task.forms).items():
            if read in retriever.needs_gpu and not self.context.reads_all:
                continue
            form_settings = {
                "form": form,
                "documents": read,
                "queries": self.ranked_queries(form),
            }
            run = self.run("retrieve", key, condition)
            runs[condition] = (self.add(run, {**settings, **form_settings}),)
        return runs

    def hits_to_rerank(
        self, retriever: Retriever, found: RunsOrMissing
    ) -> RunsOrMissing:
        """{form: the runs whose hits rerankers get}."""
        if isinstance(found, Missing):
            return found
        hits = {}
        for condition, (form, read) in retriever.conditions(self.task.forms).items():
            if read != retriever.reranked_reading:
                continue
            if condition not in found:
                return Missing(NO_GPU)
            hits[form] = found[condition]
        return hits

    def first_stage(self, key: str) -> Retriever | Finetuned:
        """The system of a fusion with this key."""
        return self.task.retrievers.get(key) or self.task.finetuned[key]

    def fusion_runs(
        self, key: str, fusion: Retriever, first: Mapping[str, RunsOrMissing]
    ) -> RunsOrMissing:
        """Register the runs of a fusion for each form of the queries that all its
        systems have, one per seed of a fine-tuned system.
        """
        parts = []
        for name in fusion.of:
            runs = first[name]
            if isinstance(runs, Missing):
                return runs
            parts.append(runs)
        fused = {}
        for form in self.task.forms:
            form_runs = [part[form] for part in parts if form in part]
            if len(form_runs) == len(parts):
                fused[form] = self.fusion_runs_of_form(key, form, form_runs, fusion)
        return fused

    def fusion_runs_of_form(
        self, key: str, form: str, parts: Sequence[tuple[Run, ...]], fusion: Retriever
    ) -> tuple[Run, ...]:
        """Register the runs of a fusion for a form of the queries, one per seed.

        ``parts`` are the runs of its systems.  A system with fewer seeds gives its runs
        again and again.
        """
        fused = []
        longest = max(parts, key=len)
        for place, run in enumerate(longest):
            needs = tuple(runs[place % len(runs)] for runs in parts)
            settings: JsonObject = {
                "kind": "fusion",
                "form": form,
                "queries": self.ranked_queries(form),
                "of": [needed.folder for needed in needs],
                "shares": list(fusion.shares or (1.0,) * len(parts)),
                "top": self.task.top,
            }
            stage = "fuse"
            sources: tuple[Run, ...] = ()
            if fusion.feedback:
                encoder = self.specs[needs[-1]]
                stage = "feedback"
                sources = encoder.sources
                settings = {**encoder.settings, **settings, "kind": stage}
                settings["feedback"] = fusion.feedback
            fused_run = self.run(stage, key, form, run.seed)
            fused.append(self.add(fused_run, settings, needs=needs, sources=sources))
        return tuple(fused)

    def max_length(self, model: str) -> int | None:
        registered = self.context.models.get(model)
        return registered.max_length if registered else None

    def add_zero_shot_rows(
        self, key: str, retriever: Retriever, hits_by_form: RunsOrMissing
    ) -> None:
        """Add the rows of rerankers that are not trained on this task, for a
        retriever's hits: {form of the queries: the runs with the hits}.
        """
        rerankers = dict(self.task.rerankers)
        # Not additional here, so that a reason is shown if their weights are missing.
        encoders = self.user_panels(
            Reranker, ["cross-encoder"], kind="cross-encoder", additional=False
        )
        rerankers.update(encoders)
        rerankers.update(self.user_language_models(Reranker))
        for name, reranker in rerankers.items():
            if reranker.kind == "classifier":
                self.add_classifier_rows(key, name, retriever, reranker, hits_by_form)
            elif reranker.kind == "language-model":
                self.add_asked_rows(key, name, retriever, reranker, hits_by_form)
            else:
                self.add_reranker_row(key, name, retriever, reranker, hits_by_form)

    def add_reranker_row(
        self,
        key: str,
        name: str,
        retriever: Retriever,
        reranker: Reranker,
        hits_by_form: RunsOrMissing,
    ) -> None:
        """Add the row of a reranker that compares texts: an encoder or BM25."""
        settings: JsonObject = {
            "kind": reranker.kind,
            "documents": retriever.reranked_reading,
            "pool": "judged",
            "top": self.task.top,
        }
        if reranker.chunks:
            settings["chunks"] = reranker.chunks.model_dump()
        outcome = hits_by_form
        if reranker.model:
            weights = self.context.weights(reranker.model)
            if isinstance(weights, Missing):
                outcome = weights
            else:
                longest = self.max_length(reranker.model) or USER_MAX_LENGTH
                settings.update(model_settings(reranker.model, weights))
                settings["max_length"] = longest
        if isinstance(outcome, Missing):
            if retriever.additional or reranker.additional:
                return  # an additional row without runs is not shown
        else:
            reranked: dict[str, tuple[Run, ...]] = {}
            for form, hits in outcome.items():
                form_settings = {"form": form, "queries": self.ranked_queries(form)}
                run = self.run("rerank", f"{key}+{name}", form)
                added = self.add(run, {**settings, **form_settings}, needs=hits)
                reranked[form] = (added,)
            outcome = reranked
        if name not in self.task.rerankers:
            reranker = reranker.model_copy(update={"additional": True})
        self.add_row(retriever, reranker, outcome)

    def add_asked_rows(
        self,
        key: str,
        name: str,
        retriever: Retriever,
        reranker: Reranker,
        hits_by_form: RunsOrMissing,
    ) -> None:
        """Add the rows of a language model that reranks a retriever's hits; pairwise
        only for BM25's hits.

        A published row is not run, because its prompt is unknown; an additional row has
        our prompt.  A model that is not in the paper reranks only BM25's hits.
        """
        is_bm25 = retriever.kind == "bm25"
        if retriever.additional or (reranker.additional and not is_bm25):
            return
        ways = {"pointwise": self.task.forms}
        if is_bm25:
            ways["pairwise"] = (self.MAIN,)
        if not reranker.additional:
            for way in ways:
                missing = Missing(NO_PROMPT)
                self.add_row(retriever, reranker, missing, way == "pairwise")
        model = self.language_model(reranker.model)
        if isinstance(model, Missing) or isinstance(hits_by_form, Missing):
            return  # an additional row without runs is not shown
        if not reranker.additional:
            reranker = _additional(reranker, NOT_THEIRS)
        for way, forms in ways.items():
            outcome: dict[str, tuple[Run, ...]] = {}
            for form in forms:
                form_settings = {"form": form, "queries": self.ranked_queries(form)}
                settings = {**model, **self.asking_settings(way), **form_settings}
                run = self.run(ASK, f"{key}+{name}", f"{form}-{way}")
                outcome[form] = (self.add(run, settings, needs=hits_by_form[form]),)
            self.add_row(retriever, reranker, outcome, way == "pairwise")

    def asking_settings(self, way: str) -> JsonObject:
        """The settings of a language model for this way of asking."""
        asking = self.task.asking
        assert asking is not None  # a task with language models has it
        return {
            "kind": "language-model",
            "way": way,
            "prompt": self.context.prompt(getattr(asking, way)),
            "passes": asking.passes if way == "pairwise" else 1,
            "hits": asking.hits.get(self.context.grid, self.task.top),
            "documents": "whole",
        }

    def add_classifier_rows(
        self,
        key: str,
        name: str,
        retriever: Retriever,
        reranker: Reranker,
        hits_by_form: RunsOrMissing,
    ) -> None:
        """Add the row of a classifier that reranks a retriever's hits, with one run per
        seed of its training.
        """
        trained = self.classifier_trainings(reranker)
        if isinstance(trained, Missing) or isinstance(hits_by_form, Missing):
            missing = trained if isinstance(trained, Missing) else hits_by_form
            if not (retriever.additional or reranker.additional):
                self.add_row(retriever, reranker, missing)
            return
        outcome = {}
        for form, hits in hits_by_form.items():
            runs = []
            for training in trained:
                settings = self.classifier_settings(reranker, training)
                settings.update(documents=retriever.reranked_reading, form=form)
                run = self.run(
                    "rerank-classified", f"{key}+{name}", form, training.seed
                )
                added = self.add(run, settings, needs=hits, weights_of=training)
                runs.append(added)
            outcome[form] = tuple(runs)
        if self.context.grid != PAPER_GRID and not reranker.additional:
            ours = f"{self.context.grid} budget"
            difference = [Difference(f"grid={PAPER_GRID}", ours)]
            if not retriever.additional:
                reason = reason_not_run(difference)
                self.add_row(retriever, reranker, Missing(reason))
            reranker = _additional(reranker, difference)
        self.add_row(retriever, reranker, outcome)

    def classifier_trainings(self, reranker: Reranker) -> tuple[Run, ...] | Missing:
        """The trainings of a classifier, one per seed."""
        other = self.others.get(reranker.of)
        if not isinstance(other, ClassificationPlanner):
            return Missing(f"{reranker.of} is not a data set of this configuration")
        return other.view_trainings(reranker.model, reranker.view)

    def classifier_settings(self, reranker: Reranker, training: Run) -> JsonObject:
        """The settings of reranking with a classifier: its weights, tokenizer and the
        answer that counts.
        """
        learnt = self.others[reranker.of].specs[training].settings
        return {
            "kind": reranker.kind,
            "weights_of": training.folder,
            "tokenizer": learnt["tokenizer"],
            "max_length": reranker.max_length or learnt["max_length"],
            "head": reranker.head,
            "by": reranker.by,
            "answers": dict(reranker.answers),
            "score": reranker.score,
        }

    def add_tuned_rows(
        self, key: str, retriever: Retriever, hits_by_form: RunsOrMissing
    ) -> None:
        """Add the rows of fine-tuned cross-encoders that rerank a retriever's hits.

        The best trial is the one that reranks the hits of this retriever best.
        """
        for name, tuned in self.finetuned_of_kind("cross-encoder").items():
            weights = self.context.weights(tuned.model)
            if isinstance(weights, Missing) or isinstance(hits_by_form, Missing):
                missing = weights if isinstance(weights, Missing) else hits_by_form
                self.add_row(retriever, tuned, missing)
                continue
            runs = self.tuned_reranking_runs(
                key, name, tuned, weights, hits_by_form[self.MAIN]
            )
            differences = []
            if not tuned.additional:
                differences = self.differences(self.grid(tuned), len(runs))
            if differences:
                reason = reason_not_run(differences)
                self.add_row(retriever, tuned, Missing(reason))
                tuned = _additional(tuned, differences)
            self.add_row(retriever, tuned, {self.MAIN: runs})

    def grid(self, tuned: Finetuned) -> RetrievalGrid:
        return tuned.grids.get(self.context.grid) or self.task.grids[self.context.grid]

    def tuned_reranking_runs(
        self,
        key: str,
        name: str,
        tuned: Finetuned,
        weights: Weights,
        hits: tuple[Run, ...],
    ) -> tuple[Run, ...]:
        """Register the runs in which a fine-tuned cross-encoder reranks ``hits``, one
        per seed.
        """
        runs = []
        model = f"{key}+{name}"
        for training in self.tuned_trainings(name, tuned, weights, model, hits):
            run = self.run("rerank-tuned", model, self.context.grid, training.seed)
            settings = self.inference_settings(training)
            runs.append(self.add(run, settings, needs=hits, weights_of=training))
        return tuple(runs)

    def tuned_retriever_runs(self, name: str, tuned: Finetuned) -> RunsOrMissing:
        """Register the runs of a fine-tuned bi-encoder, one per seed."""
        weights = self.context.weights(tuned.model)
        if isinstance(weights, Missing):
            return weights
        runs = []
        for training in self.tuned_trainings(name, tuned, weights, name):
            settings = {"pool": self.task.pool, "top": self.task.top}
            settings.update(self.inference_settings(training))
            run = self.add_inference(training, settings, "retrieve-tuned")
            runs.append(run)
        return {self.MAIN: tuple(runs)}

    def inference_settings(self, training: Run) -> JsonObject:
        """The settings of predictions with a fine-tuned model."""
        learnt = self.specs[training].settings
        return {
            "kind": learnt["kind"],
            "weights_of": training.folder,
            "max_length": learnt["max_length"],
            "form": self.MAIN,
            "documents": "whole",
            "queries": None,
        }

    def tuned_trainings(
        self,
        name: str,
        tuned: Finetuned,
        weights: Weights,
        chosen: str,
        hits: tuple[Run, ...] = (),
    ) -> list[Run]:
        """Register the trainings of a fine-tuned model, one per seed.

        In a grid with several trials, the best trial is selected by reranking ``hits``,
        or without hits by ranking all candidates.  The trainings are then those of the
        model ``chosen``, because each retriever may select another trial.
        """
        grid = self.grid(tuned)
        budget = self.context.grid
        settings = {**model_settings(tuned.model, weights), **grid.training()}
        settings.update(grid=budget, kind=tuned.kind)
        if tuned.kind == "bi-encoder":
            settings["temperature"] = tuned.temperature
            settings["documents"] = tuned.documents
        trials = rate_trials(grid.learning_rates, grid.updates)
        if len(trials) * len(grid.updates) == 1:
            settings.update(trials[0].settings)
            return self.add_trainings(name, budget, settings, grid)
        choosing = {"grid": budget, "trials": [trial.settings for trial in trials]}
        search = Search(
            settings,
            trials,
            self.seeds(grid),
            choosing,
            model=name,
            reads=self.search_candidates(),
            ranks=hits,
        )
        return self.add_trainings(chosen, budget, settings, grid, search=search)

    def search_candidates(self) -> tuple[Run, ...]:
        """The runs whose hits a search reranks: those of the published retrievers that
        are reranked.
        """
        runs = []
        for key, retriever in self.task.retrievers.items():
            run = self.run("retrieve", key, self.MAIN)
            is_published = retriever.reranked and not retriever.additional
            if is_published and run in self.specs:
                runs.append(run)
        return tuple(runs)

    def differences(self, grid: RetrievalGrid, seeds: int) -> list[Difference]:
        """The differences of fine-tuning under ``grid`` from the paper's settings."""
        pairs = f"{grid.batch_size} pairs of {grid.max_length} tokens"
        updates = f"{grid.updates[-1]} updates of {pairs}"
        budget = self.budget_differences(grid, [updates])
        return budget + fewer_seeds(seeds, self.task.averages)


def _additional(system: RowType, differences: Sequence[Difference]) -> RowType:
    """The additional system with these differences from the published one."""
    row = additional_name(system.row, differences)
    return system.model_copy(update={"row": row, "additional": True})


TASK = RetrievalTask
