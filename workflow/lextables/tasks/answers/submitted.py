"""Answers that a user has already: JSON lines with a distribution each, or csv with a row an option.

An option is named by its text, or by its place among the question's options, from 0.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from lextables.pipeline.errors import BadInput
from lextables.tasks.answers.collection import OFF_BY, Collection, load, prediction_rows
from lextables.tasks.answers.schema import PREDICTIONS
from lextables.tasks.submitted import PROBABILITY, File, Taken, named, probability_of

__all__ = ["PREDICTIONS", "predictions"]
DOCUMENT, QUESTION, OPTION = "document_id", "question_id", "option"
PROBABILITIES = "probabilities"
LONGEST_PLACE = 9  # digits


class Said(NamedTuple):
    """What a line says of a pair: probabilities by option, or in the order of the question's options."""

    place: str
    document: str
    question: str
    probabilities: Mapping[str, Any] | list[Any]


def predictions(file: File, form: str, data: Sequence[str | Path], task: Mapping[str, Any]) -> Taken:
    """Return a user's answers as rows of `PREDICTIONS`; ``data`` are questions, responses and paragraphs.

    Raises `BadInput`, naming the line, for a question or an option that the data set does not have, an option
    that is given twice, a probability that is none, and those of a pair that do not add up to one; and for a
    pair that people answered, of a document whose text is here or that the file has, without a prediction.
    Pairs that nobody answered are passed over.
    """
    known = load(data, task["names"])
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    first: dict[tuple[str, str], str] = {}
    passed_over = set()
    for said in FORMS[form](file):
        if said.question not in known.questions:
            fault = f"there is no question {said.question!r} in the data set"
            raise BadInput(fault, where=said.place, do="correct its id")
        pair = said.document, said.question
        if said.document not in known.shares[said.question]:
            passed_over.add(pair)
            continue
        first.setdefault(pair, said.place)
        options = known.questions[said.question].options
        for option, probability in _by_option(said, options):
            if option in found[pair]:
                fault = f"{options[option]!r} is given twice for {said.question!r} about {said.document!r}"
                raise BadInput(fault, where=said.place, do="drop one of the two")
            found[pair][option] = probability
    _check_whole(known, found.keys(), file.name)
    rows = {
        pair: _distribution(pair, given, known.questions[pair[1]].options, first[pair])
        for pair, given in found.items()
    }
    return Taken(prediction_rows(rows), len(passed_over))


def _by_option(said: Said, options: Sequence[str]) -> Iterator[tuple[int, float]]:
    given = said.probabilities
    if isinstance(given, list):
        if len(given) != len(options):
            fault = f"{len(given)} probabilities where {said.question!r} has {len(options)} options"
            raise BadInput(fault, where=said.place, do=f"give one each, in the order {_listed(options)}")
        given = {str(place): value for place, value in enumerate(given)}
    for option, value in given.items():
        share = probability_of(value, said.place)
        yield _place(option, options, said), share


def _place(option: str, options: Sequence[str], said: Said) -> int:
    """The place of an option among the question's: a text comes before a number."""
    if option in options:
        return options.index(option)
    if option.isdecimal() and len(option) <= LONGEST_PLACE and int(option) < len(options):
        return int(option)
    fault = f"the question {said.question!r} has no option {option!r}"
    raise BadInput(fault, where=said.place, do=f"choose from {_listed(options)}, or name its place from 0")


def _check_whole(known: Collection, found: Set[tuple[str, str]], name: str) -> None:
    """`BadInput` for a pair that was to be there."""
    about = known.paragraphs.keys() | {document for document, _ in found}
    asked = [
        (document, question)
        for question, shares in known.shares.items()
        for document in shares
        if document in about
    ]
    if missing := sorted({*asked} - {*found}):
        document, question = missing[0]
        fault = (
            f"no answer to {len(missing)} of {len(asked)} pairs, the first {question!r} about {document!r}"
        )
        raise BadInput(fault, where=name, do="answer all questions about a document")
    if not found:
        raise BadInput("no document of the data set is answered about", where=name, do="correct the ids")


def _distribution(
    pair: tuple[str, str], given: Mapping[int, float], options: Sequence[str], where: str
) -> list[float]:
    """The probabilities in the options' order; `BadInput` where one is missing or the sum is not one."""
    document, question = pair
    if missing := [option for place, option in enumerate(options) if place not in given]:
        fault = f"the option {missing[0]!r} of {question!r} has no probability for {document!r}"
        raise BadInput(fault, where=where, do="give one for each option")
    total = sum(given.values())
    if abs(total - 1) > OFF_BY:
        fault = f"the probabilities of {question!r} for {document!r} add up to {total:g}, and not to one"
        raise BadInput(fault, where=where, do="give the shares of all options")
    return [given[place] for place in range(len(options))]


def _listed(options: Sequence[str]) -> str:
    return ", ".join(map(repr, options))


def _csv(file: File) -> Iterator[Said]:
    for place, row in file.table(DOCUMENT, QUESTION, OPTION, PROBABILITY):
        yield Said(place, row[DOCUMENT], row[QUESTION], {row[OPTION]: row[PROBABILITY]})


def _jsonl(file: File) -> Iterator[Said]:
    for place, record in file.records():
        given = record.get(PROBABILITIES)
        if not isinstance(given, dict | list):
            fault = f"{PROBABILITIES} is {'not there' if given is None else 'neither a list nor an object'}"
            raise BadInput(fault, where=place, do='write it as {"option": probability, …}')
        yield Said(place, named(record, DOCUMENT, place), named(record, QUESTION, place), given)


FORMS = {"csv": _csv, "jsonl": _jsonl}
