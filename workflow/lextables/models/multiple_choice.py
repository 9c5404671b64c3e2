"""Questions with options, asked of a language model: a distribution over the options comes back.

Options are listed under letters, and the model is to answer with one.  Where it tells probabilities, an
option's is that of its letter, with or without a blank before it; the options' are normalised, and what lay
outside them is told.  Where it tells none, answers are drawn, and an option's share of those that name an
option is its probability.

Models prefer some places of a list to others.  How often the option listed first won is counted, and in two
orders a question is asked a second time with its options turned about; the two distributions are averaged.
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

# As long as an option that is spelt out, up to a point.
ANSWER_TOKENS = 16
# An answer may say what it is before its letter, or go on after a mark; "A clause" is no letter.
_LEAD = r"(?i:(?:the |my )?(?:correct |best )?(?:answer|option|choice)(?: is| would be)?)"
_LETTER = re.compile(
    rf"^\W*(?:{_LEAD}\W*([A-Z])\b(?!')|([A-Za-z])\W*(?:$|\n)|([A-Z])\s?[).:,;\]*\"]+(?=\s|$)|\(([A-Za-z])\))"
)


@dataclass(frozen=True)
class Question:
    """A question: its prompt, the texts in its fields but for ``options``, and the options in their order.

    Of the fields ``cut`` a beginning is shown where the whole does not fit the model's window.
    """

    template: Template
    fields: Mapping[str, str]
    options: tuple[str, ...]
    cut: tuple[str, ...] = ()

    def prompt(self, model: LanguageModel, turned: bool = False) -> tuple[Prompt, bool]:
        """The prompt that lists the options, or lists them from the last to the first; whether it is cut."""
        options = listed(self.options[:: -1 if turned else 1])
        return fitted(model, self.template, ANSWER_TOKENS, self.cut, **self.fields, options=options)


@dataclass(frozen=True)
class Answered:
    """What a model makes of a question: a probability for each option, which add up to one.

    The rest is over the ``asked`` orders of the options: ``outside``, the mean probability of what is no
    option; of ``drawn`` answers those ``unparseable``; in how many orders the option listed first won, two or
    more shared the first place (``ties``), or nothing named an option (``unanswered``, all options alike);
    ``disagree`` where the winners of two orders differ; ``cut`` where texts were cut to the model's window.
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
    """What a model picks of the options as a prompt lists them; ``shares`` add up to one, or all are 0.

    The rest is as `Answered` has it.
    """

    shares: tuple[float, ...]
    outside: float = 0.0
    drawn: int = 0
    unparseable: int = 0

    @property
    def winners(self) -> list[int]:
        """The places of the options that have the most, none where none has anything."""
        best = max(self.shares)
        return [place for place, share in enumerate(self.shares) if share == best > 0]


def ask(model: LanguageModel, questions: Sequence[Question], samples: int, orders: int = 1) -> list[Answered]:
    """Ask a model each of ``questions``, in one order of the options or in two.

    ``samples`` answers are drawn where the model tells no probabilities.  `BadInput` where a question has
    fewer than two options, or more than there are letters.
    """
    for question in questions:
        if not 2 <= len(question.options) <= len(ascii_uppercase):
            raise BadInput(
                f"a question has {len(question.options)} options",
                where="a question for a language model",
                do=f"ask those that have 2 to {len(ascii_uppercase)}",
            )
    ways = (False, True)[:orders]
    prompts = [question.prompt(model, turned) for question in questions for turned in ways]
    options = [question.options[:: -1 if turned else 1] for question in questions for turned in ways]
    answers = pick(
        model, [(prompt, each) for (prompt, _), each in zip(prompts, options, strict=True)], samples
    )
    starts = range(0, len(answers), len(ways))
    return [
        replace(
            _averaged(answers[at : at + len(ways)]), cut=any(cut for _, cut in prompts[at : at + len(ways)])
        )
        for at in starts
    ]


