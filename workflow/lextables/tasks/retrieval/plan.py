"""The runs of a retrieval task: retrievers, alone or with a reranker; both may be fine-tuned."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from pydantic import PositiveFloat, PositiveInt, field_validator, model_validator

from lextables.metrics.ranking import by_name
from lextables.models.resolve import Missing, Weights, model_settings
from lextables.pipeline.errors import BadInput
from lextables.pipeline.registry import Entry
from lextables.pipeline.run import Run
from lextables.pipeline.user_rows import Key
from lextables.tasks.plan import (
    ASK,
    OUR_PROMPT,
    PAPER_GRID,
    SUBMITTED,
    Difference,
    Grid,
    Planner,
    Row,
    SubmittedFiles,
    Trial,
    additional_name,
    fewer_seeds,
    rate_name,
    reason_not_run,
)

USER_MAX_LENGTH = 512
BM25 = {"k1": 0.9, "b": 0.4}  # Anserini's defaults
Reading = Literal["whole", "paragraphs", "filtered"]
Found = dict[str, tuple[Run, ...]] | Missing
NO_PROMPT = (
    "the paper does not state its prompt; a row with another prompt is additional"
)
NOT_THEIRS = [Difference("the paper's prompt", OUR_PROMPT)]
NO_GPU = (
    "needs a GPU: every paragraph, or every document as cut for a query, is encoded"
)


class Retriever(Entry):
    """A first-stage system.

    `bm25` has one ``index`` for each query, over its judged documents, or one over all documents.  `okapi` is
    gensim's BM25, whose collection is the pool of a query (`lextables.models.okapi`).

    A `fusion` ranks by the mean of the standardised scores of the systems ``of``: keys of other retrievers or
    of fine-tuned bi-encoders, with the weights ``shares`` (none: equal).  With ``feedback`` it fuses twice;
    in between, the query is moved towards its first ``feedback`` hits, in the vectors of the last system
    (`lexical.fuse_with_feedback`).

    A `linear` one is trained on the judgements of the training and validation queries, with words in
    ``topics`` topics and, if it has a ``model``, with its vectors; ``penalty`` is scikit-learn's C.
    ``baseline`` and ``lenient`` are those of a `Panel`.

    ``documents`` are ways to read documents: `whole` (cut at the length of the model), `paragraphs` (the best
    paragraph counts; only models with vectors) or `filtered` (cut to the paragraphs that BM25 finds for the
    query; also `okapi`).  One job ranks with all of them.  Most tables show the first, and rerankers get the
    hits of the last.  Those in ``needs_gpu`` are left out without a GPU, because encoding their texts takes
    hours or days on a CPU.
    """

    row: str
    kind: Literal["bm25", "okapi", "bi-encoder", "embedding-api", "fusion", "linear"]
    index: Literal["query", "corpus"] | None = None
    model: str | None = None
    of: tuple[str, ...] = ()
    shares: tuple[PositiveFloat, ...] = ()
    feedback: PositiveInt | None = None
    documents: tuple[Reading, ...] = ("whole",)
    needs_gpu: tuple[Reading, ...] = ()
    topics: PositiveInt | None = None
    penalty: PositiveFloat | None = None
    additional: bool = False
    reranked: bool = True
    baseline: bool = False
    lenient: bool = False
    also_trained_on: tuple[str, ...] = ()

    @property
    def reranked_reading(self) -> str:
        """How documents are read for the hits that rerankers get."""
        return self.documents[-1]

    def conditions(self, forms: Sequence[str]) -> dict[str, tuple[str, str]]:
        """{condition of a run: (the form of the queries, how documents are read)}."""
        return {
            form if read == self.documents[0] else f"{form}-{read}": (form, read)
            for form in forms
            for read in self.documents
        }


class Reranker(Entry):
    """A second-stage system, which reads documents as the retriever whose first hits it ranks.

    A bi-encoder and `okapi` rank the hits as they would rank a pool.  A language model is asked (`Asking`);
    if its row is published, it is asked with our prompt in an additional row.  A classifier reads a pair of a
    document and a query: it is the ``model`` in the panel of the classification task ``of``, trained there,
    under a ``view`` if the task has views, with ``max_length`` tokens (none: as in training).  Relevance is
    the probability of an answer of its ``head``: the one with the name of the query's value in the column
    ``by``, or the one that ``answers`` gives for that value.
    """

    row: str
    kind: Literal[
        "cross-encoder", "language-model", "bi-encoder", "okapi", "classifier"
    ]
    model: str = ""
    of: str = ""
    view: str | None = None
    head: str = ""
    by: str = ""
    answers: Mapping[str, str] = {}
    max_length: PositiveInt | None = None
    additional: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if bool(self.model) == (self.kind == "okapi"):
            raise ValueError(
                f"the reranker {self.row!r} needs a model; only okapi has none"
            )
        if any(
            bool(part) != (self.kind == "classifier")
            for part in (self.of, self.head, self.by)
        ):
            raise ValueError(
                f"the reranker {self.row!r}: only a classifier has of, head and by, and it needs all"
            )
        return self


class Asking(Entry):
    """Names of the prompts for language models that rerank, for each way of asking.

    ``passes`` is the number of passes of pairwise comparisons.  Under a grid in ``hits``, only that number of
    first hits of a query is ranked (none: all hits of the retriever).
    """

    pointwise: str
    pairwise: str
    passes: PositiveInt = 1
    hits: Mapping[str, PositiveInt] = {}


class RetrievalGrid(Grid):
    """``updates`` are the numbers of updates to try, all of them in one training."""

    updates: tuple[int, ...]


class Finetuned(Entry):
    """A model fine-tuned on the training queries: a cross-encoder reranks, a bi-encoder retrieves.

    ``grids`` replace the task's grids of the same names.  For a bi-encoder, ``temperature`` divides the
    cosines in the loss (not other similarities), and ``documents`` is the number of documents for each query
    of a batch.
    """

    row: str
    model: str
    kind: Literal["cross-encoder", "bi-encoder"] = "cross-encoder"
    additional: bool = False
    also_trained_on: tuple[str, ...] = ()
    grids: Mapping[str, RetrievalGrid] = {}
    temperature: PositiveFloat = 0.05
    documents: PositiveInt = 8


class Names(Entry):
    """Names of the data set's tables and columns that the task reads."""

    documents: str = "documents"
    document: str = "document_id"
    text: str = "text"
    gain: str = "gain"


