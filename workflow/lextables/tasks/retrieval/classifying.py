"""The second stage with a trained classifier: hits are ordered by the probability of the query's answer."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from lextables.models.multi_head import MultiHead
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import Text
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.reading import read_heads
from lextables.tasks.retrieval.collection import Collection, Hits, reorder
from lextables.tasks.retrieval.lexical import read_as

Pair = tuple[str, str]  # the ids of a query and a document
Classifier = tuple[
    MultiHead, Mapping[str, Sequence[str]]
]  # a model with the answers of its heads


def rerank(
    collection: Collection,
    hits: Mapping[str, Sequence[str]],
    settings: Mapping[str, Any],
    model: Classifier,
    tokenizer: str,
    device: torch.device,
) -> Hits:
    """Reorder first-stage hits of the test queries.

    ``model`` is a classifier with its heads' answers (`multi_head.load_trained`), ``tokenizer`` the folder of
    its tokenizer.  It reads pairs of a document (whole or filtered) and the query.
    """
    texts = collection.texts(settings["form"], ("test",))
    candidates = {query_id: hits.get(query_id, []) for query_id in texts}
    pairs = [
        (query_id, document)
        for query_id in sorted(candidates)
        for document in candidates[query_id]
    ]
    asked = [(texts[query_id], document) for query_id, document in pairs]
    documents = read_as(settings["documents"], collection.documents, asked)
    answers = _answers(collection, settings, model[1], texts)
    read = (
        Text((document, query_id), text, texts[query_id])
        for (query_id, document), text in zip(pairs, documents, strict=True)
    )
    probabilities = (
        _probabilities(pairs, read, settings, model, tokenizer, device) if pairs else {}
    )
    return reorder(
        candidates, {pair: probabilities[pair][answers[pair[0]]] for pair in pairs}
    )


def _answers(
    collection: Collection,
    settings: Mapping[str, Any],
    heads: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
) -> dict[str, int]:
    """Return {query: index of the answer that makes a document relevant}; `BadInput` for a missing answer."""
    if settings["head"] not in heads:
        what = (
            f"the classifier has no head {settings['head']!r}, only {', '.join(heads)}"
        )
        raise BadInput(what, where="rerankers")
    answers, index = list(heads[settings["head"]]), {}
    for query_id in queries:
        value = collection.queries[query_id][settings["by"]]
        answer = settings["answers"].get(value, value)
        if answer not in answers:
            what = f"{answer!r} is not among the answers {', '.join(answers)}"
            raise BadInput(
                what, where=f"query {query_id}", do="map it in the reranker's answers"
            )
        index[query_id] = answers.index(answer)
    return index


def _probabilities(
    pairs: Sequence[Pair],
    texts: Iterable[Text],
    settings: Mapping[str, Any],
    model: Classifier,
    tokenizer: str,
    device: torch.device,
) -> dict[Pair, list[float]]:
    """Return {pair: probability of each answer of the head}."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "tokens.parquet")
        tokenise(texts, tokenizer, settings["max_length"], path)
        tokens = read_tokens(path)
    rows = [
        {"example_id": str(at), "text_id": document, "pair_id": query_id}
        for at, (query_id, document) in enumerate(pairs)
    ]
    classifier, heads = model
    read = read_heads(classifier, list(heads), {settings["head"]: rows}, tokens, device)
    return {pairs[int(row["example_id"])]: row["probabilities"] for row in read}
