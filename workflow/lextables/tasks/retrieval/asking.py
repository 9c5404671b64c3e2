"""The second stage with a language model, which is asked about a query's first hits.

Pointwise: it rates one document at a time from 1 to 5 (ACORD, Table A-1).  The score is the expected rating
if the model returns probabilities, else the rating that it writes.

Pairwise: it compares two documents (pairwise ranking prompting, Qin et al., 2024).  Each pair is asked in
both orders, and a document moves up only if it wins in both.  The ranking is traversed from the last document
to the first, comparing neighbours; k ``passes`` bring the k best documents to the top (their sliding window).
All queries take each step together, in one batch.

Documents without an answer keep the order of the first stage, and are counted.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lextables.models.language_model import LanguageModel, Prompt, Request
from lextables.models.multiple_choice import ANSWER_TOKENS, Picked, pick, weighed
from lextables.models.prompts import Template, fitted, plain_template
from lextables.tasks.retrieval.collection import Collection, Hits
from lextables.tasks.retrieval.lexical import read_as

RATINGS = "12345"
PAIR = ("Clause A", "Clause B")
UNRATED = 0.0  # below any rating
_RATING = re.compile(
    r"^\W*(?i:(?:(?:the |my |i )?(?:rating|rate|score|answer)(?: it| is| of| as| at)*)?)\W*([1-5])(?![.,]?\d)"
)


@dataclass
class Reranked:
    """The hits by query, best first, and counts of requests and answers."""

    hits: Hits
    counts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidates:
    """{query id: text}, the hits to ask about, and the documents' texts by (query id, document id)."""

    queries: Mapping[str, str]
    hits: Mapping[str, Sequence[str]]
    texts: Mapping[tuple[str, str], str]


def rerank(
    collection: Collection,
    hits: Mapping[str, Sequence[str]],
    settings: Mapping[str, Any],
    model: LanguageModel,
) -> Reranked:
    """Reorder the first hits of the test queries by the run's ``settings``; the other hits stay below.

    Scores are ratings (pointwise) or ranks from the last (pairwise).
    """
    candidates = candidates_of(collection, hits, settings)
    template = plain_template(settings["prompt"])
    if settings["way"] == "pointwise":
        best = pointwise(model, template, candidates)
    else:
        best = pairwise(model, template, candidates, settings["passes"])
    for query, ranking in best.hits.items():
        rest = hits.get(query, [])[len(ranking) :]
        lowest = min([score for _, score in ranking], default=UNRATED)
        ranking += [
            (document, lowest - place) for place, document in enumerate(rest, 1)
        ]
    return best


def candidates_of(
    collection: Collection,
    hits: Mapping[str, Iterable[str]],
    settings: Mapping[str, Any],
) -> Candidates:
    """Return the first ``settings["hits"]`` hits of each query."""
    queries = collection.texts(settings["form"], ("test",), settings["queries"])
    first = {query: list(hits.get(query, ()))[: settings["hits"]] for query in queries}
    pairs = [
        (query, document)
        for query, documents in first.items()
        for document in documents
    ]
    texts = read_as(
        settings["documents"], collection.documents, [(queries[q], d) for q, d in pairs]
    )
    return Candidates(queries, first, dict(zip(pairs, texts, strict=True)))


