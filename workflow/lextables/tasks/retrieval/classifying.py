"""The second stage by a trained classifier: first hits by the probability that it gives a query's answer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from lextables.models.multi_head import MultiHead
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.reading import read_heads
from lextables.tasks.classification.texts import Text
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.filtering import read_as
from lextables.tasks.retrieval.schema import Hits, reorder

Pair = tuple[str, str]  # a query's id and a document's


def rerank(
    collection: Collection,
    hits: Mapping[str, Sequence[str]],
    settings: Mapping[str, Any],
    model: tuple[MultiHead, Mapping[str, Sequence[str]]],
    tokenizer: str,
    device: torch.device,
) -> Hits:
    """Reorder first-stage hits of the test queries.

    ``model`` is a classifier with its heads' answers (`multi_head.load_trained`), ``tokenizer`` the folder of
    what cuts its texts.  A pair is the document, whole or filtered, and the query.
    """
    texts = collection.texts(settings["form"], ("test",))
    found = {query_id: hits.get(query_id, []) for query_id in texts}
    pairs = [(query_id, document) for query_id in sorted(found) for document in found[query_id]]
    asked = [(texts[query_id], document) for query_id, document in pairs]
    documents = read_as(settings["documents"], collection.documents, asked)
    places = _places(collection, settings, model[1], texts)
    given = (
        Text((document, query_id), text, texts[query_id])
        for (query_id, document), text in zip(pairs, documents, strict=True)
    )
    shares = _shares(pairs, given, settings, model, tokenizer, device) if pairs else {}
    return reorder(found, {pair: shares[pair][places[pair[0]]] for pair in pairs})


def _places(
    collection: Collection, settings: Mapping[str, Any], heads: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
) -> dict[str, int]:  # fmt: skip
    """{query: which of the head's answers counts for it}; `BadInput` where the head has no such answer."""
    if settings["head"] not in heads:
        what = f"the classifier has no head {settings['head']!r}, only {', '.join(heads)}"
        raise BadInput(what, where="rerankers")
    answers, found = list(heads[settings["head"]]), {}
    for query_id in queries:
        value = collection.queries[query_id][settings["by"]]
        answer = settings["answers"].get(value, value)
        if answer not in answers:
            what = f"{answer!r} is none of the answers {', '.join(answers)}"
            raise BadInput(what, where=f"query {query_id}", do="name it in the reranker's answers")
        found[query_id] = answers.index(answer)
    return found


def _shares(
    pairs: Sequence[Pair], given: Any, settings: Mapping[str, Any],
    model: tuple[MultiHead, Mapping[str, Sequence[str]]], tokenizer: str, device: torch.device,
) -> dict[Pair, list[float]]:  # fmt: skip
    """{pair: the probability of each of the head's answers}."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "tokens.parquet")
        tokenise(given, tokenizer, settings["max_length"], path)
        tokens = read_tokens(path)
    rows = [
        {"example_id": str(at), "text_id": document, "pair_id": query_id}
        for at, (query_id, document) in enumerate(pairs)
    ]
    classifier, heads = model
    read = read_heads(classifier, list(heads), {settings["head"]: rows}, tokens, device)
    return {pairs[int(row["example_id"])]: row["probabilities"] for row in read}
