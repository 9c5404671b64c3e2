"""The runs of a retrieval task: retrievers, alone or with a reranker; both may be
fine-tuned.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator

from lextables.metrics.ranking import by_name
from lextables.models.resolve import Missing, Weights, model_settings
from lextables.models.settings import limited_updates
from lextables.pipeline.entries import Entry, Line
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
    RehearsalLimits,
    Row,
    Search,
    SubmittedFiles,
    Task,
    additional_name,
    fewer_seeds,
    grid_named,
    limited_grids,
    prompt_references,
    rate_trials,
    reason_not_run,
)
from lextables.tasks.references import Names, Reference
from lextables.tasks.retrieval.ranking import Chunks

BM25 = {"k1": 0.9, "b": 0.4}  # Anserini's defaults
DocumentForm = Literal["whole", "paragraphs", "filtered"]
System = TypeVar("System", "Reranker", "Finetuned")
# {condition: its runs, one per seed}, or why there are none.
RunsOrMissing = dict[str, tuple[Run, ...]] | Missing
# Kinds of retrievers that read documents whole.
READ_WHOLE = ("bm25", "fusion", "linear", "prior")
# Reasons why a row is not run, and errors of a paper's file.
NO_ENCODER = "feedback needs a fusion whose last system is a bi-encoder"
NO_PROMPT = (
    "the paper does not state its prompt; a row with another prompt is additional"
)
# How a row of a language model that is asked with our prompt differs from the paper's.
NOT_THEIRS = [Difference("the paper's prompt", OUR_PROMPT)]
NO_GPU = (
    "needs a GPU: every paragraph, or every document as cut for a query, is encoded"
)


class Retriever(Entry):
    """A first-stage system; each kind has a module in `retrieval.rankers`.

    `okapi` is gensim's BM25.  A `prior` reads no query.  A `fusion` ranks by the mean
    of the standardised scores of other systems.  A `linear` one is trained on the
    judgements of the training and validation queries.
    """

    row: Line
    """Its name in the tables."""
    kind: Literal[
        "bm25", "okapi", "prior", "bi-encoder", "embedding-api", "fusion", "linear"
    ]
    by: Literal["gain", "length"] | None = None
    """For a prior: it ranks by the gains of documents for other queries, or by their
    length.
    """
    index: Literal["query", "corpus"] | None = None
    """For `bm25`: one index for each query, of its pool, or one of all documents."""
    model: str | None = None
    """Registered model; for a linear retriever with vectors, their encoder."""
    of: tuple[str, ...] = ()
    """The systems of a fusion: keys of other retrievers or fine-tuned bi-encoders."""
    shares: tuple[PositiveFloat, ...] = ()
    """The weights of these systems; none: equal weights."""
    feedback: PositiveInt | None = None
    """For a fusion: it fuses twice.  In between, the query is moved towards this number
    of first hits, in the vectors of the last system (`rankers.feedback`).
    """
    documents: tuple[DocumentForm, ...] = ("whole",)
    """Ways to read documents.

    `whole`: cut at the length of the model.  `paragraphs`: the best paragraph counts;
    only models with vectors.  `filtered`: cut to the paragraphs that BM25 finds for the
    query; only models with vectors and `okapi`.  One job ranks with all of them.  Most
    tables show the first, and rerankers get the hits of the last.
    """
    needs_gpu: tuple[DocumentForm, ...] = ()
    """The ways that are left out without a GPU, because encoding their texts takes
    hours or days on a CPU.
    """
    chunks: Chunks | None = None
    """For `okapi`: its collections are the chunks of LawngNLI's released code; None:
    the pools of the queries.
    """
    topics: PositiveInt | None = None
    """Number of latent topics of a linear retriever."""
    penalty: PositiveFloat | None = None
    """scikit-learn's C of a linear retriever."""
    additional: bool = False
    """Whether the row is not in the paper."""
    reranked: bool = True
    """Whether rerankers get its hits."""
    baseline: bool = False
    """Published values that the row reaches are marked."""
    lenient: bool = False
    """They are not marked (`Panel`)."""
    also_trained_on: tuple[str, ...] = ()
    """Data sets or splits that it is trained on besides the training split."""

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
    """A second-stage system, which ranks the first hits of each retriever.

    It reads documents as the retriever does.  A bi-encoder and `okapi` rank the hits as
    they would rank a pool.  A language model is asked (`RerankingPrompts`); if its row
    is published, it is asked with our prompt in an additional row.  A classifier, which
    is trained by another task, reads a pair of a document and a query; relevance is the
    probability of one of its answers.
    """

    row: Line
    """Its name in the tables."""
    kind: Literal[
        "cross-encoder", "language-model", "bi-encoder", "okapi", "classifier"
    ]
    model: str = ""
    """Registered model; of a classifier, its key in the panel of the task ``of``."""
    of: str = ""
    """The data set of the classification task that trains the classifier."""
    view: str = ""
    """The view of that task under which it is trained."""
    head: str = ""
    """The head of the classifier whose answer makes a document relevant."""
    by: str = ""
    """The column of the queries that determines this answer."""
    answers: Mapping[str, str] = {}
    """{value of this column: answer}; a value without an entry is itself the answer."""
    score: Literal["probability", "logit"] = "probability"
    """Which output for the answer is taken as the relevance."""
    max_length: PositiveInt | None = None
    """Tokens of a pair that the classifier reads, at most; None: as in training."""
    chunks: Chunks | None = None
    """For `okapi`: as in `Retriever`."""
    additional: bool = False
    """Whether the row is not in the paper."""

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
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

    def references(self, key: str, names: Names) -> Iterator[Reference]:
        """Yield the references of its keys; ``key`` is its own."""
        if self.kind != "classifier":
            yield Reference(f"{key}.model", "model", [self.model], names.models)
            return
        classifications = {
            name: task
            for name, task in names.tasks.items()
            if task.task == "classification"
        }
        kind = "classification task"
        yield Reference(f"{key}.of", kind, [self.of], classifications)
        # Not reached if the task is unknown: that is an error already.
        task = classifications[self.of]
        kind = f"model of {self.of}"
        yield Reference(f"{key}.model", kind, [self.model], task.models)
        kind = f"training view of {self.of}"
        yield Reference(f"{key}.view", kind, [self.view], task.readings)
        if heads := task.heads_of(self.model, names.heads.get(self.of, ())):
            kind = f"head of {self.model}"
            yield Reference(f"{key}.head", kind, [self.head], heads)