def expected(candidates: Candidates, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Return upper bounds: the number of requests, and the characters of the documents in them."""
    hits = [len(documents) for documents in candidates.hits.values()]
    characters = sum(map(len, candidates.texts.values()))
    if settings["way"] == "pointwise":
        return sum(hits), characters
    pairs = sum(_steps(number, settings["passes"]) for number in hits)
    return 2 * pairs, 4 * pairs * characters // max(1, len(candidates.texts))


def _steps(hits: int, passes: int) -> int:
    """Return the number of compared pairs: later passes skip what earlier ones brought to the top."""
    return sum(max(0, hits - 1 - done) for done in range(passes))


# Pointwise.


def pointwise(
    model: LanguageModel, template: Template, candidates: Candidates
) -> Reranked:
    """Rank each query's hits by their ratings; ties and documents without a rating keep their order."""
    prompts = [
        fitted(
            model,
            template,
            ANSWER_TOKENS,
            ["text"],
            query=candidates.queries[query],
            text=text,
        )
        for (query, _), text in candidates.texts.items()
    ]
    ratings, counts = rated(model, [prompt for prompt, _ in prompts])
    scores = dict(zip(candidates.texts, ratings, strict=True))
    hits: Hits = {}
    ties = 0
    for query, documents in candidates.hits.items():
        ratings_ = [(document, scores[query, document]) for document in documents]
        hits[query] = sorted(
            (
                (document, UNRATED if score is None else score)
                for document, score in ratings_
            ),
            key=lambda hit: -hit[1],
        )
        rated_ = [score for _, score in ratings_ if score is not None]
        ties += len(rated_) - len(set(rated_))
    return Reranked(
        hits, counts | {"ties": ties, "cut": sum(cut for _, cut in prompts)}
    )


def rated(
    model: LanguageModel, prompts: Sequence[Prompt]
) -> tuple[list[float | None], dict[str, Any]]:
    """Return the rating of each prompt (None without one), and counts."""
    answers = weighed(model, prompts, [RATINGS] * len(prompts))
    ratings = [
        sum(rating * share for rating, share in enumerate(answer.shares, 1)) or None
        if answer
        else None
        for answer in answers
    ]
    unweighed = [place for place, answer in enumerate(answers) if answer is None]
    for place, rating in zip(
        unweighed, _written(model, [prompts[place] for place in unweighed]), strict=True
    ):
        ratings[place] = rating
    outside = [answer.outside for answer in answers if answer]
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
    """Return the rating at the start of an answer ("4", "Rating: 4", "4 out of 5"), or None."""
    match = _RATING.match(text)
    return float(match[1]) if match else None


# Pairwise.


def pairwise(
    model: LanguageModel, template: Template, candidates: Candidates, passes: int
) -> Reranked:
    """Rank each query's hits by comparing neighbours, ``passes`` times from the last to the first.

    A comparison is a tie if the two orders have different answers, or one has none.
    """
    order = {query: list(documents) for query, documents in candidates.hits.items()}
    judge = _Judge(model, template, candidates)
    longest = max(map(len, order.values()), default=0)
    for done in range(passes):
        for lower in range(longest - 1, done, -1):
            neighbours = {
                query: (ranking[lower - 1], ranking[lower])
                for query, ranking in order.items()
                if lower < len(ranking)
            }
            for query in judge.swaps(neighbours):
                ranking = order[query]
                ranking[lower - 1], ranking[lower] = ranking[lower], ranking[lower - 1]
    hits = {
        query: [
            (document, float(len(ranking) - place))
            for place, document in enumerate(ranking)
        ]
        for query, ranking in order.items()
    }
    return Reranked(hits, judge.summary())


class _Judge:
    """Compares documents in both orders, each pair of a query once, and counts the outcomes."""

    def __init__(
        self, model: LanguageModel, template: Template, candidates: Candidates
    ) -> None:
        self.model, self.template, self.candidates = model, template, candidates
        self.better: dict[tuple[str, frozenset[str]], str | None] = {}
        self.counts: Counter[str] = Counter()
        self.outside = 0.0

    def swaps(self, pairs: Mapping[str, tuple[str, str]]) -> list[str]:
        """Return the queries for which the second document of the pair is better than the first."""
        new = [
            query
            for query, pair in pairs.items()
            if (query, frozenset(pair)) not in self.better
        ]
        prompts = [
            self.prompt(query, *order)
            for query in new
            for order in (pairs[query], pairs[query][::-1])
        ]
        answers = (
            pick(self.model, [(prompt, PAIR) for prompt in prompts], samples=1)
            if prompts
            else []
        )
        for query, straight, turned in zip(
            new, answers[::2], answers[1::2], strict=True
        ):
            self.better[query, frozenset(pairs[query])] = self._winner(
                pairs[query], straight, turned
            )
        return [
            query
            for query, pair in pairs.items()
            if self.better[query, frozenset(pair)] == pair[1]
        ]

    def prompt(self, query: str, first: str, second: str) -> Prompt:
        fields = {"query": self.candidates.queries[query]}
        fields |= {
            "first": self.candidates.texts[query, first],
            "second": self.candidates.texts[query, second],
        }
        prompt, cut = fitted(
            self.model, self.template, ANSWER_TOKENS, ["first", "second"], **fields
        )
        self.counts["cut"] += cut
        return prompt

    def _winner(
        self, pair: tuple[str, str], straight: Picked, turned: Picked
    ) -> str | None:
        winners = [straight.winners, [1 - place for place in turned.winners]]
        self.counts["pairs"] += 1
        self.counts["first_listed"] += (straight.winners == [0]) + (
            turned.winners == [0]
        )
        self.counts["unparseable"] += sum(not each for each in winners)
        self.outside += straight.outside + turned.outside
        if winners[0] == winners[1] and len(winners[0]) == 1:
            return pair[winners[0][0]]
        self.counts["ties"] += 1
        self.counts["disagreements"] += all(len(each) == 1 for each in winners)
        return None

    def summary(self) -> dict[str, Any]:
        """Return the counts, and shares of the requests."""
        requests = 2 * self.counts["pairs"]
        names = ("unparseable", "ties", "disagreements", "cut")
        return {name: self.counts[name] for name in names} | {
            "requests": requests,
            "first_listed": round(self.counts["first_listed"] / requests, 4)
            if requests
            else None,
            "first_listed_by_chance": 0.5 if requests else None,
            "outside": round(self.outside / requests, 4) if requests else None,
        }
