"""The linear baseline for classification, on short synthetic texts."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from lextables.models.linear import NEVER, fit_weighed, hashed_ngrams, overlap_shares
from lextables.pipeline.dataset import Column, Table, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification import examples as asked_of
from lextables.tasks.classification.examples import Text, check_test_size
from lextables.tasks.classification.linear import (
    NEGATION,
    LinearFiles,
    learn,
    linear_features,
    load,
    predict,
    read_views,
    save,
    sides_of,
    train,
)
from lextables.tasks.classification.schema import EXAMPLES, HEADS, PREDICTIONS, TEXTS
from lextables.tasks.classification.settings import ExampleSelection, LinearSettings
from lextables.tasks.classification.vectors import encode_texts, pieces, read_vectors

SETTINGS = LinearSettings(
    longest=2,
    least=2,
    smoothing=1.0,
    penalty={"words": 100, "vectors": 10, "both": 100},
    piece=4,
    numbers=0.3,
    features="words",
    sides="both",
    multi_label=False,
)


def settings(**changes):
    return SETTINGS.model_copy(update=changes)


def predicted(*given):
    return list(predict(*given))


FILLER = "the party shall at its own cost and in good time send all of them on".split()
COLOURS = ("red", "green", "blue")
PAIRED = Table(
    "examples",
    "",
    (*EXAMPLES.columns[:4], Column("pair_id", pa.string(), ""), EXAMPLES.columns[4]),
    ("example_id",),
)


def texts_about(labels, words=COLOURS, seed=0):
    """One text per label, which contains the label's word once among filler words."""
    rng = np.random.default_rng(seed)
    found = []
    for number, label in enumerate(labels):
        said = rng.permutation(FILLER).tolist()
        said.insert(int(rng.integers(len(said))), words[label])
        found.append(Text((f"t{number:03}", ""), " ".join(said)))
    return found


def rows_of(head, texts, labels):
    rows = []
    for text, label in zip(texts, labels, strict=True):
        row = {"example_id": f"{head}/{'/'.join(text.key)}", "head_id": head}
        row["text_id"], row["pair_id"] = text.key
        row["labels"] = label if isinstance(label, tuple) else (label,)
        rows.append(row)
    return rows


def learnt(texts, labels, given=SETTINGS, answers=3, vectors=None, training=40):
    """Train on the first texts; return the model, and its predictions and rows of the
    rest.
    """
    rows = rows_of("h", texts, labels)
    part, rest = {"h": rows[:training]}, rows[training:]
    model = learn(texts[:training], part, {"h": answers}, given, vectors)
    return model, predicted(model, texts[training:], {"h": rest}, given, vectors), rest


def labels_of(count, answers, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(count) % answers).tolist()


def right(predictions, rows):
    """Accuracy: the share of examples whose highest logit is that of the correct
    answer.
    """
    answers = {row["example_id"]: np.argmax(row["logits"]) for row in predictions}
    return np.mean([answers[row["example_id"]] == row["labels"][0] for row in rows])


@pytest.mark.parametrize("answers", [2, 3])
def test_a_head_learns_the_word_of_each_answer(answers):
    labels = labels_of(60, answers)
    _, found, rows = learnt(texts_about(labels), labels, answers=answers)
    assert right(found, rows) == 1
    for row in found:
        assert len(row["logits"]) == len(row["probabilities"]) == answers
        assert sum(row["probabilities"]) == pytest.approx(1)
        assert np.argmax(row["probabilities"]) == np.argmax(row["logits"])