class RerankingPrompts(Entry):
    """The requests to language models that rerank."""

    pointwise: str
    """Name of the prompt that asks for the rating of a document."""
    pairwise: str
    """Name of the prompt that compares two documents."""
    passes: PositiveInt = 1
    """Number of passes of pairwise comparisons."""
    hits: Mapping[str, PositiveInt] = {}
    """{grid: number of first hits of a query that are ranked}; another grid: all hits
    of the retriever.
    """


class RetrievalGrid(Grid):
    """``updates`` are the numbers of updates to try, all of them in one training."""

    updates: tuple[PositiveInt, ...] = Field(min_length=1)

    def limited(self, limits: RehearsalLimits) -> Self:
        """The grid of a rehearsal."""
        updates = limited_updates(self.updates, limits.updates)
        changed = {"updates": tuple(updates), "max_updates": self.max_updates}
        return super().limited(limits).model_copy(update=changed)


class Finetuned(Entry):
    """A model fine-tuned on the training queries: a cross-encoder reranks, a bi-encoder
    retrieves.
    """

    row: Line
    """Its name in the tables."""
    model: str
    """Registered model whose weights the training starts from."""
    kind: Literal["cross-encoder", "bi-encoder"] = "cross-encoder"
    additional: bool = False
    """Whether the row is not in the paper."""
    also_trained_on: tuple[str, ...] = ()
    """Data sets or splits that it is trained on besides the training split."""
    grids: Mapping[str, RetrievalGrid] = {}
    """{name: grid}; they replace the task's grids of the same names."""
    temperature: PositiveFloat = 0.05
    """For a bi-encoder: it divides the cosines in the loss, but no other similarity."""
    documents: PositiveInt = 8
    """For a bi-encoder: documents for each query of a batch."""