def listed(options: Sequence[str]) -> str:
    """Return the options as a prompt lists them, a line each under its letter."""
    lines = (
        f"{letter}. {' '.join(option.split())}"
        for letter, option in zip(ascii_uppercase, options, strict=False)
    )
    return "\n".join(lines)


def parsed(text: str, options: Sequence[str]) -> int | None:
    """Return the place of the option that an answer names, None where it names none.

    It names one by beginning with its letter, where that stands alone, or with its whole text.
    """
    if found := _LETTER.match(text):
        place = ascii_uppercase.index(found[found.lastindex].upper())
        if place < len(options):
            return place
    said = _plain(text)
    spelt = [place for place, option in enumerate(options) if _begins(said, _plain(option))]
    return max(spelt, key=lambda place: len(options[place]), default=None)


def counts(answers: Iterable[Answered]) -> dict[str, Any]:
    """Return what is counted over ``answers``, as a run's record shows it."""
    answers = list(answers)
    orders = sum(answer.asked for answer in answers)
    by_chance = sum(answer.asked / len(answer.probabilities) for answer in answers)
    return {
        "questions": len(answers),
        "requests": sum(answer.drawn or answer.asked for answer in answers),
        "drawn": sum(answer.drawn for answer in answers),
        "unparseable": sum(answer.unparseable for answer in answers),
        "unanswered": sum(answer.unanswered for answer in answers),
        "outside": _share(sum(answer.outside * answer.asked for answer in answers), orders),
        "ties": sum(answer.ties for answer in answers),
        "disagreements": sum(answer.disagree for answer in answers),
        "cut": sum(answer.cut for answer in answers),
        "first_listed": _share(sum(answer.first for answer in answers), orders),
        "first_listed_by_chance": _share(by_chance, orders),
    }


def pick(model: LanguageModel, asked: Sequence[tuple[Prompt, Sequence[str]]], samples: int) -> list[Picked]:
    """Return what a model picks for each prompt, which lists the options beside it under letters.

    Of several ``samples`` each is drawn; a single one is the likeliest answer.
    """
    letters = [ascii_uppercase[: len(options)] for _, options in asked]
    answers = weighed(model, [prompt for prompt, _ in asked], letters)
    untold = [place for place, answer in enumerate(answers) if answer is None]
    requests = [
        Request(asked[place][0], ANSWER_TOKENS, temperature=1.0 if samples > 1 else 0.0, seed=seed)
        for place in untold
        for seed in range(samples)
    ]
    texts = [written.text for written in model.write(requests)] if requests else []
    drawn = {
        place: _drawn(texts[number * samples : (number + 1) * samples], asked[place][1])
        for number, place in enumerate(untold)
    }
    return [drawn[place] if answer is None else answer for place, answer in enumerate(answers)]


def weighed(model: LanguageModel, prompts: Sequence[Prompt], signs: Sequence[str]) -> list[Picked | None]:
    """Return how a model that tells probabilities shares each prompt's answer among its ``signs``.

    Those are single characters, each with what the model gives it with or without a blank before it, since
    models differ in how an answer begins.  None where it tells nothing.
    """
    choices = [
        Choice(prompt, (*those, *(f" {sign}" for sign in those)))
        for prompt, those in zip(prompts, signs, strict=True)
    ]
    return [_shared(told.log_probabilities) for told in model.weigh(choices)]


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
    return Picked(_normalised(votes), unparseable / len(places), len(places), unparseable)


def _averaged(orders: Sequence[Picked]) -> Answered:
    """The answer over the orders of a question, the second of which is turned about."""
    options = len(orders[0].shares)
    straight = [order.shares[:: -1 if turned else 1] for turned, order in enumerate(orders)]
    told = [shares for shares in straight if any(shares)]
    even = (1 / options,) * options
    winners = [
        {options - 1 - place if turned else place for place in order.winners}
        for turned, order in enumerate(orders)
        if order.winners
    ]
    return Answered(
        tuple(sum(column) / len(told) for column in zip(*told, strict=True)) if told else even,
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


def _begins(said: str, option: str) -> bool:
    return said.startswith(option) and not said[len(option) : len(option) + 1].isalnum()


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None