def test_heads_are_trained_independently_with_any_number_of_threads():
    colours, answers = labels_of(60, 3), labels_of(60, 2, seed=1)
    texts = []
    for text, at in zip(texts_about(colours), answers, strict=True):
        texts.append(replace(text, text=text.text + (" yes", " no")[at]))
    rows = {"a": rows_of("a", texts, colours), "b": rows_of("b", texts, answers)}
    training = {"a": rows["a"][:40], "b": rows["b"][:40], "none": []}
    asked = {head: of_head[40:] for head, of_head in rows.items()}
    sizes = {"a": 3, "b": 2, "none": 2}
    found = {}
    for threads in (1, 2):
        model = learn(texts[:40], training, sizes, SETTINGS, threads=threads)
        found[threads] = predicted(model, texts[40:], asked, SETTINGS)
    assert found[1] == found[2]
    of_head = {"a": found[1][:20], "b": found[1][20:]}
    assert all(right(of_head[head], asked[head]) == 1 for head in ("a", "b"))
    # A head that is trained alone gives the same predictions.
    alone = learn(texts[:40], {"b": training["b"]}, sizes, SETTINGS)
    assert predicted(alone, texts[40:], {"b": asked["b"]}, SETTINGS) == of_head["b"]


def test_a_loaded_model_gives_identical_predictions(tmp_path):
    labels = labels_of(60, 3)
    texts = texts_about(labels)
    model, found, rows = learnt(texts, labels)
    save(model, tmp_path / "linear.npz")
    again = load(tmp_path / "linear.npz")
    assert predicted(again, texts[40:], {"h": rows}, SETTINGS) == found


def test_multi_label_answers_have_separate_probabilities():
    several = settings(multi_label=True)
    rng = np.random.default_rng(0)
    labels = [tuple(np.flatnonzero(rng.random(3) < 0.5).tolist()) for _ in range(80)]
    texts = []
    for at, those in enumerate(labels):
        words = [*rng.permutation(FILLER), *(COLOURS[one] for one in those)]
        texts.append(Text((f"t{at:03}", ""), " ".join(words)))
    _, found, rows = learnt(texts, labels, several, training=60)
    for row, asked in zip(found, rows, strict=True):
        chosen = np.flatnonzero(np.array(row["probabilities"]) > 0.5)
        assert tuple(chosen) == asked["labels"]


def test_a_head_trained_on_one_answer_always_predicts_it():
    for answers in (2, 3):
        _, found, _ = learnt(texts_about([0] * 9), [1] * 9, answers=answers, training=6)
        for row in found:
            assert row["logits"][1] == -NEVER and row["probabilities"][1] > 0.99


def pairs_about(count, seed=0):
    """Pairs whose second text repeats words of the first (label 1) or has other words
    (label 0).
    """
    rng = np.random.default_rng(seed)
    texts, labels = [], labels_of(count, 2, seed)
    for number, label in enumerate(labels):
        words, others = np.char.add(
            "word", rng.permutation(500)[:40].astype(str)
        ).reshape(2, 20)
        second = words[3:8] if label else others[3:8]
        key = f"a{number:03}", f"b{number:03}"
        texts.append(Text(key, " ".join(words), " ".join(second)))
    return texts, labels


def test_pairs_are_classified_by_the_overlap_of_their_texts():
    texts, labels = pairs_about(120)
    # One text of the pair is not enough to predict the label.
    for sides, least, most in (
        ("both", 0.95, 1),
        ("first", 0, 0.75),
        ("second", 0, 0.75),
    ):
        given = settings(sides=sides)
        _, found, rows = learnt(texts, labels, given, answers=2, training=80)
        assert least < right(found, rows) <= most


def test_only_the_selected_side_of_a_pair_is_used():
    texts, labels = pairs_about(30)
    hypothesis = settings(sides="second")
    model, found, rows = learnt(texts, labels, hypothesis, answers=2, training=20)
    changed = [replace(text, text="something else") for text in texts[20:]]
    assert predicted(model, changed, {"h": rows}, hypothesis) == found
    with pytest.raises(
        BadInput, match="the text has no second side; set sides to first or both"
    ):
        sides_of([Text(("t", ""), "alone")], "second", pairs=False)


