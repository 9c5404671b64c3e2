"""Text outputs of a language model that is asked one question at a time.

The model reads the whole contract, or only the candidates of a linear model.  The
contract stands before the question, and the questions about it follow one another, so
that a server or an engine can keep the contract in its cache.  A contract that exceeds
the model's window is read in parts, and the outputs that quote something are joined.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field, PositiveInt

from lextables.metrics.containment import NO_CLAUSE, denies
from lextables.models.language_model import LanguageModel, Request
from lextables.models.prompts import Template, plain_template
from lextables.models.settings import LanguageModelSettings, StepSettings
from lextables.pipeline.dataset import Row
from lextables.tasks.spans.asking import asked_questions, fits_window, fitting_parts
from lextables.tasks.spans.outputs import BETWEEN

Asked = tuple[str, Request]  # the id of a question, and a request about it


class WritingLimits(StepSettings):
    """Limits of outputs and questions."""

    tokens: PositiveInt = 5000
    """Tokens of an output, at most."""
    questions: PositiveInt | None = None
    """Questions about a contract that are asked; None: all.

    The other questions have an empty output, like a question without an answer.
    """


class WritingSettings(LanguageModelSettings, WritingLimits):
    """Outputs about contracts, or about a linear model's passages."""

    prompt: list[list[str]]
    """Prompt with a contract and a question (`prompts.Template.plain`)."""
    least: float | None = Field(None, gt=0, lt=1)
    """Least probability of a passage that is shown; None: the whole contract is."""


def write(
    model: LanguageModel,
    settings: WritingSettings,
    questions: Sequence[Row],
    texts: Mapping[str, str],
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> tuple[list[Row], Counter[str]]:
    """Return rows of `outputs.OUTPUTS` for the test questions, and counts.

    ``texts`` maps contracts to texts.  ``candidates`` maps questions to passages; a
    question without one is not asked and has no related clause.  A question beyond the
    limit has an empty output, which is neither a clause nor the denial of one.
    """
    rows = [row for row in questions if row["split"] == "test"]
    writer = _Writer(model, plain_template(settings.prompt), settings.tokens)
    batches: list[list[Asked]] = []
    within_limit: set[str] = set()
    for contract, asked in asked_questions(rows, settings.questions).items():
        within_limit.update(row["question_id"] for row in asked)
        if candidates is None:
            batches += writer.about_contract(texts[contract], asked)
        else:
            batches.append(list(writer.about_passages(candidates, asked)))

    requests = [request for batch in batches for _, request in batch]
    characters = 0
    for request in requests:
        characters += sum(len(turn.content) for turn in request.prompt)
    model.expect(len(requests), characters)
    counts = Counter(requests=len(requests))
    outputs: dict[str, list[str]] = defaultdict(list)
    for batch in batches:
        answers = model.write([request for _, request in batch])
        for (question, _), answer in zip(batch, answers, strict=True):
            counts["cut_answers"] += answer.cut
            counts["unanswered"] += not answer.text.strip()
            outputs[question].append(answer.text)

    counts["answered"] = counts["requests"] - counts["unanswered"]
    counts["in_parts"] = sum(len(answers) > 1 for answers in outputs.values())
    counts["not_asked"] = len(rows) - len(outputs)
    names = sorted(row["question_id"] for row in rows)
    written: list[Row] = []
    for name in names:
        output = joined(outputs[name]) if name in within_limit else ""
        written.append({"question_id": name, "output": output})
    return written, counts


def joined(outputs: Sequence[str]) -> str:
    """Return the only output, or those of several parts that quote something.

    If none does, the clause is denied only if each part denies it: with an empty
    output, a part may have a clause, and the whole output is empty.
    """
    if len(outputs) == 1:
        return outputs[0]
    quoting = [output for output in outputs if _quotes(output)]
    if quoting:
        return BETWEEN.join(quoting)
    return NO_CLAUSE if all(output.strip() for output in outputs) else ""


def _quotes(output: str) -> bool:
    """Whether an output has a sentence or line that does not deny a clause."""
    sentences = re.split(r"[.\n]", output)
    return any(re.search(r"\w", each) and not denies(each) for each in sentences)


@dataclass(frozen=True)
class _Writer:
    """Makes the requests to a model; its answers have at most ``tokens`` tokens."""

    model: LanguageModel
    template: Template
    tokens: int

    def about_contract(self, text: str, asked: Sequence[Row]) -> Iterator[list[Asked]]:
        """Yield the requests about each part of a contract; those about one part begin
        with the same text.
        """
        longest = max((row["question"] for row in asked), key=len, default="")
        for part in self._parts(text, longest):
            yield [self._request(row, part) for row in asked]

    def about_passages(
        self, candidates: Mapping[str, Sequence[str]], asked: Sequence[Row]
    ) -> Iterator[Asked]:
        """Yield the requests about the passages of each question."""
        for row in asked:
            passages = "\n\n".join(candidates.get(row["question_id"], ()))
            if passages:
                for part in self._parts(passages, row["question"]):
                    yield self._request(row, part)

    def _parts(self, text: str, question: str) -> list[str]:
        """Return the text, or overlapping parts of it that fit the model's window."""

        def fits(shown: str) -> bool:
            prompt = self.template.filled(context=shown, question=question)
            return fits_window(self.model, prompt, self.tokens)

        if fits(text):
            return [text]
        places = fitting_parts(text, len(text.split()) // 2, fits, self.model.name)
        return [text[start:end] for start, end in places]

    def _request(self, row: Row, context: str) -> Asked:
        prompt = self.template.filled(context=context, question=row["question"])
        return row["question_id"], Request(prompt, self.tokens)
