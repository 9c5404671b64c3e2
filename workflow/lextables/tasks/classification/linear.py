"""Classification by linear models alone: what anyone can train in minutes, without a GPU.

For each answer of each head a logistic regression against the rest.  What says most about the answer counts
most from the start (`models.linear.fit_weighed`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from lextables.models import linear
from lextables.models.linear import Linear, probabilities
from lextables.models.word_runs import standing_in
from lextables.pipeline.dataset import Row, read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import (
    Key,
    View,
    by_head,
    check_labels,
    key_of,
    learnt_from,
    of_splits,
    shown,
)
from lextables.tasks.classification.sampling import subset
from lextables.tasks.classification.schema import PREDICTIONS, READINGS
from lextables.tasks.classification.texts import Text, texts_of
from lextables.tasks.classification.vectors import read_vectors
from lextables.tasks.classification.views import Sight, Vectors, paired, rarity, seen, sight

WEIGHTS = "linear.npz"
RARE = 0.1  # of a head's examples; where that is fewer than the least, so many texts are enough for a word
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Head:
    """A head's model: the ``columns`` of words that it reads, and weights for them and then for numbers.

    It has an output for each of its ``answers``, or, of two that exclude each other, for the second alone.
    """

    answers: int
    columns: np.ndarray
    model: Linear

    def logits(self, known: Sight, rows: np.ndarray) -> np.ndarray:
        """Return the logit of each answer for these ``rows`` of what is known, float64 (rows, answers)."""
        words = chosen(known.words[rows], self.columns)
        weights = self.model.weights.astype(np.float64)
        found = words @ weights[: words.shape[1]] + known.numbers(rows) @ weights[words.shape[1] :]
        found = np.asarray(found) + self.model.intercept
        return found if found.shape[1] == self.answers else np.hstack([-found, found])


@dataclass(frozen=True)
class Classifier:
    """The models of all heads, and what a pair's words are weighed by (`sight.rarity`)."""

    heads: Mapping[str, Head]
    rare: np.ndarray


def chosen(words: csr_matrix, columns: np.ndarray) -> csr_matrix:
    """Return these columns of words, float64, rows of length one."""
    found = words[:, columns].astype(np.float64)
    return normalize(found) if len(columns) else found


def fit(known: Sight, rows: np.ndarray, right: np.ndarray, settings: Settings) -> Head:
    """Return the model of one head.

    ``rows`` (examples,) are the places of its examples in what is known, ``right`` bool (examples, answers).
    ``settings`` as in `plan.LinearSettings`, with ``features`` and ``multi_label``.
    """
    least = min(settings["least"], max(1, int(RARE * len(rows))))
    columns = np.flatnonzero(standing_in(known.words[rows]) >= least).astype(np.int32)
    words, numbers = chosen(known.words[rows], columns), known.numbers(rows)
    # A block of numbers has the length of a text's words, about one, times what it is to count.
    counts = [settings["numbers"] / np.sqrt(width) for width in known.columns for _ in range(width)]
    mean, scale = numbers.mean(axis=0), numbers.std(axis=0)
    scale[scale < 1e-6] = np.inf  # what is the same throughout says nothing
    scale /= counts
    options = {"penalty": settings["penalty"][settings["features"]], "smoothing": settings["smoothing"]}
    answers = right.shape[1]
    asked = [1] if answers == 2 and not settings["multi_label"] else range(answers)
    models = [
        linear.fit_weighed(words, (numbers - mean) / scale, right[:, answer], **options) for answer in asked
    ]
    weights = np.hstack([model.weights for model in models])
    weights[len(columns) :] /= scale[:, None]
    intercept = np.concatenate([model.intercept for model in models]) - mean @ weights[len(columns) :]
    return Head(answers, columns, Linear(weights.astype(np.float32), intercept))


def shares(logits: np.ndarray, *, multi_label: bool) -> np.ndarray:
    """Return the probability of each answer, shape as ``logits``: of one right answer they add up to one."""
    found = probabilities(logits)
    return found if multi_label else found / found.sum(axis=1, keepdims=True)


