"""The second stage by a language model, which is asked about a query's first hits.

Pointwise, it rates a document at a time, from 1 to 5 (ACORD, Table A-1).  Where it tells probabilities, the
score is the expected rating; else the rating that it writes.

Pairwise, it says which of two documents is better (pairwise ranking prompting, Qin et al., 2024).  Each pair
is asked in both orders, and only what wins in both goes before the other.  The documents are gone through
from the last to the first, each compared with the one before it; so many ``passes`` bring as many of the best
to the top (their sliding window).  Queries are independent of each other and take each step together.

What a model does not tell leaves documents as the first stage ranked them, and is counted.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lextables.models.language_model import LanguageModel, Prompt, Request
from lextables.models.multiple_choice import ANSWER_TOKENS, Picked, pick, weighed
from lextables.models.prompts import Template, fitted, plain_template
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.filtering import read_as
from lextables.tasks.retrieval.schema import Hits

RATINGS = "12345"
PAIR = ("Clause A", "Clause B")
UNRATED = 0.0  # below any rating
_RATING = re.compile(
    r"^\W*(?i:(?:(?:the |my |i )?(?:rating|rate|score|answer)(?: it| is| of| as| at)*)?)\W*([1-5])(?![.,]?\d)"
)


@dataclass
class Asked:
    """The hits by query, best first, and what was counted as they were made."""

    hits: Hits
    counts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Asking:
    """Queries by id with their wordings, the hits that are asked about, and the texts of these."""

    queries: Mapping[str, str]
    hits: Mapping[str, Sequence[str]]
    texts: Mapping[tuple[str, str], str]


def rerank(
    collection: Collection,
    hits: Mapping[str, Sequence[str]],
    settings: Mapping[str, Any],
    model: LanguageModel,
) -> Asked:
    """Reorder the first ``hits`` of the test queries, as the run's ``settings`` say; the others stay below.

    Scores are ratings, pointwise, or places from the last, pairwise.
    """
    asking = about(collection, hits, settings)
    template = plain_template(settings["prompt"])
    if settings["way"] == "pointwise":
        best = pointwise(model, template, asking)
    else:
        best = pairwise(model, template, asking, settings["passes"])
    for query, found in best.hits.items():
        rest = hits.get(query, [])[len(found) :]
        lowest = min([score for _, score in found], default=UNRATED)
        found += [(document, lowest - place) for place, document in enumerate(rest, 1)]
    return best


def about(collection: Collection, hits: Mapping[str, Iterable[str]], settings: Mapping[str, Any]) -> Asking:
    """Return what is asked about: of each query's hits the first ``settings["hits"]``."""
    queries = collection.texts(settings["form"], ("test",), settings["queries"])
    first = {query: list(hits.get(query, ()))[: settings["hits"]] for query in queries}
    pairs = [(query, document) for query, found in first.items() for document in found]
    texts = read_as(settings["documents"], collection.documents, [(queries[q], d) for q, d in pairs])
    return Asking(queries, first, dict(zip(pairs, texts, strict=True)))


def expected(asking: Asking, settings: Mapping[str, Any]) -> tuple[int, int]:
    """How often a model is asked, at most, and about how many characters of documents it is shown for it."""
    hits = [len(those) for those in asking.hits.values()]
    characters = sum(map(len, asking.texts.values()))
    if settings["way"] == "pointwise":
        return sum(hits), characters
    pairs = sum(_steps(number, settings["passes"]) for number in hits)
    return 2 * pairs, 4 * pairs * characters // max(1, len(asking.texts))


def _steps(hits: int, passes: int) -> int:
    """How many pairs of neighbours are compared: a pass leaves what it brought to the top."""
    return sum(max(0, hits - 1 - done) for done in range(passes))


# Pointwise.


def pointwise(model: LanguageModel, template: Template, asking: Asking) -> Asked:
    """Rank each query's hits by the rating that a model gives each.

    The unparseable are below the rated; both, and equal ratings, in the order of the first stage.
    """
    prompts = [
        fitted(model, template, ANSWER_TOKENS, ["text"], query=asking.queries[query], text=text)
        for (query, _), text in asking.texts.items()
    ]
    ratings, counts = rated(model, [prompt for prompt, _ in prompts])
    scores = dict(zip(asking.texts, ratings, strict=True))
    hits: Hits = {}
    ties = 0
    for query, documents in asking.hits.items():
        given = [(document, scores[query, document]) for document in documents]
        hits[query] = sorted(
            ((document, UNRATED if score is None else score) for document, score in given),
            key=lambda hit: -hit[1],
        )
        told = [score for _, score in given if score is not None]
        ties += len(told) - len(set(told))
    return Asked(hits, counts | {"ties": ties, "cut": sum(cut for _, cut in prompts)})