def test_numeric_features_of_a_pair():
    first, second = "We do not sell red cars", "we sell blue cars"
    texts = [Text(("a", "b"), first, second), Text(("c", ""), "it stands alone", None)]
    sides = sides_of(texts, "both", pairs=True)
    rare = np.ones(2**20, dtype=np.float32)
    found = linear_features(sides, settings(longest=1), rare, None)
    (numbers,) = found.blocks
    # Shared words (3 of 4), bigrams (0 of 3) and weighted words, negations of each
    # text, and lengths.
    expected = [3 / 4, 0, 3 / 4, np.log(2), 0, np.log(7), np.log(5)]
    assert numbers[0] == pytest.approx(expected)
    assert numbers[1].tolist()[:3] == [0, 0, 0]
    found = NEGATION.findall("He didn’t, could not and NEVER fails; nothing known")
    assert found == "n’t not NEVER fails nothing".split()


def test_word_ngrams_are_binary_features():
    found = hashed_ngrams(["Red red car", "", "car red"], 2)
    assert found.dtype == np.float32 and set(found.data) == {1}
    # red, car, red red, red car; car, red, car red
    assert np.diff(found.indptr).tolist() == [4, 0, 3]
    same = [found[:1]] * 2
    assert overlap_shares(same, same, np.ones(found.shape[1])).tolist() == [[1] * 3]


def test_a_word_of_one_label_has_a_larger_weight_than_a_word_of_both():
    texts = ["both one", "both one", "both other", "both other"]
    words = hashed_ngrams(texts, 1, buckets=2**10)
    labels = np.array([True, True, False, False])
    model = fit_weighed(words, np.empty((4, 0)), labels, penalty=10, smoothing=1)
    asked = hashed_ngrams(["both", "one", "other"], 1, buckets=2**10)
    both, one, other = (asked @ model.weights)[:, 0]
    assert one > 0 > other and both == 0


def encode(those):
    """One unit vector per piece: counts of the colour words, and a small constant."""
    found = []
    for piece in those:
        vector = np.array([*map(piece.count, COLOURS), 0.1], dtype=np.float32)
        found.append(vector / np.linalg.norm(vector))
    return np.array(found)


@pytest.mark.parametrize("features", ["vectors", "both"])
def test_a_model_on_frozen_vectors_is_accurate_and_missing_vectors_raise(
    tmp_path, features
):
    labels = labels_of(60, 3)
    texts = texts_about(labels)
    assert encode_texts(texts, encode, 4, tmp_path / "vectors.parquet") == 60 * 5
    vectors = read_vectors(tmp_path / "vectors.parquet")
    assert vectors["t000"].shape == (5, 4) and vectors["t000"].dtype == np.float16
    given = settings(features=features)
    model, found, rows = learnt(texts, labels, given, vectors=vectors)
    assert right(found, rows) == 1
    del vectors["t041"]
    with pytest.raises(BadInput, match="text t041: the text has no vectors"):
        predicted(model, texts[41:], {"h": rows[1:]}, given, vectors)


def test_pair_features_are_vectors_product_difference_and_closest_piece(tmp_path):
    texts = [Text(("a", "b"), "red a a a blue a a a", "blue"), Text(("c", ""), "green")]
    encode_texts(texts, encode, 4, tmp_path / "vectors.parquet")
    vectors = read_vectors(tmp_path / "vectors.parquet")
    assert sorted(vectors) == ["a", "b", "c"]
    sides = sides_of(texts, "both", pairs=True)
    found = linear_features(sides, settings(features="vectors"), np.empty(0), vectors)
    block, closest = found.blocks
    first, second, product, difference = np.split(block[0], 4)
    assert np.linalg.norm(first) == pytest.approx(1) and second == pytest.approx(
        vectors["b"][0], abs=1e-3
    )
    assert product == pytest.approx(first * second) and difference == pytest.approx(
        np.abs(first - second)
    )
    assert closest[0, 0] == pytest.approx(1, abs=1e-3)
    assert not block[1].reshape(4, -1)[1].any()


def test_pieces_contain_all_words():
    assert pieces("one two\nthree  four five", 2) == ["one two", "three four", "five"]
    assert pieces(" ", 2) == [""]