class RetrievalTask(Entry):
    """The settings of a retrieval task that a paper fixed.

    ``forms`` are columns with wordings of the queries; most tables show the first, and the others are ranked
    only for ``form_queries``.  With the ``pool`` `judged`, a query's hits are among the documents judged for
    it, else among all.  ``top`` is the number of hits that a retriever returns.  ``training``, ``validation``
    and ``test`` are splits of the queries.  ``metrics`` are names of `metrics.ranking`; ``top_gain`` is the
    highest gain, and ``groups`` are columns of the queries by which scores are grouped.  The best trial of a
    grid has the best ``choose_by`` on the validation queries.  A published score of a tuned model is the mean
    of ``averages`` runs; the grid `paper` has the paper's settings.  ``asking`` is for language models.
    """

    task: Literal["retrieval"]
    names: Names = Names()
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
    asking: Asking | None = None
    finetuned: Mapping[Key, Finetuned] = {}
    averages: PositiveInt = 1
    grids: Mapping[str, RetrievalGrid] = {}

    @field_validator("metrics", "choose_by")
    @classmethod
    def _known(cls, names: Any) -> Any:
        for name in (names,) if isinstance(names, str) else names:
            try:
                by_name(name)
            except BadInput as error:
                raise ValueError(error.what) from None
        return names

    @model_validator(mode="after")
    def _first_stages(self) -> Self:
        if not self.asking and any(
            one.kind == "language-model" for one in self.rerankers.values()
        ):
            raise ValueError(
                "rerankers that are language models need `asking` with the names of prompts"
            )
        tuned = {
            key for key, tuned in self.finetuned.items() if tuned.kind == "bi-encoder"
        }
        if twice := tuned & self.retrievers.keys():
            raise ValueError(
                f"{min(twice)} is the key of a retriever and of a fine-tuned model; rename one of them"
            )
        single = tuned | {
            key
            for key, retriever in self.retrievers.items()
            if retriever.kind != "fusion"
        }
        for key, retriever in self.retrievers.items():
            if bool(retriever.of) != (retriever.kind == "fusion"):
                raise ValueError(
                    f"retrievers.{key}: only a fusion has `of`, and it needs it"
                )
            learns = retriever.topics and retriever.penalty and not retriever.reranked
            if retriever.kind == "linear" and not learns:
                raise ValueError(
                    f"retrievers.{key}: a linear retriever needs topics, a penalty and reranked: false"
                )
            if retriever.documents != ("whole",) and retriever.kind in (
                "bm25",
                "fusion",
                "linear",
            ):
                raise ValueError(
                    f"retrievers.{key}: {retriever.kind} reads documents whole"
                )
            if "paragraphs" in retriever.documents and retriever.kind == "okapi":
                raise ValueError(
                    f"retrievers.{key}: okapi reads documents whole or filtered"
                )
            if len(retriever.shares) not in (0, len(retriever.of)):
                raise ValueError(
                    f"retrievers.{key}: `shares` needs a value for each system in `of`, or none"
                )
            last = self.retrievers.get(retriever.of[-1]) if retriever.of else None
            encodes = retriever.of and (
                not last or (last.kind, last.documents) == ("bi-encoder", ("whole",))
            )
            if retriever.feedback and not encodes:
                raise ValueError(
                    f"retrievers.{key}: feedback needs a fusion whose last system is a bi-encoder"
                )
            if unknown := set(retriever.of) - single:
                raise ValueError(
                    f"retrievers.{key}: {min(unknown)} is no other retriever or fine-tuned bi-encoder"
                )
        return self


