"""Text outputs of a language model that is asked one question about a contract at a time.

It reads the whole contract, or only the candidates of a linear model.  The contract stands before the
question, and the questions about a contract follow one another, so that a server or an engine can keep the
contract in its cache.  A contract that exceeds the model's window is read in parts, and the outputs that
quote something are joined.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lextables.metrics.containment import NO_CLAUSE, denies
from lextables.models.language_model import LanguageModel, Request
from lextables.models.prompts import plain_template
from lextables.pipeline.dataset import Row
from lextables.tasks.spans.asking import asked_questions, fitting_parts
from lextables.tasks.spans.outputs import BETWEEN

Asked = tuple[str, Request]


def write(
    model: LanguageModel,
    settings: Mapping[str, Any],
    questions: Iterable[Row],
    texts: Mapping[str, str],
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> tuple[list[Row], Counter[str]]:
    """Return rows of `outputs.OUTPUTS` for the test questions, and counts.

    ``texts`` maps contracts to texts.  ``candidates`` maps questions to passages; a question without one is
    not asked and has no related clause.  ``settings``: ``prompt`` and the fields of `plan.Writing`.
    """
    rows = [row for row in questions if row["split"] == "test"]
    by_contract = asked_questions(rows, settings["questions"])
    batches = [
        batch
        for contract, asked in by_contract.items()
        for batch in _batches(model, settings, asked, texts[contract], candidates)
    ]
    requests = [request for batch in batches for _, request in batch]
    model.expect(
        len(requests),
        sum(len(turn.content) for each in requests for turn in each.prompt),
    )
    counts, shown = Counter(requests=len(requests)), defaultdict(list)
    for batch in batches:
        for (question, _), answer in zip(
            batch, model.write([request for _, request in batch]), strict=True
        ):
            counts["cut_answers"] += answer.cut
            counts["unanswered"] += not answer.text.strip()
            shown[question].append(answer.text)
    counts["in_parts"] = sum(len(answers) > 1 for answers in shown.values())
    counts["not_asked"] = len(rows) - len(shown)
    names = sorted(row["question_id"] for row in rows)
    return [
        {"question_id": name, "output": joined(shown[name])} for name in names
    ], counts


def joined(outputs: Sequence[str]) -> str:
    """Return one output: the only one, or those of several that do not deny a clause."""
    if len(outputs) == 1:
        return outputs[0]
    return BETWEEN.join(output for output in outputs if not denies(output)) or NO_CLAUSE


def _batches(
    model: LanguageModel,
    settings: Mapping[str, Any],
    asked: Sequence[Row],
    text: str,
    candidates: Mapping[str, Sequence[str]] | None,
) -> Iterator[list[Asked]]:
    """Yield the requests about a contract; those of a batch begin alike where contracts are read whole."""
    template, tokens = plain_template(settings["prompt"]), settings["tokens"]

    def parts(context: str, question: str) -> list[str]:
        def fits(shown: str) -> bool:
            prompt = template.filled(context=shown, question=question)
            return model.window is None or model.tokens(prompt) + tokens <= model.window

        if fits(context):
            return [context]
        places = fitting_parts(context, len(context.split()) // 2, fits, model.name)
        return [context[start:end] for start, end in places]

    def request(row: Row, context: str) -> Asked:
        prompt = template.filled(context=context, question=row["question"])
        return row["question_id"], Request(prompt, tokens)

    if candidates is None:
        longest = max((row["question"] for row in asked), key=len, default="")
        for part in parts(text, longest):
            yield [request(row, part) for row in asked]
        return
    contexts = {
        row["question_id"]: "\n\n".join(candidates.get(row["question_id"], ()))
        for row in asked
    }
    yield [
        request(row, part)
        for row in asked
        if (context := contexts[row["question_id"]])
        for part in parts(context, row["question"])
    ]
