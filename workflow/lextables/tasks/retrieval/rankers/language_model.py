"""The second stage with a language model, which is asked about a query's first hits.

Pointwise: it rates one document at a time from 1 to 5 (ACORD, Table A-1).  The score is
the expected rating if the model returns probabilities, else the rating that it writes.

Pairwise: it compares two documents (pairwise ranking prompting, Qin et al., 2024).
Each pair is asked in both orders, and a document moves up only if it wins in both.  The
ranking is traversed from the last document to the first, comparing neighbours; k
``passes`` bring the k best documents to the top (their sliding window).  All queries
take each step together, in one batch.

Of the documents that are asked about, those without a rating come last.  Pairs without
a winner keep their order.  Both are counted.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lextables.models import cached_model
from lextables.models.language_model import LanguageModel, Prompt, Request, note_asked
from lextables.models.multiple_choice import ANSWER_TOKENS, Picked, pick, weighed
from lextables.models.prompts import Template, fitted, plain_template
from lextables.pipeline.files import JsonObject
from lextables.tasks.retrieval.collection import Collection, Hits, HitsByCondition, Pair
from lextables.tasks.retrieval.filtering import read_as
from lextables.tasks.retrieval.ranking import Ranking, RankingSettings

RATINGS = "12345"
PAIR = ("Clause A", "Clause B")  # the options of a comparison
UNRATED = 0.0  # below any rating
# A digit from 1 to 5, alone or after words such as "Rating:", "My score is" or a scale
# ("Rating (1-5):", "5-point scale:").  It begins no longer number and no range ("2-3",
# "3 or 4").
_SCALE = r"(?:(?:1 ?(?:-|–|to) ?5(?: scale)?|5[- ]point scale)\b\W*+)?+"
_RATING = re.compile(
    rf"^\W*+{_SCALE}(?i:(?:(?:the |my |i )?(?:rating|rate|score|answer)(?: it| is| of| as| at)*)?)"
    rf"\W*+{_SCALE}([1-5])(?![.,]?\d|\s?(?:-|–|to|or|and)\s?\d)"
)


class AskingSettings(RankingSettings):
    """The settings of a run with a language model."""

    prompt: list[list[str]]
    """The parts of the prompt (`models.prompts`)."""
    way: Literal["pointwise", "pairwise"]
    """Whether the model rates documents or compares two."""
    passes: int = 1
    """The number of passes of pairwise comparisons."""
    hits: int
    """The number of first hits of a query that the model is asked about."""


@dataclass
class Reranked:
    """The result of reranking."""

    hits: Hits
    counts: JsonObject = field(default_factory=dict)
    """What `run.json` records of the requests and answers: numbers and shares."""


@dataclass(frozen=True)
class Candidates:
    """The queries and documents that the model is asked about."""

    queries: Mapping[str, str]
    """{query id: text}."""
    hits: Mapping[str, Sequence[str]]
    """{query id: ids of its first hits, best first}."""
    texts: Mapping[Pair, str]
    """{(query id, document id): text of the document, as it is read for the query}."""


def rank(ranking: Ranking) -> HitsByCondition:
    """Reorder the first hits of the test queries; {condition: hits}."""
    model = cached_model.of_job(ranking.model, ranking)
    runs = ranking.runs(AskingSettings)
    # The expected work of all conditions, before the first request.
    requests = characters = 0
    for condition, run in runs.items():
        hits = ranking.first_hits[condition]
        candidates = candidates_of(ranking.collection, hits, run)
        more_requests, more_characters = expected(candidates, run)
        requests += more_requests
        characters += more_characters
    model.expect(requests, characters)
    reranked = {}
    for (condition, run), record in zip(runs.items(), ranking.records, strict=True):
        hits = ranking.first_hits[condition]
        result = rerank(ranking.collection, hits, run, model)
        note_asked(record, model, result.counts)
        reranked[condition] = result.hits
    return reranked


def rerank(
    collection: Collection,
    hits: Mapping[str, Sequence[str]],
    run: AskingSettings,
    model: LanguageModel,
) -> Reranked:
    """Reorder the first hits of the test queries; the other hits stay below.

    Scores are ratings (pointwise) or ranks from the last (pairwise).  The other hits
    get lower ones, in their order.
    """
    candidates = candidates_of(collection, hits, run)
    template = plain_template(run.prompt)
    if run.way == "pointwise":
        best = pointwise(model, template, candidates)
    else:
        best = pairwise(model, template, candidates, run.passes)
    for query, ranking in best.hits.items():
        rest = hits.get(query, [])[len(ranking) :]
        lowest = min([score for _, score in ranking], default=UNRATED)
        for place, document in enumerate(rest, 1):
            ranking.append((document, lowest - place))
    return best


def candidates_of(
    collection: Collection, hits: Mapping[str, Iterable[str]], run: AskingSettings
) -> Candidates:
    """Return the first `AskingSettings.hits` hits of each query."""
    queries = collection.texts(run.form, ("test",), run.queries)
    first = {}
    pairs = []
    asked = []
    for query, text in queries.items():
        first[query] = list(hits.get(query, ()))[: run.hits]
        for document in first[query]:
            pairs.append((query, document))
            asked.append((text, document))
    texts = read_as(run.documents, collection.documents, asked)
    return Candidates(queries, first, dict(zip(pairs, texts, strict=True)))


def expected(candidates: Candidates, run: AskingSettings) -> tuple[int, int]:
    """Return the largest number of questions, and the characters of the documents in
    them.

    For pairs, the characters are estimated by the mean length of the documents.
    """
    texts = candidates.texts.values()
    characters = sum(map(len, texts))
    if run.way == "pointwise":
        return len(texts), characters
    pairs = 0
    for documents in candidates.hits.values():
        pairs += _steps(len(documents), run.passes)
    # Each pair is asked about twice, with two texts each.
    return 2 * pairs, 4 * pairs * characters // max(1, len(texts))


def _steps(hits: int, passes: int) -> int:
    """Return the number of compared pairs: later passes skip what earlier ones brought
    to the top.
    """
    return sum(max(0, hits - 1 - done) for done in range(passes))


# Pointwise.


def pointwise(
    model: LanguageModel, template: Template, candidates: Candidates
) -> Reranked:
    """Rank each query's hits by their ratings.

    Ties keep their order; documents without a rating come last.
    """
    prompts = []
    cut = 0
    for (query, _), text in candidates.texts.items():
        fields = {"query": candidates.queries[query], "text": text}
        prompt, was_cut = fitted(model, template, ANSWER_TOKENS, ["text"], **fields)
        prompts.append(prompt)
        cut += was_cut
    ratings, counts = rated(model, prompts)
    rating_of = dict(zip(candidates.texts, ratings, strict=True))
    hits: Hits = {}
    ties = 0
    for query, documents in candidates.hits.items():
        scored = []
        query_ratings = []
        for document in documents:
            rating = rating_of[query, document]
            if rating is not None:
                query_ratings.append(rating)
            scored.append((document, UNRATED if rating is None else rating))
        hits[query] = sorted(scored, key=lambda hit: -hit[1])
        ties += len(query_ratings) - len(set(query_ratings))
    return Reranked(hits, {**counts, "ties": ties, "cut": cut})


def rated(
    model: LanguageModel, prompts: Sequence[Prompt]
) -> tuple[list[float | None], JsonObject]:
    """Return the rating of each prompt (None without one), and counts.

    The rating of a prompt is the mean of 1 to 5, weighted by their probabilities.  If
    the model reports no probabilities, it is the rating that the model writes.
    """
    ratings: list[float | None] = []
    outside: list[float] = []
    unweighed = []
    answers = weighed(model, prompts, [RATINGS] * len(prompts))
    for place, answer in enumerate(answers):
        if answer is None:
            unweighed.append(place)
            ratings.append(None)
            continue
        weights = enumerate(answer.shares, 1)
        mean = sum(rating * weight for rating, weight in weights)
        ratings.append(mean or None)  # 0: no rating has a probability
        outside.append(answer.outside)
    written = _written(model, [prompts[place] for place in unweighed])
    for place, rating in zip(unweighed, written, strict=True):
        ratings[place] = rating
    return ratings, {
        "requests": len(prompts),
        "answered": len(prompts) - ratings.count(None),
        "unparseable": ratings.count(None),
        "outside": _share(sum(outside), len(outside)),
    }


def _written(model: LanguageModel, prompts: Sequence[Prompt]) -> list[float | None]:
    """Return the ratings that a model writes."""
    if not prompts:
        return []
    answers = model.write([Request(prompt, ANSWER_TOKENS) for prompt in prompts])
    return [parsed(answer.text) for answer in answers]


def parsed(text: str) -> float | None:
    """Return the rating at the start of an answer ("4", "Rating: 4", "4 out of 5"), or
    None.
    """
    match = _RATING.match(text)
    return float(match[1]) if match else None


def _share(amount: float, whole: int) -> float | None:
    """Return the share of the whole, rounded; None if there is nothing."""
    return round(amount / whole, 4) if whole else None


# Pairwise.


def pairwise(
    model: LanguageModel, template: Template, candidates: Candidates, passes: int
) -> Reranked:
    """Rank each query's hits by comparing neighbours, ``passes`` times from the last to
    the first.

    All queries take a step together, so that their prompts are one batch.
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
    hits = {}
    for query, ranking in order.items():
        scores = range(len(ranking), 0, -1)
        hits[query] = list(zip(ranking, map(float, scores), strict=True))
    return Reranked(hits, judge.summary())