class RetrievalPlanner(Planner):
    """Plans a retrieval task; the name of a row is `<retriever> / <reranker>`."""

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
        self.found: list[Row] = []

    def rows(self) -> list[Row]:
        retrievers = dict(self.task.retrievers)
        of_vectors = (
            one.documents for one in retrievers.values() if one.kind == "bi-encoder"
        )
        documents = next(of_vectors, ("whole",))
        encoders = self.user_panels(
            Retriever, ["bi-encoder"], kind="bi-encoder", documents=documents
        )
        retrievers.update(encoders)
        fusions = {
            key: retrievers.pop(key)
            for key in [*retrievers]
            if retrievers[key].kind == "fusion"
        }
        first = {
            key: self.retrieve(key, retriever) for key, retriever in retrievers.items()
        }
        for key, retriever in retrievers.items():
            self.found.append(self.system(retriever, None, first[key]))
            if (
                retriever.kind == "embedding-api"
                or not retriever.reranked
                or retriever.index == "corpus"
            ):
                continue
            hits = self.hits_to_rerank(retriever, first[key])
            self.zero_shot(key, retriever, hits)
            if not retriever.additional:
                self.tuned(key, retriever, hits)
        for key, tuned in self.finetuned("bi-encoder").items():
            first[key] = self.tuned_retriever(key, tuned)
            self.found.append(self.system(tuned, None, first[key]))
        for key, fusion in fusions.items():
            self.found.append(self.system(fusion, None, self.fuse(key, fusion, first)))
        return self.found

    def submitted_row(self, extra: SubmittedFiles) -> Row:
        """The row of submitted predictions, for the first form of the queries only."""
        submitted = super().submitted_row(extra)
        row = self.system(
            Retriever(row=submitted.row, kind="bm25", additional=True),
            None,
            submitted.runs,
        )
        reason = f"the predictions are for the {self.MAIN} form of the queries"
        about = row.about | {"read": {self.MAIN: "whole"}}
        return replace(row, submitted=True, reason=reason, parameters=None, about=about)

    def finetuned(self, kind: str) -> dict[str, Finetuned]:
        return {
            key: tuned
            for key, tuned in self.task.finetuned.items()
            if tuned.kind == kind
        }

    def system(
        self,
        retriever: Retriever | Finetuned,
        reranker: Reranker | Finetuned | None,
        outcome: Found,
        *,
        additional: bool = False,
        pairwise: bool = False,
    ) -> Row:
        missing = isinstance(outcome, Missing)
        first_stage = (
            retriever
            if isinstance(retriever, Retriever)
            else Retriever(row="", kind="bi-encoder")
        )
        readings = {
            name: read
            for name, (_, read) in first_stage.conditions(self.task.forms).items()
        }
        # The row of a retriever has the runs of the readings that need no GPU.
        left_out = not (reranker or self.context.gpu) and {*first_stage.needs_gpu} & {
            *readings.values()
        }
        second, fused = (
            reranker.row if reranker else "None",
            getattr(retriever, "of", ()),
        )
        parts = [*map(self.first_stage, fused)] or [retriever, reranker]
        models = [self.model_of(system) for system in parts if system and system.model]
        tuned = any(isinstance(system, Finetuned) for system in parts)
        learnt = any(
            getattr(system, "kind", None) in ("linear", "classifier")
            for system in parts
        )
        return Row(
            f"{retriever.row} / {second}",
            additional=additional or retriever.additional,
            asked=getattr(reranker, "kind", None) == "language-model",
            reason=outcome.reason if missing else NO_GPU if left_out else "",
            parameters=self.context.parameters(*models),
            trained=tuned or learnt,
            averages=self.task.averages if tuned else 1,
            baseline=getattr(retriever, "baseline", False) and reranker is None,
            lenient=getattr(retriever, "lenient", False),
            runs={} if missing else outcome,
            about={
                "retriever": retriever.row,
                "reranker": second,
                "reranked": reranker is not None,
                "tuned": tuned,
                "fused": bool(fused),
                "pairwise": pairwise,
                "documents": first_stage.reranked_reading,
                "read": dict.fromkeys(self.task.forms, first_stage.reranked_reading)
                if reranker
                else readings,
                "model": (reranker or retriever).model,
            },
        )

    def model_of(self, system: Retriever | Reranker | Finetuned) -> str:
        """The registered model of a system; a classifier has a key in the panel of another task instead."""
        if getattr(system, "kind", None) == "classifier" and system.of in self.others:
            return self.others[system.of].task.models[system.model].model
        return system.model

    def wanted(self, form: str) -> list[str] | None:
        """The queries that are ranked in this form; None for all."""
        return None if form == self.MAIN else sorted(self.task.form_queries)

    def retrieve(self, key: str, retriever: Retriever) -> Found:
        settings: dict[str, Any] = {
            "kind": retriever.kind,
            "pool": self.task.pool,
            "top": self.task.top,
        }
        if retriever.kind == "bm25":
            settings |= {"index": retriever.index or "corpus"} | BM25
        elif retriever.kind == "linear":
            settings |= {
                "topics": retriever.topics,
                "penalty": retriever.penalty,
            } | BM25
        if retriever.model:
            weights = self.context.weights(retriever.model)
            if isinstance(weights, Missing):
                return weights
            settings |= model_settings(retriever.model, weights)
            settings |= {"max_length": self.max_length(retriever.model)}
            settings |= (
                {"api": self.context.config.llm}
                if retriever.kind == "embedding-api"
                else {}
            )
        found = {}
        for condition, (form, read) in retriever.conditions(self.task.forms).items():
            if read in retriever.needs_gpu and not self.context.gpu:
                continue
            of_form = {
                "form": form,
                "documents": read,
                "queries": self.wanted(form),
            }
            found[condition] = (
                self.add(self.run("retrieve", key, condition), settings | of_form),
            )
        return found

    def hits_to_rerank(self, retriever: Retriever, found: Found) -> Found:
        """{form: the runs whose hits rerankers get}."""
        if isinstance(found, Missing):
            return found
        conditions = retriever.conditions(self.task.forms)
        last = {
            form: condition
            for condition, (form, read) in conditions.items()
            if read == retriever.reranked_reading
        }
        if not found.keys() >= {*last.values()}:
            return Missing(NO_GPU)
        return {form: found[condition] for form, condition in last.items()}

    def first_stage(self, key: str) -> Retriever | Finetuned:
        """The system of a fusion with this key."""
        return self.task.retrievers.get(key) or self.task.finetuned[key]

    def fuse(self, key: str, fusion: Retriever, first: Mapping[str, Found]) -> Found:
        """The runs of a fusion: for each form that all its systems have, one per seed of a trained system."""
        parts = [first[part] for part in fusion.of]
        for part in parts:
            if isinstance(part, Missing):
                return part
        forms = [
            form for form in self.task.forms if all(form in part for part in parts)
        ]
        shares = fusion.shares or (1.0,) * len(parts)
        return {
            form: self.fused(
                key, form, [part[form] for part in parts], shares, fusion.feedback
            )
            for form in forms
        }

    def fused(
        self,
        key: str,
        form: str,
        parts: Sequence[tuple[Run, ...]],
        shares: Sequence[float],
        feedback: int | None,
    ) -> tuple[Run, ...]:
        longest = max(parts, key=len)
        fused = []
        for place, run in enumerate(longest):
            needs = tuple(runs[place % len(runs)] for runs in parts)
            settings = {
                "kind": "fusion",
                "form": form,
                "queries": self.wanted(form),
                "of": [needed.folder for needed in needs],
                "shares": list(shares),
                "top": self.task.top,
            }
            stage, sources = "fuse", ()
            if feedback:
                encoder = self.specs[needs[-1]]
                stage, sources = "feedback", encoder.sources
                of_feedback = {"kind": "feedback", "feedback": feedback}
                settings = {**encoder.settings, **settings, **of_feedback}
            made = self.run(stage, key, form, run.seed)
            fused.append(self.add(made, settings, needs=needs, sources=sources))
        return tuple(fused)

    def max_length(self, model: str) -> int | None:
        return (
            self.context.models[model].max_length
            if model in self.context.models
            else None
        )

    def zero_shot(self, key: str, retriever: Retriever, first: Found) -> None:
        rerankers = dict(self.task.rerankers)
        # Not additional here, so that a reason is shown if their weights are missing.
        encoders = self.user_panels(
            Reranker, ["cross-encoder"], kind="cross-encoder", additional=False
        )
        rerankers.update(encoders)
        rerankers.update(self.user_language_models(Reranker))
        for name, reranker in rerankers.items():
            if reranker.kind == "classifier":
                self.classified(key, name, retriever, reranker, first)
                continue
            if reranker.kind == "language-model":
                self.asked(key, name, retriever, reranker, first)
                continue
            weights = self.context.weights(reranker.model) if reranker.model else None
            if isinstance(weights, Missing) or isinstance(first, Missing):
                if retriever.additional or reranker.additional:
                    continue  # an additional row without a value is not shown
                outcome: Found = weights if isinstance(weights, Missing) else first
            else:
                settings: dict[str, Any] = {
                    "kind": reranker.kind,
                    "documents": retriever.reranked_reading,
                }
                settings |= {"pool": "judged", "top": self.task.top}
                if weights:
                    settings |= model_settings(reranker.model, weights)
                    settings |= {
                        "max_length": self.max_length(reranker.model) or USER_MAX_LENGTH
                    }
                outcome = {
                    form: (
                        self.add(
                            self.run("rerank", f"{key}+{name}", form),
                            settings | {"form": form, "queries": self.wanted(form)},
                            needs=hits,
                        ),
                    )
                    for form, hits in first.items()
                }
            additional = reranker.additional or name not in self.task.rerankers
            self.found.append(
                self.system(retriever, reranker, outcome, additional=additional)
            )

    def asked(
        self,
        key: str,
        name: str,
        retriever: Retriever,
        reranker: Reranker,
        first: Found,
    ) -> None:
        """The rows of a language model that reranks a retriever's hits; pairwise only for BM25's hits.

        A published row is not run, because its prompt is unknown; an additional row has our prompt.  A model
        that is not in the paper reranks only BM25's hits.
        """
        if retriever.additional or (reranker.additional and retriever.kind != "bm25"):
            return
        ways = {"pointwise": self.task.forms} | (
            {"pairwise": [self.MAIN]} if retriever.kind == "bm25" else {}
        )
        for way in ways if not reranker.additional else ():
            self.found.append(
                self.system(
                    retriever, reranker, Missing(NO_PROMPT), pairwise=way == "pairwise"
                )
            )
        model = self.language_model(reranker.model)
        if isinstance(model, Missing) or isinstance(first, Missing):
            return  # an additional row without a value is not shown
        if not reranker.additional:
            reranker = reranker.model_copy(
                update={
                    "row": additional_name(reranker.row, NOT_THEIRS),
                    "additional": True,
                }
            )
        for way, forms in ways.items():
            outcome: Found = {
                form: (
                    self.add(
                        self.run(ASK, f"{key}+{name}", f"{form}-{way}"),
                        model
                        | self.question(way)
                        | {"form": form, "queries": self.wanted(form)},
                        needs=first[form],
                    ),
                )
                for form in forms
            }
            self.found.append(
                self.system(
                    retriever,
                    reranker,
                    outcome,
                    additional=True,
                    pairwise=way == "pairwise",
                )
            )

    def question(self, way: str) -> dict[str, Any]:
        """The settings of a language model for this way of asking."""
        asking = self.task.asking
        return {
            "kind": "language-model",
            "way": way,
            "prompt": self.context.prompt(getattr(asking, way)),
            "passes": asking.passes if way == "pairwise" else 1,
            "hits": asking.hits.get(self.context.grid, self.task.top),
            "documents": "whole",
        }

    def classified(
        self,
        key: str,
        name: str,
        retriever: Retriever,
        reranker: Reranker,
        first: Found,
    ) -> None:
        """The row of a classifier that reranks a retriever's hits, with one run per seed of its training."""
        trained = self.classifiers(reranker)
        if isinstance(trained, Missing) or isinstance(first, Missing):
            if not (retriever.additional or reranker.additional):
                missing = trained if isinstance(trained, Missing) else first
                self.found.append(self.system(retriever, reranker, missing))
            return
        outcome = {
            form: tuple(
                self.add(
                    self.run("rerank-classified", f"{key}+{name}", form, training.seed),
                    self.classifier_settings(reranker, training)
                    | {"documents": retriever.reranked_reading, "form": form},
                    needs=hits,
                    weights_of=training,
                )
                for training in trained
            )
            for form, hits in first.items()
        }
        if self.context.grid != PAPER_GRID and not reranker.additional:
            difference = [
                Difference(f"grid={PAPER_GRID}", f"{self.context.grid} budget")
            ]
            if not retriever.additional:
                missing = Missing(reason_not_run(difference))
                self.found.append(self.system(retriever, reranker, missing))
            row = additional_name(reranker.row, difference)
            reranker = reranker.model_copy(update={"row": row, "additional": True})
        self.found.append(
            self.system(retriever, reranker, outcome, additional=reranker.additional)
        )

    def classifiers(self, reranker: Reranker) -> tuple[Run, ...] | Missing:
        """The trainings of a classifier, one per seed."""
        if reranker.of not in self.others:
            return Missing(f"{reranker.of} is not a data set of this configuration")
        return self.others[reranker.of].trained(reranker.model, reranker.view)

    def classifier_settings(self, reranker: Reranker, training: Run) -> dict[str, Any]:
        """The settings of reranking with a classifier: its weights, tokenizer and the answer that counts."""
        learnt = self.others[reranker.of].specs[training].settings
        return {
            "kind": reranker.kind,
            "weights_of": training.folder,
            "tokenizer": learnt["tokenizer"],
            "max_length": reranker.max_length or learnt["max_length"],
            "head": reranker.head,
            "by": reranker.by,
            "answers": dict(reranker.answers),
        }

    def tuned(self, key: str, retriever: Retriever, first: Found) -> None:
        """The rows of fine-tuned cross-encoders; each retriever's hits select the best trial."""
        for name, tuned in self.finetuned("cross-encoder").items():
            weights = self.context.weights(tuned.model)
            if isinstance(weights, Missing) or isinstance(first, Missing):
                missing = weights if isinstance(weights, Missing) else first
                self.found.append(
                    self.system(retriever, tuned, missing, additional=tuned.additional)
                )
                continue
            grid = self.grid(tuned)
            runs = self.reranked(key, name, tuned, weights, first[self.MAIN])
            differences = [] if tuned.additional else self.differences(grid, len(runs))
            if differences:
                missing = Missing(reason_not_run(differences))
                self.found.append(self.system(retriever, tuned, missing))
                tuned = tuned.model_copy(
                    update={
                        "row": additional_name(tuned.row, differences),
                        "additional": True,
                    }
                )
            self.found.append(
                self.system(
                    retriever, tuned, {self.MAIN: runs}, additional=tuned.additional
                )
            )

    def grid(self, tuned: Finetuned) -> RetrievalGrid:
        return tuned.grids.get(self.context.grid) or self.task.grids[self.context.grid]

    def reranked(
        self,
        key: str,
        name: str,
        tuned: Finetuned,
        weights: Weights,
        hits: tuple[Run, ...],
    ) -> tuple[Run, ...]:
        """The runs in which a fine-tuned cross-encoder reranks ``hits``, one per seed."""
        runs = []
        for training in self.trained(name, tuned, weights, f"{key}+{name}", hits):
            reading = self.run(
                "rerank-tuned", f"{key}+{name}", self.context.grid, training.seed
            )
            runs.append(
                self.add(reading, self.read(training), needs=hits, weights_of=training)
            )
        return tuple(runs)

    def tuned_retriever(self, name: str, tuned: Finetuned) -> Found:
        """The runs of a fine-tuned bi-encoder, one per seed."""
        weights = self.context.weights(tuned.model)
        if isinstance(weights, Missing):
            return weights
        runs = []
        for training in self.trained(name, tuned, weights, name):
            reading = self.run("retrieve-tuned", name, self.context.grid, training.seed)
            settings = {"pool": self.task.pool, "top": self.task.top}
            settings.update(self.read(training))
            runs.append(self.add(reading, settings, weights_of=training))
        return {self.MAIN: tuple(runs)}

    def read(self, training: Run) -> dict[str, Any]:
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

    def trained(
        self,
        name: str,
        tuned: Finetuned,
        weights: Weights,
        chosen: str,
        hits: tuple[Run, ...] = (),
    ) -> list[Run]:
        """The trainings of a fine-tuned model, one per seed.

        In a grid with several trials, the best trial is selected by reranking ``hits``, or without hits by
        ranking all candidates; ``chosen`` is then the name of the model.
        """
        grid = self.grid(tuned)
        settings = model_settings(tuned.model, weights) | grid.training()
        settings |= {"grid": self.context.grid, "kind": tuned.kind}
        if tuned.kind == "bi-encoder":
            settings |= {"temperature": tuned.temperature, "documents": tuned.documents}
        trials = [
            Trial(
                rate_name(rate), {"learning_rate": rate, "updates": list(grid.updates)}
            )
            for rate in grid.learning_rates
        ]
        choice, trained = None, name
        if len(trials) * len(grid.updates) > 1:
            found = self.search(
                name,
                self.context.grid,
                settings,
                trials,
                self.seeds(grid),
                needs=self.candidates(),
            )
            trained = chosen
            choice = self.add(
                self.run("choice", trained, self.context.grid),
                {
                    "grid": self.context.grid,
                    "trials": [trial.settings for trial in trials],
                },
                needs=(*hits, *found),
            )
        return [
            self.add(
                self.run("train", trained, self.context.grid, seed),
                settings | ({} if choice else trials[0].settings),
                choice=choice,
            )
            for seed in self.seeds(grid)
        ]

    def candidates(self) -> tuple[Run, ...]:
        """The runs whose hits a search reranks: those of the published retrievers that are reranked."""
        runs = [
            self.run("retrieve", key, self.MAIN)
            for key, retriever in self.task.retrievers.items()
            if retriever.reranked and not retriever.additional
        ]
        return tuple(run for run in runs if run in self.specs)

    def differences(self, grid: RetrievalGrid, seeds: int) -> list[Difference]:
        """The differences of fine-tuning under ``grid`` from the paper's settings."""
        words = [
            f"{grid.updates[-1]} updates of {grid.batch_size} pairs of {grid.max_length} tokens"
        ]
        return self.budget(grid, words) + fewer_seeds(seeds, self.task.averages)


TASK = RetrievalTask
