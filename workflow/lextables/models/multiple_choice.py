"""Multiple-choice questions for a language model; the result is a distribution over the options.

Options are listed under letters, and the model answers with a letter.  If it reports probabilities, an option
has that of its letter with or without a space before it; probabilities are normalised, and their sum outside
the options is reported.  If it reports none, answers are sampled, and an option's probability is its share of
the answers that name an option.

Models prefer some positions of a list.  The number of wins of the first option is reported, and with two
orders a question is asked again with the options reversed; the two distributions are averaged.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

from lextables.models.language_model import Choice, LanguageModel, Prompt, Request
from lextables.models.prompts import Template, fitted
from lextables.pipeline.errors import BadInput

# Enough for the text of most options.
ANSWER_TOKENS = 16
# The letter may follow words such as "The answer is", or precede a punctuation mark; "A clause" is no letter.
_LEAD = (
    r"(?i:(?:the |my )?(?:correct |best )?(?:answer|option|choice)(?: is| would be)?)"
)
_LETTER = re.compile(
    rf"^\W*(?:{_LEAD}\W*([A-Z])\b(?!')|([A-Za-z])\W*(?:$|\n)|([A-Z])\s?[).:,;\]*\"]+(?=\s|$)|\(([A-Za-z])\))"
)


@dataclass(frozen=True)
class Question:
    """A question: its template, the texts of the fields other than ``options``, and the options in order.

    The fields ``cut`` are shortened if the prompt does not fit into the model's window.
    """

    template: Template
    fields: Mapping[str, str]
    options: tuple[str, ...]
    cut: tuple[str, ...] = ()

    def prompt(self, model: LanguageModel, turned: bool = False) -> tuple[Prompt, bool]:
        """Return the prompt with the options, ``turned`` in reverse order, and whether texts were cut."""
        options = listed(self.options[:: -1 if turned else 1])
        return fitted(
            model,
            self.template,
            ANSWER_TOKENS,
            self.cut,
            **self.fields,
            options=options,
        )


@dataclass(frozen=True)
class Answered:
    """A model's answer to a question: a probability for each option, with the sum one.

    The other fields count over the ``asked`` orders of the options.  ``outside``: mean probability of other
    answers; ``unparseable``: number of the ``drawn`` answers that name no option; ``first``: orders in which
    the first option won; ``ties``: orders with several winners; ``unanswered``: orders without any option
    named (uniform distribution); ``disagree``: the winners of two orders differ; ``cut``: texts were
    shortened.
    """

    probabilities: tuple[float, ...]
    outside: float
    drawn: int
    unparseable: int
    asked: int
    first: int
    ties: int
    unanswered: int
    disagree: bool
    cut: bool = False


@dataclass(frozen=True)
class Picked:
    """A model's distribution over the options in the order of a prompt; ``shares`` sum to one, or are all 0.

    The other fields are those of `Answered`.
    """

    shares: tuple[float, ...]
    outside: float = 0.0
    drawn: int = 0
    unparseable: int = 0

    @property
    def winners(self) -> list[int]:
        """Return the positions of the options with the largest share; empty if all shares are 0."""
        best = max(self.shares)
        return [place for place, share in enumerate(self.shares) if share == best > 0]


def ask(
    model: LanguageModel, questions: Sequence[Question], samples: int, orders: int = 1
) -> list[Answered]:
    """Return a model's answers to ``questions``, with one or two ``orders`` of the options.

    ``samples`` answers are sampled if the model reports no probabilities.  Raises `BadInput` for a question
    with fewer than two options, or more options than letters.
    """
    for question in questions:
        if not 2 <= len(question.options) <= len(ascii_uppercase):
            raise BadInput(
                f"a question has {len(question.options)} options",
                where="a question for a language model",
                do=f"ask those that have 2 to {len(ascii_uppercase)}",
            )
    ways = (False, True)[:orders]
    prompts = [
        question.prompt(model, turned) for question in questions for turned in ways
    ]
    options = [
        question.options[:: -1 if turned else 1]
        for question in questions
        for turned in ways
    ]
    answers = pick(
        model,
        [(prompt, each) for (prompt, _), each in zip(prompts, options, strict=True)],
        samples,
    )
    starts = range(0, len(answers), len(ways))
    return [
        replace(
            _averaged(answers[at : at + len(ways)]),
            cut=any(cut for _, cut in prompts[at : at + len(ways)]),
        )
        for at in starts
    ]


def listed(options: Sequence[str]) -> str:
    """Return the options for a prompt, one per line after its letter."""
    lines = (
        f"{letter}. {' '.join(option.split())}"
        for letter, option in zip(ascii_uppercase, options, strict=False)
    )
    return "\n".join(lines)


def parsed(text: str, options: Sequence[str]) -> int | None:
    """Return the position of the option that an answer names, or None.

    The answer must begin with the option's letter, as a separate word, or with its complete text.
    """
    if found := _LETTER.match(text):
        place = ascii_uppercase.index(found[found.lastindex].upper())
        if place < len(options):
            return place
    answer = _plain(text)
    matching = [
        place for place, option in enumerate(options) if _begins(answer, _plain(option))
    ]
    return max(matching, key=lambda place: len(options[place]), default=None)


def counts(answers: Iterable[Answered]) -> dict[str, Any]:
    """Return counts over ``answers`` for `run.json`."""
    answers = list(answers)
    orders = sum(answer.asked for answer in answers)
    by_chance = sum(answer.asked / len(answer.probabilities) for answer in answers)
    return {
        "questions": len(answers),
        "requests": sum(answer.drawn or answer.asked for answer in answers),
        "drawn": sum(answer.drawn for answer in answers),
        "unparseable": sum(answer.unparseable for answer in answers),
        "unanswered": sum(answer.unanswered for answer in answers),
        "outside": _share(
            sum(answer.outside * answer.asked for answer in answers), orders
        ),
        "ties": sum(answer.ties for answer in answers),
        "disagreements": sum(answer.disagree for answer in answers),
        "cut": sum(answer.cut for answer in answers),
        "first_listed": _share(sum(answer.first for answer in answers), orders),
        "first_listed_by_chance": _share(by_chance, orders),
    }


def pick(
    model: LanguageModel, asked: Sequence[tuple[Prompt, Sequence[str]]], samples: int
) -> list[Picked]:
    """Return a model's distribution for each (prompt, options listed in it under letters).

    Several ``samples`` are drawn at temperature 1; a single one is the most likely answer.
    """
    letters = [ascii_uppercase[: len(options)] for _, options in asked]
    answers = weighed(model, [prompt for prompt, _ in asked], letters)
    untold = [place for place, answer in enumerate(answers) if answer is None]
    requests = [
        Request(
            asked[place][0],
            ANSWER_TOKENS,
            temperature=1.0 if samples > 1 else 0.0,
            seed=seed,
        )
        for place in untold
        for seed in range(samples)
    ]
    texts = [written.text for written in model.write(requests)] if requests else []
    drawn = {
        place: _drawn(texts[number * samples : (number + 1) * samples], asked[place][1])
        for number, place in enumerate(untold)
    }
    return [
        drawn[place] if answer is None else answer
        for place, answer in enumerate(answers)
    ]


def weighed(
    model: LanguageModel, prompts: Sequence[Prompt], signs: Sequence[str]
) -> list[Picked | None]:
    """Return a model's distribution over each prompt's ``signs``; None if it reports no probabilities.

    Signs are single characters.  Each has its probability with and without a space before it, since models
    differ in how an answer begins.
    """
    choices = [
        Choice(prompt, (*those, *(f" {sign}" for sign in those)))
        for prompt, those in zip(prompts, signs, strict=True)
    ]
    return [_shared(answer.log_probabilities) for answer in model.weigh(choices)]


def _shared(log_probabilities: Sequence[float] | None) -> Picked | None:
    if log_probabilities is None:
        return None
    half = len(log_probabilities) // 2
    both = zip(log_probabilities[:half], log_probabilities[half:], strict=True)
    masses = [math.exp(bare) + math.exp(blank) for bare, blank in both]
    return Picked(_normalised(masses), outside=max(0.0, 1 - sum(masses)))


def _drawn(texts: Sequence[str], options: Sequence[str]) -> Picked:
    places = [parsed(text, options) for text in texts]
    votes = [float(places.count(place)) for place in range(len(options))]
    unparseable = places.count(None)
    return Picked(
        _normalised(votes), unparseable / len(places), len(places), unparseable
    )


def _averaged(orders: Sequence[Picked]) -> Answered:
    """Return the answer over the orders of a question; the second order is reversed."""
    options = len(orders[0].shares)
    straight = [
        order.shares[:: -1 if turned else 1] for turned, order in enumerate(orders)
    ]
    nonzero = [shares for shares in straight if any(shares)]
    even = (1 / options,) * options
    winners = [
        {options - 1 - place if turned else place for place in order.winners}
        for turned, order in enumerate(orders)
        if order.winners
    ]
    return Answered(
        tuple(sum(column) / len(nonzero) for column in zip(*nonzero, strict=True))
        if nonzero
        else even,
        outside=sum(order.outside for order in orders) / len(orders),
        drawn=sum(order.drawn for order in orders),
        unparseable=sum(order.unparseable for order in orders),
        asked=len(orders),
        first=sum(order.winners == [0] for order in orders),
        ties=sum(len(order.winners) > 1 for order in orders),
        unanswered=sum(not order.winners for order in orders),
        disagree=len(winners) > 1 and winners[0] != winners[1],
    )


def _normalised(masses: Sequence[float]) -> tuple[float, ...]:
    total = sum(masses)
    return tuple(mass / total if total else 0.0 for mass in masses)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().strip(" .\"'*`")


def _begins(answer: str, option: str) -> bool:
    return (
        answer.startswith(option)
        and not answer[len(option) : len(option) + 1].isalnum()
    )


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None