class _Judge:
    """Compares documents in both orders, each pair of a query once, and counts the
    outcomes.
    """

    def __init__(
        self, model: LanguageModel, template: Template, candidates: Candidates
    ) -> None:
        self.model = model
        self.template = template
        self.candidates = candidates
        # {(query id, ids of two documents): the better one, or None for a tie}.
        self.better: dict[tuple[str, frozenset[str]], str | None] = {}
        self.counts: Counter[str] = Counter()
        self.outside = 0.0  # the sum over requests (`Picked.outside`)

    def swaps(self, pairs: Mapping[str, tuple[str, str]]) -> list[str]:
        """Return the queries whose second document is better than the first.

        ``pairs`` are {query id: (first, second)}.
        """
        requests = []
        new = []
        for query, (first, second) in pairs.items():
            if (query, frozenset((first, second))) in self.better:
                continue
            new.append(query)
            requests.append((self.prompt(query, first, second), PAIR))
            requests.append((self.prompt(query, second, first), PAIR))
        picked = pick(self.model, requests, samples=1) if requests else []
        answers = iter(picked)
        for query in new:
            answer = next(answers)
            answer_in_other_order = next(answers)
            winner = self._winner(pairs[query], answer, answer_in_other_order)
            self.better[query, frozenset(pairs[query])] = winner
        changed = []
        for query, pair in pairs.items():
            if self.better[query, frozenset(pair)] == pair[1]:
                changed.append(query)
        return changed

    def prompt(self, query: str, first: str, second: str) -> Prompt:
        """Return the prompt that compares two documents in this order."""
        prompt, cut = fitted(
            self.model,
            self.template,
            ANSWER_TOKENS,
            ["first", "second"],
            query=self.candidates.queries[query],
            first=self.candidates.texts[query, first],
            second=self.candidates.texts[query, second],
        )
        self.counts["cut"] += cut
        return prompt

    def _winner(
        self, pair: tuple[str, str], answer: Picked, answer_in_other_order: Picked
    ) -> str | None:
        """Count the two answers; return the document that wins in both orders.

        It is None for a tie: the two orders have different answers, or one has none.
        """
        self.counts["pairs"] += 1
        for picked in (answer, answer_in_other_order):
            self.counts["first_listed"] += picked.winners == [0]
            self.counts["unparseable"] += not picked.winners
            self.outside += picked.outside
        winners = answer.winners
        # The same documents have the other positions in the other order.
        others = [1 - place for place in answer_in_other_order.winners]
        if winners == others and len(winners) == 1:
            return pair[winners[0]]
        self.counts["ties"] += 1
        self.counts["disagreements"] += len(winners) == len(others) == 1
        return None

    def summary(self) -> JsonObject:
        """Return the counts, and shares of the requests."""
        requests = 2 * self.counts["pairs"]
        names = ("unparseable", "ties", "disagreements", "cut")
        return {
            **{name: self.counts[name] for name in names},
            "requests": requests,
            "answered": requests - self.counts["unparseable"],
            "first_listed": _share(self.counts["first_listed"], requests),
            "first_listed_by_chance": 0.5 if requests else None,
            "outside": _share(self.outside, requests),
        }