class RetrievalTables(Entry):
    """Names of the data set's tables and columns that the task reads."""

    documents: str = "documents"
    """The table of documents."""
    document: str = "document_id"
    """The column with their ids, also in the judgements."""
    text: str = "text"
    """The column with their texts."""
    gain: str = "gain"
    """The column of the judgements with the gains."""
    order: str | None = None
    """The column of the judgements by which the pool of a query is sorted, descending;
    None: the order of the table.
    """


class RetrievalTask(Task):
    """The settings of a retrieval task that a paper fixed."""

    task: Literal["retrieval"]
    names: RetrievalTables = RetrievalTables()
    forms: tuple[str, ...] = Field(("text",), min_length=1)
    """Columns with wordings of the queries; most tables show the first."""
    form_queries: tuple[str, ...] = ()
    """Ids of the queries that are also ranked in the other forms."""
    pool: Literal["judged", "all"] = "judged"
    """The documents that are ranked for a query: all judged for it, or all."""
    top: PositiveInt = 100
    """Number of hits that a retriever returns."""
    training: str = "train"
    """The split of the training queries."""
    validation: str = "valid"
    """The split of the validation queries."""
    test: str = "test"
    """The split of the test queries."""
    metrics: tuple[str, ...]
    """Names of metrics (`metrics.ranking.by_name`)."""
    top_gain: PositiveInt = 1
    """The highest possible gain."""
    groups: tuple[str, ...] = ()
    """Columns of the queries by which scores are grouped."""
    choose_by: str = "NDCG@10"
    """Metric by which the best trial is chosen on the validation queries."""
    retrievers: Mapping[Key, Retriever]
    rerankers: Mapping[Key, Reranker] = {}
    asking: RerankingPrompts | None = None
    """Needed for language models."""
    finetuned: Mapping[Key, Finetuned] = {}
    averages: PositiveInt = 1
    """Number of runs whose mean is a published score of a fine-tuned model."""
    grids: Mapping[str, RetrievalGrid] = {}
    """{name: grid}; `paper` has the paper's settings."""

    @property
    def trained_models(self) -> list[tuple[str, Any]]:
        return [*self.retrievers.items(), *self.finetuned.items()]

    @property
    def conditions(self) -> list[str]:
        conditions = dict.fromkeys(self.forms)
        for retriever in self.retrievers.values():
            conditions.update(dict.fromkeys(retriever.conditions(self.forms)))
        return list(conditions)

    def references(self, data_set: str, names: Names) -> Iterator[Reference]:
        key = f"tasks.{data_set}"
        for name, retriever in self.retrievers.items():
            where = f"{key}.retrievers.{name}.model"
            yield Reference(where, "model", [retriever.model], names.models)
        for name, reranker in self.rerankers.items():
            yield from reranker.references(f"{key}.rerankers.{name}", names)
        for name, tuned in self.finetuned.items():
            where = f"{key}.finetuned.{name}"
            yield Reference(f"{where}.model", "model", [tuned.model], names.models)
            yield Reference(f"{where}.grids", "grid", tuned.grids, names.grids)
        yield Reference(f"{key}.grids", "grid", self.grids, names.grids)
        if self.asking:
            where = f"{key}.asking"
            fields = ("pointwise", "pairwise")
            yield from prompt_references(where, self.asking, fields, names)
            yield Reference(f"{where}.hits", "grid", self.asking.hits, names.grids)

    def limited(self, limits: RehearsalLimits) -> Self:
        """The task of a rehearsal, with small trainings."""
        finetuned = {}
        for key, model in self.finetuned.items():
            grids = limited_grids(model.grids, limits)
            finetuned[key] = model.model_copy(update={"grids": grids})
        grids = limited_grids(self.grids, limits)
        return self.model_copy(update={"finetuned": finetuned, "grids": grids})

    @field_validator("metrics", "choose_by")
    @classmethod
    def _known(cls, names: Any) -> Any:
        """Raise `ValueError` for an unknown metric."""
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

    @model_validator(mode="after")
    def _batches_of_whole_queries(self) -> Self:
        """Raise `ValueError` if a batch of a bi-encoder would cut a query's
        documents.
        """
        for key, model in self.finetuned.items():
            if model.kind != "bi-encoder":
                continue
            for name, grid in {**self.grids, **model.grids}.items():
                if grid.batch_size % model.documents:
                    raise ValueError(
                        f"finetuned.{key}: batch_size of the grid {name} is "
                        f"{grid.batch_size}, not a multiple of documents, {model.documents}"
                    )
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
    `add_…_rows` append.  Of the methods of `Planner`, `run` names a run and `add`
    registers it.  A retriever has a run for each of its `Retriever.conditions`, a
    reranker one for each form of the queries.
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
        # Searches read the hits of several retrievers, so all of these come first.
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
        documents: tuple[DocumentForm, ...] = ("whole",)
        for retriever in retrievers.values():
            if retriever.kind == "bi-encoder":
                documents = retriever.documents
                break
        fields = {"kind": "bi-encoder", "documents": documents}
        retrievers.update(self.user_panels(Retriever, ["bi-encoder"], **fields))
        return retrievers

    def submitted_row(self, extra: SubmittedFiles) -> Row:
        """The row of submitted predictions, for the first form of the queries only."""
        submitted = super().submitted_row(extra)
        # The kind only stands for a system that has no model here.
        retriever = Retriever(row=submitted.row, kind="bm25", additional=True)
        row = self.system_row(retriever, None, submitted.runs)
        reason = f"the predictions are for the {self.MAIN} form of the queries"
        about = {**row.about, "read": {self.MAIN: "whole"}}
        return replace(row, submitted=True, reason=reason, parameters=None, about=about)

    def finetuned_of_kind(self, kind: str) -> dict[str, Finetuned]:
        """The fine-tuned models of the task of this kind, by key."""
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
        # A fine-tuned retriever reads documents whole, as a bi-encoder by default.
        first_stage = Retriever(row="bi-encoder", kind="bi-encoder")
        if isinstance(retriever, Retriever):
            first_stage = retriever
        conditions = first_stage.conditions(self.task.forms)
        readings = {name: read for name, (_, read) in conditions.items()}
        left_out = set(first_stage.needs_gpu) & set(readings.values())
        # Why the row, or a part of its conditions, has no runs.
        reason = ""
        if left_out and not (reranker or self.context.reads_all):
            # The row has the runs that need no GPU, and this reason for the others.
            reason = NO_GPU
        if isinstance(outcome, Missing):
            reason = outcome.reason
        if reranker:
            readings = dict.fromkeys(self.task.forms, first_stage.reranked_reading)
        second = reranker.row if reranker else "None"
        last = reranker or retriever  # the system that makes the final ranking
        parts = self.parts(retriever, reranker)
        kinds = {part.kind for part in parts}
        is_tuned = any(isinstance(part, Finetuned) for part in parts)
        return Row(
            f"{retriever.row} / {second}",
            additional=retriever.additional or last.additional,
            asked=last.kind == "language-model",
            reason=reason,
            parameters=self.context.parameters(*self.models_of(parts)),
            trained=is_tuned or "linear" in kinds or self.trains_classifier(reranker),
            averages=self.task.averages if is_tuned else 1,
            baseline=first_stage.baseline and reranker is None,
            lenient=first_stage.lenient,
            runs={} if isinstance(outcome, Missing) else outcome,
            about={  # tables select rows by these fields
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

    def trains_classifier(self, reranker: Reranker | Finetuned | None) -> bool:
        """Whether a reranker is a classifier that differs by seed."""
        if not isinstance(reranker, Reranker) or reranker.kind != "classifier":
            return False
        other = self.others.get(reranker.of)
        if not isinstance(other, ClassificationPlanner):
            return True
        return other.trains_by_seed(reranker.model, reranker.view)

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
        self, retriever: Retriever, first_stage: RunsOrMissing
    ) -> RunsOrMissing:
        """{form: the runs whose hits rerankers get}, of the retriever's runs."""
        if isinstance(first_stage, Missing):
            return first_stage
        hits = {}
        for condition, (form, read) in retriever.conditions(self.task.forms).items():
            if read != retriever.reranked_reading:
                continue
            if condition not in first_stage:
                return Missing(NO_GPU)
            hits[form] = first_stage[condition]
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

        ``parts`` are the runs of its systems.  The runs of a system with fewer seeds
        are used repeatedly.
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
                # The encoder of the last system, whose weights may be trained here.
                stage = "feedback"
                sources = encoder.sources
                settings = {**encoder.settings, **settings, "kind": stage}
                settings["feedback"] = fusion.feedback
            fused_run = self.run(stage, key, form, run.seed)
            fused.append(self.add(fused_run, settings, needs=needs, sources=sources))
        return tuple(fused)

    def max_length(self, model: str) -> int | None:
        """The registered length of a model; None for a user's model."""
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
        outcome = self.reranker_runs(key, name, retriever, reranker, hits_by_form)
        is_additional = retriever.additional or reranker.additional
        if is_additional and isinstance(outcome, Missing):
            return  # an additional row without runs is not shown
        if name not in self.task.rerankers:  # a user's encoder
            reranker = reranker.model_copy(update={"additional": True})
        self.add_row(retriever, reranker, outcome)

    def reranker_runs(
        self,
        key: str,
        name: str,
        retriever: Retriever,
        reranker: Reranker,
        hits_by_form: RunsOrMissing,
    ) -> RunsOrMissing:
        """Register the runs of a reranker that compares texts, by form of the
        queries.
        """
        settings: JsonObject = {
            "kind": reranker.kind,
            "documents": retriever.reranked_reading,
            "pool": "judged",
            "top": self.task.top,
        }
        if reranker.chunks:
            settings["chunks"] = reranker.chunks.model_dump()
        if reranker.model:
            weights = self.context.weights(reranker.model)
            if isinstance(weights, Missing):
                return weights
            settings.update(model_settings(reranker.model, weights))
            settings["max_length"] = self.max_length(reranker.model)
        if isinstance(hits_by_form, Missing):
            return hits_by_form
        runs: dict[str, tuple[Run, ...]] = {}
        for form, hits in hits_by_form.items():
            form_settings = {"form": form, "queries": self.ranked_queries(form)}
            run = self.run("rerank", f"{key}+{name}", form)
            added = self.add(run, {**settings, **form_settings}, needs=hits)
            runs[form] = (added,)
        return runs

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

        If it was trained with another grid than the paper's, the published row has no
        runs, and an additional one has them.
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

        The best trial is the one that reranks the hits of this retriever best.  If the
        training differs from the paper's, the published row has no runs, and an
        additional one has them.
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
        """The grid of this configuration for a model."""
        grids = {**self.task.grids, **tuned.grids}
        return grid_named(self.context.grid, grids, f"{self.name}.grids")

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
        or without hits by ranking all candidates.  The trainings then have the model
        name ``chosen``, because another trial may be selected for each retriever.
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
            # A single trial needs no search: its values are settings of the training.
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


def _additional(system: System, differences: Sequence[Difference]) -> System:
    """The additional system with these differences from the published one."""
    row = additional_name(system.row, differences)
    return system.model_copy(update={"row": row, "additional": True})


TASK = RetrievalTask
