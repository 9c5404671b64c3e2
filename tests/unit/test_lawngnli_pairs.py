"""Model inputs for LawngNLI's examples: five texts per example, for two heads."""

from dataclasses import replace

import pytest

from helpers.opinion_rows import example, long_premise
from lextables.models.okapi import Paragraphs
from lextables.papers.lawngnli.dataset.annotations import pair_name
from lextables.papers.lawngnli.dataset.examples import EXAMPLES
from lextables.papers.lawngnli.dataset.pairs import write_pairs
from lextables.papers.lawngnli.premises.long_premises import LONG_PREMISES
from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput

RENT, NO_RENT = "The tenant owes the rent.", "The tenant does not owe the rent."
SHORT = (
    "The rent was due.\nCosts follow.\nRain fell.\nThe court sat.\nHe left.\nSo held."
)
# Two opinions with more than five paragraphs, and a shorter one.
MATTERS = "\n".join(f"Matter {number} is apart." for number in range(7))
OPINIONS = {
    1: f"The tenant owes the rent.\n{MATTERS}\nEnd.",
    2: "One paragraph.\nAnother.",
    3: "\n".join(f"The rent of year {number} was paid, tenant." for number in range(9)),
}
CLOSING = {1: 2, 2: 1, 3: 9}
TOKENS = {1: 1000, 2: 300, 3: 5000}
FIELDS = (
    "example_id is_twin cited_case_id split analysis label negated fault hypothesis"
)
ROWS = [
    ("a", False, 1, "train", True, "entail", False, None, RENT),
    ("a", True, 1, "train", True, "contradict", True, None, NO_RENT),
    ("b", False, 2, "train", True, "neutral", True, "overlap", NO_RENT),
    ("b", True, 2, "train", True, "neutral", False, "overlap", RENT),
    ("c", False, 3, "train", False, "contradict", True, None, "Nothing is owed."),
    ("d", False, 1, "test", True, "entail", True, None, NO_RENT),
    ("e", False, 3, "test", False, "entail", True, None, RENT),
    ("f", False, 2, "val", True, "neutral", False, None, RENT),
]


MADE = [
    example("", 0, "")
    | dict(zip(FIELDS.split(), row, strict=True))
    | {"short_premise": SHORT}
    for row in ROWS
]
TEXT_COLUMNS = ("short", "short_bm25", "long", "long_bm25", "hypothesis")


def opinions(*cases):
    return [
        long_premise(case, OPINIONS[case], TOKENS[case], CLOSING[case])
        for case in cases
    ]


@pytest.fixture
def written(tmp_path):
    """Return a function that writes the model inputs and returns the files of pairs,
    heads and texts.
    """

    def write_all(rows=MADE, cases=(1, 2, 3), name="out"):
        folder = tmp_path / name
        folder.mkdir()
        tables = ("given", "long", "examples", "heads", "texts")
        given, long, *files = [folder / f"{table}.parquet" for table in tables]
        # The examples may have any order.
        write(replace(EXAMPLES, ordered=False), rows, given)
        write(LONG_PREMISES, opinions(*cases), long)
        write_pairs(given, long, *files)
        return files

    return write_all


@pytest.fixture
def pairs(written):
    """Return {example_id: its row} with texts instead of text ids."""
    pairs, _, texts = written()
    said = {row["text_id"]: row["text"] for row in read(texts)}
    found = {row["example_id"]: row for row in read(pairs)}
    for row in found.values():
        row.update((name, said[row[name]]) for name in TEXT_COLUMNS)
    return found


def test_each_example_has_five_texts(pairs):
    row = pairs["a:nli"]
    assert (row["hypothesis"], row["short"]) == (RENT, SHORT)
    # The least relevant of six paragraphs is removed; the others keep their order.
    assert row["short_bm25"] == Paragraphs(SHORT).best(RENT)
    assert row["short_bm25"].startswith("The rent was due.\n")
    assert row["short_bm25"].count("\n") == 4
    # The closing paragraphs are repeated before the opinion, as in A.1.9.
    assert row["long"] == f"Matter 6 is apart.\nEnd.\n{OPINIONS[1]}"
    assert row["long_bm25"] == Paragraphs(OPINIONS[1]).best(RENT)
    assert row["long_bm25"].startswith("The tenant owes the rent.\n")


def test_long_premises_are_filtered_without_the_repeated_closing_paragraphs(pairs):
    # The premise contains each of nine paragraphs twice; the filtered premise contains
    # no repeats.
    row = pairs["e:nli"]
    assert row["long"] == f"{OPINIONS[3]}\n{OPINIONS[3]}"
    kept = row["long_bm25"].split("\n")
    assert len(kept) == len(set(kept)) == 5
    assert row["long_bm25"] == Paragraphs(OPINIONS[3]).best(RENT)
    # A premise with few paragraphs is not changed.
    assert pairs["f:nli"]["long_bm25"] == OPINIONS[2]
    assert pairs["f:nli"]["long"] == f"Another.\n{OPINIONS[2]}"


