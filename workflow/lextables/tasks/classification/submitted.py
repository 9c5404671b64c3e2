"""Probabilities that a user has already: JSON lines, or csv with a row an answer or a row an example."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lextables.metrics.classification import logits
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.schema import PREDICTIONS
from lextables.tasks.submitted import PROBABILITY, File, Taken, named, probability_of

__all__ = ["PREDICTIONS", "predictions"]
EXAMPLE, HEAD, ANSWER = "example_id", "head_id", "answer"
PROBABILITIES = "probabilities"
OFF_BY = 0.01  # what rounding may take from a sum of one


class Said(NamedTuple):
    """What a line says of an example: probabilities by answer, or in the order of the head's answers."""

    place: str
    example: str
    head: str | None
    probabilities: Mapping[str, Any] | list[Any]


def predictions(file: File, form: str, data: Sequence[str | Path], task: Mapping[str, Any]) -> Taken:
    """Return a user's probabilities as rows of `PREDICTIONS`; ``data`` are examples and heads.

    The log odds of a probability serve as its logit.  Raises `BadInput`, naming the line, for an example, a
    head or an answer that the data set does not have, an answer that is given twice, a probability that is
    none, and, where one answer is right and all are weighed together, those that do not add up to one; and
    for a test example, or an answer of one, without a probability.  Other examples are passed over, and those
    of other heads than the task's ``heads``, where it names some.
    """
    examples, heads = data
    answers = {row["head_id"]: row["answers"] for row in read(heads, ["head_id", "answers"])}
    known = {row["example_id"]: row for row in read(examples, ["example_id", "split", "head_id"])}
    heads_asked = task["heads"] or answers
    asked = {
        name for name, row in known.items() if row["split"] in task["test"] and row["head_id"] in heads_asked
    }
    found: dict[str, dict[str, float]] = defaultdict(dict)
    first: dict[str, str] = {}
    passed_over = set()
    for said in FORMS[form](file):
        if said.example not in known:
            what = f"there is no example {said.example!r} in the data set"
            raise BadInput(what, where=said.place, do="correct its id")
        head = known[said.example]["head_id"]
        if said.head not in (None, head):
            what = f"the example {said.example!r} is of the head {head!r} and not of {said.head!r}"
            raise BadInput(what, where=said.place, do="correct the one or the other")
        if said.example not in asked:
            passed_over.add(said.example)
            continue
        first.setdefault(said.example, said.place)
        for answer, probability in _by_answer(said, answers[head]):
            if answer in found[said.example]:
                what = f"the answer {answer!r} of the example {said.example!r} is given twice"
                raise BadInput(what, where=said.place, do="drop one of the two")
            found[said.example][answer] = probability
    if missing := sorted(asked - found.keys()):
        raise BadInput(
            f"no prediction for {len(missing)} of the {len(asked)} test examples, the first {missing[0]!r}",
            where=file.name,
            do="predict each of them",
        )
    together = task["loss"] == "cross_entropy" and not task["multi_label"]
    rows = []
    for example, by_answer in found.items():
        head = known[example]["head_id"]
        shares = _shares(example, by_answer, answers[head], first[example], together)
        row = {"head_id": head, "example_id": example, "probabilities": shares}
        rows.append(row | {"logits": logits(row).tolist()})
    rows.sort(key=lambda row: (row["head_id"], row["example_id"]))
    return Taken(rows, len(passed_over))


def _by_answer(said: Said, answers: Sequence[str]) -> Iterator[tuple[str, float]]:
    given = said.probabilities
    if isinstance(given, list):
        if len(given) != len(answers):
            what = f"{len(given)} probabilities where the head has {len(answers)} answers"
            raise BadInput(what, where=said.place, do=f"give one each, in the order {_listed(answers)}")
        given = dict(zip(answers, given, strict=True))
    for answer, value in given.items():
        if answer not in answers:
            what = f"the head of {said.example!r} has no answer {answer!r}"
            raise BadInput(what, where=said.place, do=f"choose from {_listed(answers)}")
        yield answer, probability_of(value, said.place)


def _shares(
    example: str, found: Mapping[str, float], answers: Sequence[str], where: str, together: bool
) -> list[float]:
    """The probabilities in the order of the answers, each there, and adding up to one where they have to."""
    if missing := [answer for answer in answers if answer not in found]:
        what = f"the answer {missing[0]!r} of the example {example!r} has no probability"
        raise BadInput(what, where=where, do="give one for each answer")
    shares = [found[answer] for answer in answers]
    if together and abs(sum(shares) - 1) > OFF_BY:
        what = f"the probabilities of the example {example!r} add up to {sum(shares):g}, and not to one"
        raise BadInput(what, where=where, do="give the shares of all answers")
    return shares


def _listed(answers: Sequence[str]) -> str:
    return ", ".join(map(repr, answers))


def _csv(file: File) -> Iterator[Said]:
    """A row an answer, with the columns `ANSWER` and `PROBABILITY`; or a row an example, a column an answer.

    Of those a cell is empty where the answer is of other heads.
    """
    for place, row in file.table(EXAMPLE):
        example, head = row.pop(EXAMPLE), row.pop(HEAD, None)
        if row.keys() >= {ANSWER, PROBABILITY}:
            yield Said(place, example, head, {row[ANSWER]: row[PROBABILITY]})
        else:
            yield Said(place, example, head, {name: cell for name, cell in row.items() if cell.strip()})


def _jsonl(file: File) -> Iterator[Said]:
    for place, record in file.records():
        given = record.get(PROBABILITIES)
        if not isinstance(given, dict | list):
            what = f"{PROBABILITIES} is {'not there' if given is None else 'neither a list nor an object'}"
            raise BadInput(what, where=place, do='write it as {"answer": probability, …}')
        head = named(record, HEAD, place) if HEAD in record else None
        yield Said(place, named(record, EXAMPLE, place), head, given)


FORMS = {"csv": _csv, "jsonl": _jsonl}
