"""Selection of the windows to read, for machines that cannot read them all.

A linear model for each category, over the words of a window, predicts whether it
contains an answer; a question reads only the most probable windows.  The papers read
every window: this saves time on machines without a GPU and is recorded with the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier

from lextables.pipeline.atomic import replacing
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import damage_named
from lextables.tasks.spans.windows import Windows, open_windows, read_tokens

MAX_TERMS = 100_000


@dataclass(frozen=True)
class Ranker:
    """Words and word pairs, their idf, and the weights of each category.

    ``idf`` is float32 (terms,), ``weights`` float32 (categories, terms).
    """

    terms: tuple[str, ...]
    idf: np.ndarray
    categories: tuple[str, ...]
    weights: np.ndarray


@dataclass(frozen=True)
class Passages:
    """The distinct window texts of a folder.

    The windows of a contract that start at the same token differ only in the space that
    their questions leave; they share the text of the longest.  ``passage`` is the index
    of each window's text.
    """

    windows: Windows
    texts: tuple[str, ...]
    passage: np.ndarray


def passages(folder: str | Path, texts: Mapping[str, str]) -> Passages:
    """Return the window texts of a folder of features.

    ``texts`` maps contracts to texts.
    """
    windows = open_windows(folder)
    tokens = read_tokens(folder)
    # A key is the contract and the first token.
    span = int(windows.token_from.max(initial=0)) + 1
    keys = windows.contract.astype(np.int64) * span + windows.token_from
    distinct, passage = np.unique(keys, return_inverse=True)
    contracts, firsts = np.divmod(distinct, span)
    stops = np.zeros(len(distinct), dtype=np.int64)
    np.maximum.at(stops, passage, windows.token_to)
    passage_texts = []
    for contract, first, stop in zip(contracts, firsts, stops, strict=True):
        name = windows.contracts[contract]
        contract_tokens = tokens[name]
        start = contract_tokens.starts[first]
        end = contract_tokens.ends[stop - 1]
        passage_texts.append(texts[name][start:end])
    return Passages(windows, tuple(passage_texts), passage)


def answered(passages: Passages) -> dict[str, np.ndarray]:
    """Return {category: which passages have a complete answer, bool (passages,)}."""
    windows = passages.windows
    has_answer = windows.start_positions > 0
    labels = {}
    for index, category in enumerate(windows.categories):
        is_own = windows.category == index
        answered_passages = passages.passage[is_own & has_answer]
        is_answered = np.zeros(len(passages.texts), dtype=bool)
        is_answered[answered_passages] = True
        labels[category] = is_answered
    return labels


def fit(texts: Sequence[str], labels: Mapping[str, np.ndarray]) -> Ranker:
    """Return a ranker trained on passages.

    ``labels`` states for each category which of them contain an answer, bool
    (passages,).  The features are TF-IDF, with sublinear counts, of the `MAX_TERMS`
    most frequent words and word pairs in at least two passages.  Each category has a
    class-balanced logistic regression.  If all passages of a category contain an
    answer, or none, its weights are 0 and its windows keep their order.  Raises
    `BadInput` if no word is in two passages.
    """
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2),
        sublinear_tf=True,
        min_df=2,
        max_features=MAX_TERMS,
        dtype=np.float32,
    )
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise BadInput(
            f"no word is in two of the {len(texts)} passages",
            where="window ranking",
            do="give more text",
        ) from error
    categories = tuple(sorted(labels))
    weights = np.zeros((len(categories), counts.shape[1]), dtype=np.float32)
    for row, category in zip(weights, categories, strict=True):
        has_answer = labels[category]
        if has_answer.any() and not has_answer.all():
            model = SGDClassifier(
                loss="log_loss",
                alpha=1e-5,
                max_iter=20,
                tol=None,
                class_weight="balanced",
                random_state=0,
            )
            row[:] = model.fit(counts, has_answer).coef_[0]
    names = tuple(vectorizer.get_feature_names_out().tolist())
    return Ranker(names, vectorizer.idf_.astype(np.float32), categories, weights)


def scores(ranker: Ranker, texts: Sequence[str]) -> np.ndarray:
    """Return scores, float32 (texts, categories): higher if an answer is more probable.

    They are comparable within a category only.
    """
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32, vocabulary=ranker.terms
    )
    vectorizer.idf_ = ranker.idf
    features = csr_matrix(vectorizer.transform(texts))
    return np.asarray(features @ ranker.weights.T, dtype=np.float32)


def choose(
    ranker: Ranker,
    folder: str | Path,
    texts: Mapping[str, str],
    windows_per_question: int,
) -> np.ndarray:
    """Return the windows that each question reads, as sorted indices (int64).

    They are the ``windows_per_question`` windows of `open_windows` with the highest
    scores for its category; ties go to earlier ones.  Raises `BadInput` for a category
    that is unknown to the ranker.
    """
    own = passages(folder, texts)
    windows = own.windows
    unknown = sorted(set(windows.categories) - set(ranker.categories))
    if unknown:
        raise BadInput(
            f"the ranker was not trained on the category {unknown[0]!r}",
            where=str(folder),
            do="train it on examples of that category",
        )
    columns = list(map(ranker.categories.index, windows.categories))
    column = np.array(columns, dtype=np.int64)[windows.category]
    window_scores = scores(ranker, own.texts)[own.passage, column]
    order = np.lexsort((windows.window, -window_scores, windows.example))
    example = windows.example[order]
    first = np.searchsorted(example, example)
    rank = np.arange(len(order)) - first
    return np.sort(order[rank < windows_per_question])


def save(ranker: Ranker, path: str | Path) -> None:
    """Write a ranker to ``path`` (.npz) as arrays, atomically."""
    with replacing(path) as temporary, temporary.open("wb") as out:
        np.savez_compressed(
            out,
            terms=_packed(ranker.terms),
            idf=ranker.idf,
            categories=_packed(ranker.categories),
            weights=ranker.weights,
        )


def load(path: str | Path) -> Ranker:
    """Read a ranker written by `save`; without pickles."""
    with damage_named(path), np.load(path, allow_pickle=False) as arrays:
        return Ranker(
            _unpacked(arrays["terms"]),
            arrays["idf"],
            _unpacked(arrays["categories"]),
            arrays["weights"],
        )


def _packed(names: Sequence[str]) -> np.ndarray:
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


def _unpacked(names: np.ndarray) -> tuple[str, ...]:
    return tuple(names.tobytes().decode().split("\n"))