@pytest.fixture
def files(tmp_path):
    """Write a data set and return the paths of its tables."""

    def make(rows, texts, heads=(("h", ["a", "b", "c"]),), table=EXAMPLES):
        stored = [{"text_id": key, "text": text} for key, text in texts.items()]
        answers = [{"head_id": head, "answers": names} for head, names in heads]
        paths = []
        for kind, content in ((table, rows), (HEADS, answers), (TEXTS, stored)):
            paths.append(tmp_path / f"{kind.name}.parquet")
            write(kind, content, paths[-1])
        return LinearFiles(*paths)

    return make


def example(number, label, split="train", head="h", **more):
    return {
        "example_id": f"{head}/{number:03}",
        "split": split,
        "head_id": head,
        "text_id": f"t{number:03}",
        "label": label,
    } | more


def test_training_saves_weights_and_reading_saves_predictions(tmp_path, files):
    labels = labels_of(60, 3)
    texts = {text.key[0]: text.text for text in texts_about(labels)}
    rows = []
    for number, label in enumerate(labels):
        rows.append(example(number, label, "train" if number < 40 else "test"))
    rows.append(example(41, 0, "test", head="unseen"))
    paths = files(rows, texts, [("h", ["a", "b", "c"]), ("unseen", ["a", "b"])])
    record = train(paths, ["train"], SETTINGS, 1, tmp_path / "weights")
    assert (record["heads"], record["training_examples"]) == (1, 40)
    half = train(paths, ["train"], settings(percent=50), 1, tmp_path / "half")
    assert half["training_examples"] == 21
    left_out = {}
    weights = [tmp_path / "weights"]
    found = list(read_views(paths, ["test"], SETTINGS, weights, left_out))
    assert left_out == {"": 1}
    assert set(found[0]) == {column.name for column in PREDICTIONS.columns}
    assert [row["example_id"] for row in found] == [f"h/{n:03}" for n in range(40, 60)]
    asked = asked_of.by_head(rows[40:60], ["h"], labelled=True)["h"]
    assert right(found, asked) == 1


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [example(0, 0, "test")],
            "examples: no example is in train or dev; check the splits",
        ),
        ([example(0, 7)], "example h/000: label 7 where head 'h' has 3 answers"),
        ([example(0, 0, head="x")], "example x/000: head 'x' is not among the heads"),
        ([example(8, 0)], "example h/008: there is no text 't008'"),
        ([example(1, 0)], "text t001: the text is empty"),
    ],
)
def test_inconsistent_tables_raise(tmp_path, files, rows, sentence):
    data = files(rows, {"t000": "red", "t001": " "})
    with pytest.raises(BadInput) as error:
        train(data, ["train", "dev"], SETTINGS, 1, tmp_path)
    assert str(error.value) == f"{sentence}."


def test_an_empty_second_text_raises(tmp_path, files):
    rows = [example(0, 0, pair_id="t001")]
    data = files(rows, {"t000": "red", "t001": ""}, table=PAIRED)
    with pytest.raises(BadInput, match="text t001: the text is empty"):
        train(data, ["train"], SETTINGS, 1, tmp_path)


@pytest.mark.parametrize(("count", "enough"), [(12, False), (100, True)])
def test_a_test_set_that_is_too_small_raises(count, enough):
    row = {"split": "test", "a": True}
    rows = [row | {"head_id": head} for head in ["nli", "other"] * count]
    settings = ExampleSelection(min_test=100, test=["test"], only=["nli"], where="a")
    if enough:
        check_test_size(rows, settings)
    else:
        with pytest.raises(BadInput, match=r"^12 test examples, fewer than 100\.$"):
            check_test_size(rows, settings)


def test_the_length_of_a_text_is_its_number_of_words_alone():
    sides = [[("a", "one two three"), ("b", "three one  two"), ("c", "one")]]
    length = settings(features="length", penalty={"length": 100})
    features = linear_features(sides, length, np.empty(0), None)
    (block,) = features.blocks
    assert features.words.shape == (3, 0)
    expected = [[np.log(4), np.log(4) ** 2]] * 2 + [[np.log(2), np.log(2) ** 2]]
    np.testing.assert_allclose(block, expected, rtol=1e-6)