def learn(
    texts: Sequence[Text],
    training: Mapping[str, Sequence[Row]],
    answers: Mapping[str, int],
    settings: Settings,
    vectors: Vectors | None = None,
    threads: int = 1,
) -> Classifier:
    """Return the models of the heads that have an example; the same whatever the ``threads``.

    ``training`` are each head's labelled examples (`examples.by_head`), ``answers`` how many each head has.
    """
    sides = seen(texts, settings["sides"], pairs=paired(texts, settings["sides"]))
    rare = rarity(sides)
    known = sight(sides, **_seen_by(settings), rare=rare, vectors=vectors)
    place = {text.key: at for at, text in enumerate(texts)}

    def one(head: str) -> Head:
        rows = training[head]
        right = np.zeros((len(rows), answers[head]), dtype=bool)
        for at, row in enumerate(rows):
            right[at, list(row["labels"])] = True
        return fit(known, _places(rows, place), right, settings)

    heads = sorted(head for head, rows in training.items() if rows)
    # Sums of several threads are not the same to the bit.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        return Classifier(dict(zip(heads, pool.map(one, heads), strict=True)), rare)


def predict(
    model: Classifier,
    texts: Sequence[Text],
    asked: Mapping[str, Sequence[Row]],
    settings: Settings,
    vectors: Vectors | None = None,
) -> list[Row]:
    """Return the rows of `schema.PREDICTIONS` of heads that the model has, sorted."""
    sides = seen(texts, settings["sides"], pairs=len(model.rare) > 0)
    known = sight(sides, **_seen_by(settings), rare=model.rare, vectors=vectors)
    place, found = {text.key: at for at, text in enumerate(texts)}, []
    with threadpool_limits(1):
        for head, rows in sorted(asked.items()):
            if not rows or head not in model.heads:
                continue
            logits = model.heads[head].logits(known, _places(rows, place))
            given = shares(logits, multi_label=settings["multi_label"])
            found += [
                {
                    "head_id": head,
                    "example_id": row["example_id"],
                    "logits": of_row.tolist(),
                    "probabilities": share.tolist(),
                }
                for row, of_row, share in zip(rows, logits, given, strict=True)
            ]
    return found


def _seen_by(settings: Settings) -> dict[str, Any]:
    return {name: settings[name] for name in ("longest", "features")}


def _places(rows: Iterable[Row], place: Mapping[Key, int]) -> np.ndarray:
    return np.array([place[key_of(row)] for row in rows], dtype=np.int64)


# The files of a run.


def train(
    files: Sequence[str | Path],
    vectors: Sequence[str | Path],
    final: Sequence[str],
    settings: Settings,
    threads: int,
    output: str | Path,
) -> dict[str, Any]:
    """Learn from the examples of the splits ``final``, save to the folder ``output``, return the record.

    ``files`` are the tables of examples, heads and texts; ``vectors`` that of `vectors.VECTORS`, or none.
    Raises `BadInput` for rows that do not fit, or where there is nothing to learn from.
    """
    examples, heads, texts = files
    answers = {row["head_id"]: len(row["answers"]) for row in read(heads)}
    answers = {head: size for head, size in answers.items() if head in (settings["only"] or answers)}
    rows = list(_asked(learnt_from(read(examples), final, settings["where"]), settings, settings["view"]))
    several = settings["multi_label"]
    if not rows:
        raise BadInput(f"no example is in {' or '.join(final)}", where="examples", do="check the splits")
    check_labels(rows, answers, several)
    training = by_head(
        subset(rows, settings["percent"] / 100, 0, multi_label=several), answers, labelled=True
    )
    given = _texts_of(training, examples, texts, settings["view"])
    model = learn(given, training, answers, settings, _vectors(vectors), threads)
    save(model, Path(output) / WEIGHTS)
    return {
        "heads": len(model.heads),
        "training_examples": sum(map(len, training.values())),
        "weights": sum(head.model.weights.size for head in model.heads.values()),
    }


