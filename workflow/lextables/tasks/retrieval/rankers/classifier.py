"""The second stage with a trained classifier.

The hits of a query are ordered by how probable the classifier finds the answer that
makes a document relevant to the query.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import torch

from lextables.models import device, multi_head
from lextables.models.weights import weights_folder
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.tasks.classification.examples import Text
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.inference import read_heads
from lextables.tasks.retrieval.collection import (
    Collection,
    Hits,
    HitsByCondition,
    Pair,
    reorder,
)
from lextables.tasks.retrieval.filtering import read_as
from lextables.tasks.retrieval.ranking import Ranking, RankingSettings

# A model, and the answers of its heads: {head: answers}.
Classifier = tuple[multi_head.MultiHead, Mapping[str, Sequence[str]]]


class ClassifierSettings(RankingSettings):
    """The settings of a run with a classifier."""

    head: str
    """The head whose probabilities order the hits."""
    by: str
    """The column of the queries that determines the answer of a relevant document."""
    answers: Mapping[str, str]
    """{value of this column: answer}; a value without an entry is itself the answer."""
    score: Literal["probability", "logit"]
    """Whether the answer's probability or its logit orders the hits.

    The released code of LawngNLI takes the logit.
    """
    max_length: int
    """The tokens of a pair at which it is truncated."""
    tokenizer: JsonObject
    """The settings of the weights whose tokenizer the classifier uses."""


def rank(ranking: Ranking) -> HitsByCondition:
    """Reorder the hits of the test queries; {condition: hits}."""
    where = device.pick(ranking.device)
    model = multi_head.load_trained(ranking.trained[0], where)
    ranking.note(device=device.describe(where))
    ranking.note_training()
    return {
        condition: rerank(ranking, condition, run, model, where)
        for condition, run in ranking.runs(ClassifierSettings).items()
    }


def rerank(
    ranking: Ranking,
    condition: str,
    run: ClassifierSettings,
    model: Classifier,
    where: torch.device,
) -> Hits:
    """Reorder the hits of a condition by ``model``, which reads each document together
    with the query.
    """
    collection = ranking.collection
    hits = ranking.first_hits[condition]
    texts = ranking.texts(run, ("test",))
    candidates = {query_id: hits.get(query_id, []) for query_id in texts}
    _, heads = model
    answers = _answers(collection, run, heads, texts)
    pairs = []
    for query_id in sorted(candidates):
        pairs += [(query_id, document) for document in candidates[query_id]]
    if not pairs:
        return reorder(candidates, {})
    texts_of_pairs = _texts_of_pairs(collection, run, pairs, texts)
    tokenizer = weights_folder(run.tokenizer)
    values = _values_of_answers(pairs, texts_of_pairs, run, model, tokenizer, where)
    scores = {}
    for query_id, document in pairs:
        answer = answers[query_id]
        scores[query_id, document] = values[query_id, document][answer]
    return reorder(candidates, scores)


def _texts_of_pairs(
    collection: Collection,
    run: ClassifierSettings,
    pairs: Sequence[Pair],
    texts: Mapping[str, str],
) -> Iterator[Text]:
    """Yield the text of each pair: the document, whole or filtered, and the query."""
    queries_and_ids = [(texts[query_id], document) for query_id, document in pairs]
    documents = read_as(run.documents, collection.documents, queries_and_ids)
    for (query_id, document), text in zip(pairs, documents, strict=True):
        yield Text((document, query_id), text, texts[query_id])


def _answers(
    collection: Collection,
    run: ClassifierSettings,
    heads: Mapping[str, Sequence[str]],
    queries: Iterable[str],
) -> dict[str, int]:
    """Return {query id: index of the answer that makes a document relevant}.

    Raises `BadInput` if the classifier does not have the head or the answer.
    """
    if run.head not in heads:
        what = f"the classifier has no head {run.head!r}, only {', '.join(heads)}"
        raise BadInput(what, where="rerankers")
    answers = list(heads[run.head])
    index = {}
    for query_id in queries:
        value = collection.queries[query_id][run.by]
        answer = run.answers.get(value, value)
        if answer not in answers:
            what = f"{answer!r} is not among the answers {', '.join(answers)}"
            raise BadInput(
                what, where=f"query {query_id}", do="map it in the reranker's answers"
            )
        index[query_id] = answers.index(answer)
    return index


def _values_of_answers(
    pairs: Sequence[Pair],
    texts: Iterable[Text],
    run: ClassifierSettings,
    model: Classifier,
    tokenizer: str,
    where: torch.device,
) -> dict[Pair, list[float]]:
    """Return {pair: probability, or logit, of each answer of the head}."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "tokens.parquet")
        tokenise(texts, tokenizer, run.max_length, path)
        tokens = read_tokens(path)
    examples = []
    for number, (query_id, document) in enumerate(pairs):
        example_id = str(number)  # the index in ``pairs``
        examples.append(
            {"example_id": example_id, "text_id": document, "pair_id": query_id}
        )
    classifier, heads = model
    rows = read_heads(classifier, list(heads), {run.head: examples}, tokens, where)
    column = "logits" if run.score == "logit" else "probabilities"
    return {pairs[int(row["example_id"])]: row[column] for row in rows}