def rated(model: LanguageModel, prompts: Sequence[Prompt]) -> tuple[list[float | None], dict[str, Any]]:
    """Return the rating that each prompt is answered with, None where it is none, and counts."""
    told = weighed(model, prompts, [RATINGS] * len(prompts))
    ratings = [
        sum(rating * share for rating, share in enumerate(answer.shares, 1)) or None if answer else None
        for answer in told
    ]
    untold = [place for place, answer in enumerate(told) if answer is None]
    for place, rating in zip(untold, _written(model, [prompts[place] for place in untold]), strict=True):
        ratings[place] = rating
    outside = [answer.outside for answer in told if answer]
    return ratings, {
        "requests": len(prompts),
        "unparseable": sum(rating is None for rating in ratings),
        "outside": round(sum(outside) / len(outside), 4) if outside else None,
    }


def _written(model: LanguageModel, prompts: Sequence[Prompt]) -> list[float | None]:
    if not prompts:
        return []
    answers = model.write([Request(prompt, ANSWER_TOKENS) for prompt in prompts])
    return [parsed(answer.text) for answer in answers]


def parsed(text: str) -> float | None:
    """Return the rating that an answer begins with, as "4", "Rating: 4" or "4 out of 5"; None without one."""
    found = _RATING.match(text)
    return float(found[1]) if found else None


# Pairwise.


def pairwise(model: LanguageModel, template: Template, asking: Asking, passes: int) -> Asked:
    """Rank each query's hits by comparing neighbours, ``passes`` times from the last to the first.

    A comparison that the two orders answer differently, or one of them not at all, is a tie.
    """
    order = {query: list(documents) for query, documents in asking.hits.items()}
    judge = _Judge(model, template, asking)
    longest = max(map(len, order.values()), default=0)
    for done in range(passes):
        for lower in range(longest - 1, done, -1):
            here = {
                query: (found[lower - 1], found[lower])
                for query, found in order.items()
                if lower < len(found)
            }
            for query in judge.turned(here):
                found = order[query]
                found[lower - 1], found[lower] = found[lower], found[lower - 1]
    hits = {
        query: [(document, float(len(found) - place)) for place, document in enumerate(found)]
        for query, found in order.items()
    }
    return Asked(hits, judge.told())


class _Judge:
    """Compares documents in both orders, each pair of a query once, and counts how it went."""

    def __init__(self, model: LanguageModel, template: Template, asking: Asking) -> None:
        self.model, self.template, self.asking = model, template, asking
        self.better: dict[tuple[str, frozenset[str]], str | None] = {}
        self.counts: Counter[str] = Counter()
        self.outside = 0.0

    def turned(self, pairs: Mapping[str, tuple[str, str]]) -> list[str]:
        """Return the queries whose second document of the pair is better than the first."""
        new = [query for query, pair in pairs.items() if (query, frozenset(pair)) not in self.better]
        prompts = [
            self.prompt(query, *order) for query in new for order in (pairs[query], pairs[query][::-1])
        ]
        answers = pick(self.model, [(prompt, PAIR) for prompt in prompts], samples=1) if prompts else []
        for query, straight, turned in zip(new, answers[::2], answers[1::2], strict=True):
            self.better[query, frozenset(pairs[query])] = self._winner(pairs[query], straight, turned)
        return [query for query, pair in pairs.items() if self.better[query, frozenset(pair)] == pair[1]]

    def prompt(self, query: str, first: str, second: str) -> Prompt:
        asked = {"query": self.asking.queries[query]}
        asked |= {"first": self.asking.texts[query, first], "second": self.asking.texts[query, second]}
        prompt, cut = fitted(self.model, self.template, ANSWER_TOKENS, ["first", "second"], **asked)
        self.counts["cut"] += cut
        return prompt

    def _winner(self, pair: tuple[str, str], straight: Picked, turned: Picked) -> str | None:
        winners = [straight.winners, [1 - place for place in turned.winners]]
        self.counts["pairs"] += 1
        self.counts["first_listed"] += (straight.winners == [0]) + (turned.winners == [0])
        self.counts["unparseable"] += sum(not those for those in winners)
        self.outside += straight.outside + turned.outside
        if winners[0] == winners[1] and len(winners[0]) == 1:
            return pair[winners[0][0]]
        self.counts["ties"] += 1
        self.counts["disagreements"] += all(len(those) == 1 for those in winners)
        return None

    def told(self) -> dict[str, Any]:
        """What was counted, with shares of the requests."""
        requests = 2 * self.counts["pairs"]
        names = ("unparseable", "ties", "disagreements", "cut")
        return {name: self.counts[name] for name in names} | {
            "requests": requests,
            "first_listed": round(self.counts["first_listed"] / requests, 4) if requests else None,
            "first_listed_by_chance": 0.5 if requests else None,
            "outside": round(self.outside / requests, 4) if requests else None,
        }