def read_examples(
    files: Sequence[str | Path],
    vectors: Sequence[str | Path],
    test: Sequence[str],
    settings: Settings,
    weights: str | Path,
    output: str | Path,
) -> dict[str, Any]:
    """Write what the models in ``weights`` make of the examples of the splits ``test``; return the record.

    Examples of heads that were not learnt are left out and counted.
    """
    rows, left = _read(files, _vectors(vectors), test, settings, weights, None)
    write(PREDICTIONS, rows, output)
    return {"heads_left_out": left}


def read_views(
    files: Sequence[str | Path],
    vectors: Sequence[str | Path],
    test: Sequence[str],
    settings: Settings,
    weights: Sequence[str | Path],
    output: str | Path,
) -> dict[str, Any]:
    """The same of a task with views: `READINGS` under each of the settings' ``readings``.

    ``weights`` are those of the trainings, of which a reading names its own by place (``source``).
    """
    known, found, left = _vectors(vectors), [], {}
    for reading in sorted(settings["readings"], key=itemgetter("condition")):
        under = reading["condition"]
        source = weights[reading["source"]]
        rows, left[under] = _read(files, known, test, settings, source, reading["view"])
        found += [{"condition": under, **row} for row in rows]
    write(READINGS, found, output)
    return {"heads_left_out": left}


def _read(
    files: Sequence[str | Path],
    vectors: Vectors | None,
    test: Sequence[str],
    settings: Settings,
    weights: str | Path,
    view: View | None,
) -> tuple[list[Row], int]:
    """The predictions under a view, and how many heads that are asked were not learnt."""
    examples, heads, texts = files
    model = load(Path(weights) / WEIGHTS)
    asked = by_head(
        _asked(of_splits(read(examples), test), settings, view), [row["head_id"] for row in read(heads)]
    )
    learnt = {head: rows for head, rows in asked.items() if head in model.heads}
    given = _texts_of(learnt, examples, texts, view)
    left = sum(bool(rows) for head, rows in asked.items() if head not in learnt)
    return predict(model, given, learnt, settings, vectors), left


def _asked(rows: Iterable[Row], settings: Settings, view: View | None) -> Iterator[Row]:
    """The examples of the heads that the settings name, as a view shows them."""
    return (row for row in shown(rows, view) if row["head_id"] in (settings["only"] or (row["head_id"],)))


def _texts_of(
    rows: Mapping[str, Sequence[Row]], examples: str | Path, texts: str | Path, view: View | None
) -> list[Text]:
    """The texts of these examples; `BadInput` for one that is not there, or is empty."""
    wanted = {key_of(row): row["example_id"] for those in rows.values() for row in those}
    found = [text for text in texts_of(examples, texts, [view] if view else ()) if text.key in wanted]
    if missing := sorted(wanted.keys() - {text.key for text in found}):
        raise BadInput(f"there is no text {missing[0][0]!r}", where=f"example {wanted[missing[0]]}")
    for text in found:
        for text_id, content in zip(text.key, (text.text, text.second), strict=True):
            if content is not None and not content.strip():
                raise BadInput("the text is empty", where=f"text {text_id}")
    return found


def _vectors(path: Sequence[str | Path]) -> Vectors | None:
    return read_vectors(path[0]) if path else None


def save(model: Classifier, path: str | Path) -> None:
    """Write the models to ``path`` (.npz) as plain arrays and names."""
    arrays = {"rare": model.rare, "answers": np.array([head.answers for head in model.heads.values()])}
    for number, head in enumerate(model.heads.values()):
        arrays |= {f"columns_{number}": head.columns, f"weights_{number}": head.model.weights}
        arrays |= {f"intercept_{number}": head.model.intercept}
    linear.save(arrays, {"heads": list(model.heads)}, path)


def load(path: str | Path) -> Classifier:
    """Read what `save` wrote; nothing in the file is run."""
    arrays, names = linear.load(path, ("heads",))
    heads = {
        name: Head(
            int(arrays["answers"][number]),
            arrays[f"columns_{number}"],
            Linear(arrays[f"weights_{number}"], arrays[f"intercept_{number}"]),
        )
        for number, name in enumerate(names["heads"])
    }
    return Classifier(heads, arrays["rare"])