def test_twins_have_equal_premises_and_different_hypotheses(pairs):
    one = pairs["a:nli"]
    twin = pairs["a:twin:nli"]
    for name in ("short", "long", "premise", "split"):
        assert one[name] == twin[name]
    assert (one["hypothesis"], twin["hypothesis"]) == (RENT, NO_RENT)
    assert (one["example"], twin["example"]) == ("a", "a:twin")
    for row, hypothesis in ((one, RENT), (twin, NO_RENT)):
        assert row["reading"] == pair_name(hypothesis, SHORT)
    assert one["reading"] == pairs["a:entailment:2"]["reading"]
    assert (one["premise"], pairs["c:nli"]["premise"]) == ("1", "3")


def test_each_text_is_stored_once_in_the_order_of_the_premises(written):
    pairs, _, texts = written()
    of_texts = [(row["text_id"], row["text"]) for row in read(texts)]
    ids, texts = zip(*of_texts, strict=True)
    assert len(ids) == len(set(ids)) == len(set(texts))
    places = []
    for case, text in OPINIONS.items():
        closing = text.split("\n")[-CLOSING[case] :]
        places.append(texts.index("\n".join([*closing, text])))
    assert places == sorted(places)
    used = set()
    for row in read(pairs):
        used.update(row[name] for name in TEXT_COLUMNS)
    assert used == set(ids)


def test_there_are_two_heads_and_entail_occurs_twice_with_two_labels(written, pairs):
    assert list(read(written(name="heads")[1])) == [
        {"head_id": "entailment", "answers": ["entail", "not entail"]},
        {"head_id": "nli", "answers": ["entail", "neutral", "contradict"]},
    ]
    expected = {}
    for name, is_twin, *_, label, _, _, _ in ROWS:
        example = name + ":twin" * is_twin
        index = ("entail", "neutral", "contradict").index(label)
        expected[f"{example}:nli"] = "nli", index
        expected[f"{example}:entailment:1"] = "entailment", int(index > 0)
        if index == 0:
            expected[f"{example}:entailment:2"] = "entailment", 0
    found = {name: (row["head_id"], row["label"]) for name, row in pairs.items()}
    assert found == expected
    assert len(expected) == 8 + 8 + 3


def flagged(pairs, name):
    return {row["example"] for row in pairs.values() if row[name]}


def test_negation_is_flagged_in_the_analysis_subset_and_difficulty_everywhere(pairs):
    assert flagged(pairs, "analysis") == {"a", "a:twin", "b", "b:twin", "d", "f"}
    # `c` and `e` are negated, but their premises are too long for the subset.
    assert flagged(pairs, "negated") == {"a:twin", "b", "d"}
    assert flagged(pairs, "difficult") == {"a", "a:twin", "c", "d", "e", "f"}
    assert {pairs[f"{name}:nli"]["split"] for name in "de"} == {"test"}


def test_above_median_uses_the_median_of_the_analysis_training_examples(written, pairs):
    # The median of 1000, 1000, 300 and 300 tokens is 650; the longer premise of `c` is
    # not in the subset.
    assert flagged(pairs, "above_median") == {"a", "a:twin", "d"}
    # With the premises of these examples for testing it would be 1000.
    more = [MADE[5] | {"example_id": name} for name in "gh"]
    with_more, _, _ = written([*MADE, *more], name="more")
    above = {row["example"] for row in read(with_more) if row["above_median"]}
    assert above == {"a", "a:twin", "d", "g", "h"}
    # The median of 1000, 1000 and 300 is 1000; premises of 1000 tokens are not above it
    # in any split.
    fewer, _, _ = written([*MADE[:3], *MADE[4:]], name="fewer")
    assert not any(row["above_median"] for row in read(fewer))


def test_the_order_of_examples_does_not_change_the_files(written):
    first = [path.read_bytes() for path in written()]
    again = written(MADE[::-1], name="reversed")
    assert [path.read_bytes() for path in again] == first


@pytest.mark.parametrize(("cases", "missing"), [((1, 3), 2), ((1, 2), 3), ((3,), 1)])
def test_a_missing_long_premise_raises_an_error_that_names_the_case(
    written, cases, missing
):
    sentence = rf"long_premises: there is no opinion of case {missing}, the premise of the example [a-f]\."
    with pytest.raises(BadInput, match=sentence):
        written(cases=cases)
