"""The runs of models that answer questions about documents or mark their paragraphs.

There are no splits: the model for a document is trained on documents of other folds, so
one run both trains and predicts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveInt, model_validator

from lextables.models.resolve import Missing, model_settings
from lextables.pipeline.entries import Entry
from lextables.pipeline.files import JsonObject
from lextables.pipeline.user_rows import Key
from lextables.tasks import planner
from lextables.tasks.answers.settings import (
    ANSWERING,
    MARKING,
    AskingRun,
    Learning,
    Marking,
)
from lextables.tasks.planner import (
    ASK,
    OUR_PROMPT,
    SUBMITTED,
    Planner,
    Row,
    SubmittedFiles,
    Task,
    additional_name,
    panel_references,
    prompt_references,
)
from lextables.tasks.references import Names, Reference

NO_ASKING = "language models need asking, with the name of a prompt"
ALL = "all"  # the only condition
# Experiments.
ANSWER = "answer"
MARK = "mark"
# The field `part` of a row, by which tables select rows that answer or rows that mark.
ANSWERING_PART = "answers"
MARKING_PART = "marks"


class _Panel(planner.Panel):
    """A model that answers or marks; the fields that both kinds have."""

    model: str = ""
    """Registered encoder or language model; empty for the other kinds."""
    unpublished: str = ""
    """What the row needs and the paper did not publish: the reason not to run it."""
    kind: str
    """Kind of model, described in the classes below."""

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.kind in ("vectors", "language-model") and not self.model:
            raise ValueError(f"the row {self.row!r} needs a model")
        return self


class Panel(_Panel):
    """A model that answers.

    `prior` predicts the mean answer of the other documents, `random` the same
    probability for all options; `linear` is trained on the words of the paragraphs most
    similar to a question, `vectors` on the vectors of these paragraphs by the encoder
    ``model``; a `language-model` is asked about the ``text``: the whole document, or
    these paragraphs.

    If a language model's row has the field ``unpublished``, there is an additional row
    with our prompt.  If an ``additional`` language model is asked about paragraphs, the
    name of its row says so.
    """

    kind: Literal["prior", "random", "linear", "vectors", "language-model"]
    text: Literal["whole", "retrieved"] = "retrieved"


class Marker(_Panel):
    """A model that marks paragraphs.

    `never` marks nothing, `random` marks at random; `overlap` and `vectors` use the
    similarity of a paragraph to the question with its options, by words or by the
    encoder ``model``; `linear` is trained on words; a `language-model` is asked.
    `unpublished` is the kind of rows that are not run (``unpublished``).
    """

    kind: Literal[
        "never",
        "random",
        "overlap",
        "linear",
        "vectors",
        "language-model",
        "unpublished",
    ]

    @model_validator(mode="after")
    def _check_unpublished(self) -> Self:
        if (self.kind == "unpublished") != bool(self.unpublished):
            raise ValueError(
                f"the row {self.row!r} needs the kind unpublished and the reason"
            )
        return self


class Asking(planner.Asking):
    """How language models are asked.

    The ``prompt`` asks a question about a text: the whole document, or the paragraphs
    most similar to the question.
    """

    best: PositiveInt = 5
    """Number of these most similar paragraphs."""
    marks: str = ""
    """Name of the prompt that asks whether a paragraph is relevant to a question;
    without one, no language model marks.
    """
    marked: PositiveInt = 5
    """Paragraphs of each document that a marking model is asked about: those most
    similar to the question.
    """

    def settings(self) -> dict[str, int]:
        """The settings of every run that asks."""
        return {"orders": self.orders, "samples": self.samples}


class AnswersTables(Entry):
    """Names of the data set's tables, and of the column with a document's id."""

    documents: str = "documents"
    document: str = "document_id"
    paragraphs: str = "paragraphs"
    questions: str = "questions"
    responses: str = "responses"
    highlights: str = "highlights"


class AnswersTask(Task):
    """The settings of a task of answers that a paper fixed."""

    task: Literal["answers"]
    names: AnswersTables = AnswersTables()
    smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """The share of each answer that is spread over all options, in training and in
    scores.
    """
    pseudo: NonNegativeFloat = 2.0
    """Number of documents, with equal shares of all options, that are added to the
    training data.
    """
    folds: Annotated[int, Field(ge=2)] = 5
    """The model for a document is trained on documents of other folds."""
    tokens: PositiveInt | None = None
    """Length of the longest document: the least window of a model that reads whole
    documents.
    """
    models: Mapping[Key, Panel]
    """The models that answer questions."""
    marks: Mapping[Key, Marker] = {}
    """The models that mark paragraphs."""
    learning: Learning = Learning()
    marking: Marking = Marking()
    asking: Asking | None = None
    """Needed for language models."""

    HAS_TRAINING_SPLIT: ClassVar = False

    @property
    def trained_models(self) -> list[tuple[str, Any]]:
        return [*self.models.items(), *self.marks.items()]

    @property
    def conditions(self) -> list[str]:
        return [ALL]

    def references(self, data_set: str, names: Names) -> Iterator[Reference]:
        key = f"tasks.{data_set}"
        yield from panel_references(f"{key}.models", self.models, names)
        yield from panel_references(f"{key}.marks", self.marks, names)
        if self.asking:
            fields = ("prompt", "marks")
            yield from prompt_references(f"{key}.asking", self.asking, fields, names)

    @property
    def exported_prompt(self) -> str:
        return self.asking.prompt if self.asking else ""

    @model_validator(mode="after")
    def _check_models(self) -> Self:
        """Check that models have the settings that they need."""
        answering_kinds = {panel.kind for panel in self.models.values()}
        marking_kinds = {marker.kind for marker in self.marks.values()}
        has_prompt = self.asking is not None
        has_marking_prompt = self.asking is not None and bool(self.asking.marks)
        if not has_prompt and "language-model" in answering_kinds:
            raise ValueError(NO_ASKING)
        if not has_marking_prompt and "language-model" in marking_kinds:
            raise ValueError(NO_ASKING)
        if not self.pseudo and answering_kinds - {"random"}:
            raise ValueError(
                "trained models need a pseudo above 0, if an option has no other answers"
            )
        return self


class AnswersPlanner(Planner):
    """Plans a task of answers; each run has the condition `MAIN`."""

    MAIN = ALL
    STAGES = (ANSWER, MARK, ASK, SUBMITTED)
    FORMS: ClassVar = {"csv": (".csv",), "jsonl": (".jsonl",)}
    task: AnswersTask

    def rows(self) -> list[Row]:
        """The rows of models that answer, then those of models that mark."""
        panels = dict(self.task.models)
        markers = dict(self.task.marks)
        panels.update(self.user_language_models(Panel))
        if self.task.asking and self.task.asking.marks:
            markers.update(self.user_language_models(Marker))
        rows = []
        for key, panel in panels.items():
            if not self.in_grid(panel):
                continue
            if panel.kind == "language-model":
                rows += self.asked_rows(key, panel)
            else:
                rows.append(self.baseline_row(key, panel))
        for key, marker in markers.items():
            if self.in_grid(marker):
                rows.append(self.marker_row(key, marker))
        return rows

    def submitted_row(self, extra: SubmittedFiles) -> Row:
        """The row of submitted answers; marks cannot be submitted."""
        return replace(super().submitted_row(extra), about={"part": ANSWERING_PART})

    def baseline_row(self, key: str, panel: Panel) -> Row:
        """The row of a model that answers and is no language model."""
        encoder = self.encoder_settings(panel)
        if isinstance(encoder, Missing):
            return self.row(ANSWERING_PART, panel, reason=encoder.reason)
        settings: JsonObject = {"kind": panel.kind, **encoder}
        is_trained = panel.kind != "random"
        if is_trained:
            settings["pseudo"] = self.task.pseudo
            settings["smoothing"] = self.task.smoothing
        if panel.kind in ("linear", "vectors"):
            settings.update(self.task.learning.model_dump())
            settings["folds"] = self.task.folds
        typed = ANSWERING[panel.kind](**settings)
        run = self.add(self.run(ANSWER, key, self.MAIN), typed.plain())
        runs = {self.MAIN: (run,)}
        return self.row(ANSWERING_PART, panel, runs=runs, trained=is_trained)

    def marker_row(self, key: str, marker: Marker) -> Row:
        """The row of a model that marks paragraphs."""
        if marker.unpublished:
            return self.row(MARKING_PART, marker, reason=marker.unpublished)
        if marker.kind == "language-model":
            return self.asked_marker_row(key, marker)
        encoder = self.encoder_settings(marker)
        if isinstance(encoder, Missing):
            return self.row(MARKING_PART, marker, reason=encoder.reason)
        settings: JsonObject = {"kind": marker.kind, **encoder}
        is_trained = marker.kind == "linear"
        if is_trained:
            settings.update(self.task.marking.model_dump(), folds=self.task.folds)
        typed = MARKING[marker.kind](**settings)
        run = self.add(self.run(MARK, key, self.MAIN), typed.plain())
        runs = {self.MAIN: (run,)}
        return self.row(MARKING_PART, marker, runs=runs, trained=is_trained)

    def encoder_settings(self, panel: Panel | Marker) -> JsonObject | Missing:
        """The settings of a panel's encoder, if it has one, or why it is missing."""
        if panel.kind != "vectors":
            return {}
        weights = self.context.weights(panel.model)
        if isinstance(weights, Missing):
            return weights
        max_length = self.context.models[panel.model].max_length
        return {**model_settings(panel.model, weights), "max_length": max_length}

    def asked_rows(self, key: str, panel: Panel) -> list[Row]:
        """The row of a language model that answers.

        If the prompt of a published row is unknown, there is one more with our prompt.
        """
        settings = self.asked_settings(panel)
        if panel.additional and panel.text == "retrieved":
            panel = _named_for(panel, f"{self.asking.best} retrieved paragraphs")
        if isinstance(settings, Missing):
            reason = panel.unpublished or settings.reason
            return [self.row(ANSWERING_PART, panel, reason=reason, asked=True)]
        rows = []
        if panel.unpublished:
            reason = panel.unpublished
            rows.append(self.row(ANSWERING_PART, panel, reason=reason, asked=True))
            panel = _named_for(panel, OUR_PROMPT)
            panel = panel.model_copy(update={"additional": True})
        run = self.add(self.run(ASK, key, self.MAIN), settings)
        runs = {self.MAIN: (run,)}
        rows.append(self.row(ANSWERING_PART, panel, runs=runs, asked=True))
        return rows

    @property
    def asking(self) -> Asking:
        """How language models are asked; a task with language models has it."""
        assert self.task.asking is not None
        return self.task.asking

    def asked_settings(self, panel: Panel) -> JsonObject | Missing:
        """The settings of a language model that answers, or why it is not run."""
        settings = self.language_model(panel.model)
        if isinstance(settings, Missing):
            return settings
        window = settings.get("window")
        longest = self.task.tokens
        is_whole = panel.text == "whole"
        if is_whole and window and longest and window < longest:
            return Missing(
                f"its context of {window:,} tokens is shorter than the longest document"
            )
        settings.update(self.asking.settings(), kind=panel.kind, text=panel.text)
        if not is_whole:
            settings["best"] = self.asking.best
        settings["prompt"] = self.context.prompt(self.asking.prompt)
        return AskingRun(**settings).plain()

    def asked_marker_row(self, key: str, marker: Marker) -> Row:
        """The row of a language model that is asked which paragraphs are relevant.

        Its prompt has the question with the texts of its options.
        """
        settings = self.language_model(marker.model)
        asking = self.asking
        if marker.additional:
            marker = _named_for(marker, "without option descriptions")
        if isinstance(settings, Missing):
            return self.row(MARKING_PART, marker, reason=settings.reason, asked=True)
        settings.update(asking.settings(), kind=marker.kind, best=asking.marked)
        settings["prompt"] = self.context.prompt(asking.marks)
        run = self.add(self.run(MARK, key, self.MAIN), AskingRun(**settings).plain())
        runs = {self.MAIN: (run,)}
        return self.row(MARKING_PART, marker, runs=runs, asked=True)

    def row(self, part: str, panel: Panel | Marker, **fields: Any) -> Row:
        """The row of a panel, with its part of the task."""
        return self.panel_row(panel, about={"part": part}, **fields)


def _named_for(panel: Panel | Marker, difference: str) -> Any:
    """The panel with a row name that states the ``difference`` from the paper."""
    row = additional_name(panel.row, [planner.Difference("", difference)])
    return panel.model_copy(update={"row": row})


TASK = AnswersTask
