"""Multiple-choice questions for a language model; the result is a distribution over the
options.

Options are listed under letters, and the model answers with a letter.  If it reports
probabilities, an option has that of its letter with or without a space before it;
probabilities are normalised, and their sum outside the options is reported.  If it
reports none, answers are sampled, and an option's probability is its share of the
answers that name an option.

Models prefer some positions of a list.  The number of wins of the first option is
reported, and with two orders a question is asked again with the options reversed; the
two distributions are averaged.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from lextables.models.language_model import Choice, LanguageModel, Prompt, Request
from lextables.models.prompts import Template, fitted
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject

ANSWER_TOKENS = 16  # enough for the text of most options
# The letter in: "The answer is B", "b" on a line, "B) …" or "B.", "(b)".
# "A clause" has none.
_LEAD = r"(?i:(?:the |my )?(?:correct |best |final )?(?:answer|option|choice)(?: is| would be)?)"
# How answers begin that are written in LaTeX or in a block of JSON.
_FORM = r"(?:boxed\b\W*|json\b\W*)?"
_START = re.compile(rf"\W*{_FORM}(?:{_LEAD}\b\W*{_FORM})?")
_LETTER = re.compile(
    rf"^\W*{_FORM}(?:{_LEAD}\W*{_FORM}([A-Z])\b(?!')|([A-Za-z])\W*(?:$|\n)"
    r"|([A-Z])\s?[).:,;\]*\"]+(?=\s|$)|\(([A-Za-z])\))"
)
# After a letter, what says that it is not the answer: "A is incorrect", '"A": false'.
_NEGATION = re.compile(
    r"\W*(?:(?:is|was|would be)\s(?:\w+ly\s)?)?(?:incorrect|wrong|false)\b"
    r"|\W*(?:is|was|would|can)\s?not\b|\W*(?:is|was|would|ca)n['’]t\b"
)
# Other letters after it: "A or B", "(b) or (c)"; but not "A clause", "I think" and
# names such as "Clause B".
_OTHER_LETTER = re.compile(
    r"\b(?i:article|class|clause|exhibit|party|schedule|section|series) [A-Z]\b"
    r"|\b([B-HJ-Z]|[AI](?! (?!(?:is|was|or|and)\b)[a-z]))\b(?!['’])"
    r"|(?<!\w)\(([a-z])\)"
)
_AFTER_LETTER = " \t).:,;]*\"'-–"  # what models write between a letter and its option


@dataclass(frozen=True)
class ChoiceQuestion:
    """A multiple-choice question: its template, the texts of the fields, and the
    options in order.

    ``options`` is a field too.  The fields ``cut`` are shortened if the prompt does not
    fit into the model's window.
    """

    template: Template
    fields: Mapping[str, str]
    options: tuple[str, ...]
    cut: tuple[str, ...] = ()

    def prompt(
        self, model: LanguageModel, options: Sequence[str]
    ) -> tuple[Prompt, bool]:
        """Return the prompt, and whether texts were cut.

        It lists the question's ``options`` in this order.
        """
        fields = {**self.fields, "options": listed(options)}
        return fitted(model, self.template, ANSWER_TOKENS, self.cut, **fields)


@dataclass(frozen=True)
class Picked:
    """A model's distribution over the options in the order of a prompt.

    ``shares`` sum to one, or are all 0.  ``outside`` is the probability of other
    answers; ``unparseable`` is the number of the ``drawn`` answers that name no option.
    """

    shares: tuple[float, ...]
    outside: float = 0.0
    drawn: int = 0
    unparseable: int = 0

    @property
    def winners(self) -> list[int]:
        """Return the positions of the largest share; empty if all shares are 0."""
        best = max(self.shares)
        if best == 0:
            return []
        return [place for place, share in enumerate(self.shares) if share == best]


@dataclass(frozen=True)
class Answered:
    """A model's answer to a question: a probability for each option, with the sum one.

    It is the mean over the ``orders`` of the options, of which the second is reversed.
    ``disagree``: the winners of the two orders differ; ``cut``: texts were shortened.
    """

    probabilities: tuple[float, ...]
    orders: tuple[Picked, ...]
    disagree: bool
    cut: bool


def ask(
    model: LanguageModel,
    questions: Sequence[ChoiceQuestion],
    samples: int,
    orders: int = 1,
) -> list[Answered]:
    """Return a model's answers to ``questions``, with one or two ``orders`` of the
    options.

    ``samples`` answers are sampled if the model reports no probabilities.  Raises
    `BadInput` for a question with fewer than two options, or more options than letters.
    """
    asked = []
    cut = []
    for question in questions:
        if not 2 <= len(question.options) <= len(ascii_uppercase):
            raise BadInput(
                f"a question has {len(question.options)} options",
                where="a question for a language model",
                do=f"ask those that have 2 to {len(ascii_uppercase)}",
            )
        for options in (question.options, question.options[::-1])[:orders]:
            prompt, is_cut = question.prompt(model, options)
            asked.append((prompt, options))
            cut.append(is_cut)
    picked = pick(model, asked, samples)
    answers = []
    for start in range(0, len(picked), orders):
        end = start + orders
        answers.append(_averaged(picked[start:end], cut=any(cut[start:end])))
    return answers


def listed(options: Sequence[str]) -> str:
    """Return the options for a prompt, one per line after its letter."""
    lines = []
    for letter, option in zip(ascii_uppercase, options, strict=False):
        one_line = " ".join(option.split())
        lines.append(f"{letter}. {one_line}")
    return "\n".join(lines)


def parsed(text: str, options: Sequence[str]) -> int | None:
    """Return the position of the option that an answer names, or None.

    The answer, or what follows words such as "The answer is", must begin with the
    option's complete text, or with its letter as a separate word.  In the line of the
    letter, no other option's letter may follow, and nothing that denies it.
    """
    place = _named(text, options)
    if place is None:
        place = _named(_START.sub("", text, count=1), options)
    if place is None:
        place = _lettered(text, options)
    return place


def _named(text: str, options: Sequence[str]) -> int | None:
    """Return the position of the longest option with which an answer begins."""
    answer = _plain(text)
    longest = None
    for place, option in enumerate(options):
        if not _begins(answer, _plain(option)):
            continue
        if longest is None or len(option) > len(options[longest]):
            longest = place
    return longest


def _lettered(text: str, options: Sequence[str]) -> int | None:
    """Return the position of the option with whose letter alone an answer begins."""
    match = _LETTER.match(text)
    if match is None or match.lastindex is None:
        return None
    letter = match[match.lastindex].upper()
    letters = ascii_uppercase[: len(options)]
    if letter not in letters:
        return None
    place = letters.index(letter)
    rest, _, _ = text[match.end(match.lastindex) :].partition("\n")
    option = _plain(options[place])
    named = " ".join(rest.split()).lstrip(_AFTER_LETTER)
    # An answer may end within the option.
    if len(named) != 1 and option.startswith(_plain(named)):
        return place
    if named.casefold().startswith(option):
        rest = named[len(option) :]
    if _NEGATION.match(rest):
        return None
    for others in _OTHER_LETTER.findall(rest):
        other = "".join(others).upper()
        if other and other != letter and other in letters:
            return None
    return place


def counts(answers: Iterable[Answered]) -> JsonObject:
    """Return counts over ``answers`` for `run.json`.

    The unit of most counts is a question in one order of its options: ``answered`` ones
    have a winner, ``unanswered`` none, ``ties`` several; ``first_listed`` is the share
    whose winner is the first option alone.
    """
    answers = list(answers)
    orders: list[Picked] = []
    for answer in answers:
        orders += answer.orders
    winners = [order.winners for order in orders]
    drawn = [order.drawn for order in orders]
    by_chance = [1 / len(order.shares) for order in orders]
    return {
        "questions": len(answers),
        # An order with reported probabilities is one request.
        "requests": sum(number or 1 for number in drawn),
        "drawn": sum(drawn),
        "unparseable": sum(order.unparseable for order in orders),
        "answered": len(winners) - winners.count([]),
        "unanswered": winners.count([]),
        "outside": _mean([order.outside for order in orders]),
        "ties": sum(len(places) > 1 for places in winners),
        "disagreements": sum(answer.disagree for answer in answers),
        "cut": sum(answer.cut for answer in answers),
        "first_listed": _mean([places == [0] for places in winners]),
        "first_listed_by_chance": _mean(by_chance),
    }


def pick(
    model: LanguageModel, asked: Sequence[tuple[Prompt, Sequence[str]]], samples: int
) -> list[Picked]:
    """Return a model's distribution for each (prompt, options listed in it).

    Several ``samples`` are drawn at temperature 1; a single one is the most likely
    answer.
    """
    prompts = []
    letters = []
    for prompt, options in asked:
        prompts.append(prompt)
        letters.append(ascii_uppercase[: len(options)])
    distributions = weighed(model, prompts, letters)
    temperature = 1.0 if samples > 1 else 0.0
    requests = []
    for prompt, distribution in zip(prompts, distributions, strict=True):
        if distribution is None:
            for seed in range(samples):
                requests.append(Request(prompt, ANSWER_TOKENS, temperature, seed))
    written = iter(model.write(requests) if requests else ())
    answers = []
    for (_, options), distribution in zip(asked, distributions, strict=True):
        if distribution is None:
            texts = [next(written).text for _ in range(samples)]
            distribution = _drawn(texts, options)
        answers.append(distribution)
    return answers


def weighed(
    model: LanguageModel, prompts: Sequence[Prompt], signs: Sequence[Sequence[str]]
) -> list[Picked | None]:
    """Return a model's distribution over each prompt's ``signs``; None if it reports
    none.

    Signs are short texts, such as ``A`` or ``Yes``.  Each has its probability with and
    without a space before it, since models differ in how an answer begins.
    """
    choices = []
    for prompt, prompt_signs in zip(prompts, signs, strict=True):
        spaced = [f" {sign}" for sign in prompt_signs]
        choices.append(Choice(prompt, (*prompt_signs, *spaced)))
    return [_shared(answer.log_probabilities) for answer in model.weigh(choices)]


def _shared(log_probabilities: Sequence[float] | None) -> Picked | None:
    """Return the distribution of signs, listed without and then with a space."""
    if log_probabilities is None:
        return None
    half = len(log_probabilities) // 2
    masses = []
    for sign in range(half):
        bare = math.exp(log_probabilities[sign])
        spaced = math.exp(log_probabilities[half + sign])
        masses.append(bare + spaced)
    outside = max(0.0, 1 - sum(masses))
    return Picked(_normalised(masses), outside)


def _drawn(texts: Sequence[str], options: Sequence[str]) -> Picked:
    """Return the shares of the options among answers that name one."""
    places = [parsed(text, options) for text in texts]
    votes = [float(places.count(place)) for place in range(len(options))]
    unparseable = places.count(None)
    return Picked(
        shares=_normalised(votes),
        outside=unparseable / len(places),
        drawn=len(places),
        unparseable=unparseable,
    )


def _averaged(orders: Sequence[Picked], cut: bool) -> Answered:
    """Return the answer over the orders of a question.

    Orders in which no option is named are left out.
    """
    options = len(orders[0].shares)
    named = []
    for number, order in enumerate(orders):
        shares = order.shares if number == 0 else order.shares[::-1]
        if order.winners:
            named.append(shares)
    probabilities = (1 / options,) * options
    if named:
        columns = zip(*named, strict=True)
        probabilities = tuple(sum(column) / len(named) for column in columns)
    disagree = False
    if len(named) > 1:
        first, second = named
        disagree = Picked(first).winners != Picked(second).winners
    return Answered(probabilities, tuple(orders), disagree, cut)


def _normalised(masses: Sequence[float]) -> tuple[float, ...]:
    """Return shares of the sum; all 0 if the sum is 0."""
    total = sum(masses)
    if total == 0:
        return (0.0,) * len(masses)
    return tuple(mass / total for mass in masses)


def _plain(text: str) -> str:
    """Return a text in one line and lower case, without punctuation around it."""
    return " ".join(text.split()).casefold().strip(" .\"'*`")


def _begins(answer: str, option: str) -> bool:
    """Whether an answer begins with an option that ends with a word or a number."""
    if not answer.startswith(option):
        return False
    rest = answer.removeprefix(option)
    if option[-1:].isdigit() and re.match(r"[.,]\d", rest):
        return False
    return not rest[:1].isalnum()


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
