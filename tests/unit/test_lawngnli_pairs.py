"""Model inputs for LawngNLI's examples: five texts per example, for two heads."""

from dataclasses import replace

import pytest

from lextables.models.okapi import Paragraphs
from lextables.papers.lawngnli.dataset.annotations import pair_name
from lextables.papers.lawngnli.dataset.examples import EXAMPLES
from lextables.papers.lawngnli.dataset.pairs import write_pairs
from lextables.papers.lawngnli.premises.long_premises import LONG_PREMISES
from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput
from opinion_rows import example

RENT, NO_RENT = "The tenant owes the rent.", "The tenant does not owe the rent."
SHORT = "\n".join(
    [
        "The rent was due.",
        "Costs follow.",
        "Rain fell.",
        "The court sat.",
        "He left.",
        "So held.",
    ]
)
# Two opinions with more than five paragraphs, and a shorter one.
OPINIONS = {
    1: "\n".join(
        [
            "The tenant owes the rent.",
            *(f"Matter {number} is apart." for number in range(7)),
            "End.",
        ]
    ),
    2: "One paragraph.\nAnother.",
    3: "\n".join(f"The rent of year {number} was paid, tenant." for number in range(9)),
}
CLOSING = {1: 2, 2: 1, 3: 9}
TOKENS = {1: 1000, 2: 300, 3: 5000}
# example, twin, case, split, analysis, label, negated, fault, hypothesis
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


def made(rows=ROWS):
    return [
        example(
            name,
            case,
            hypothesis,
            label,
            is_twin=twin,
            split=split,
            analysis=analysis,
            negated=negated,
            fault=fault,
            short_premise=SHORT,
        )
        for name, twin, case, split, analysis, label, negated, fault, hypothesis in rows
    ]


def opinions(*cases):
    return [
        {
            "case_id": case,
            "opinion_id": str(case),
            "original": "x",
            "text": OPINIONS[case],
        }
        | {"tokens": TOKENS[case], "closing_paragraphs": CLOSING[case]}
        for case in cases or OPINIONS
    ]


@pytest.fixture
def written(tmp_path):
    """Return a function that writes the model inputs and returns the files of pairs, heads and texts."""

    def write_all(rows=None, premises=None, name="out"):
        folder = tmp_path / name
        folder.mkdir()
        # The examples may have any order.
        write(
            replace(EXAMPLES, ordered=False),
            made() if rows is None else rows,
            folder / "given.parquet",
        )
        write(
            LONG_PREMISES,
            opinions() if premises is None else premises,
            folder / "long.parquet",
        )
        files = [
            folder / f"{table}.parquet" for table in ("examples", "heads", "texts")
        ]
        write_pairs(folder / "given.parquet", folder / "long.parquet", *files)
        return files

    return write_all


@pytest.fixture
def pairs(written):
    """Return {example_id: its row} with texts instead of text ids."""
    pairs, _, texts = written()
    said = {row["text_id"]: row["text"] for row in read(texts)}
    columns = ("short", "short_bm25", "long", "long_bm25", "hypothesis")
    return {
        row["example_id"]: row | {name: said[row[name]] for name in columns}
        for row in read(pairs)
    }


def test_each_example_has_five_texts(pairs):
    row = pairs["a:nli"]
    assert (row["hypothesis"], row["short"]) == (RENT, SHORT)
    # The least relevant of six paragraphs is removed; the others keep their order.
    assert row["short_bm25"] == Paragraphs(SHORT).best(RENT) != SHORT
    assert (
        row["short_bm25"].startswith("The rent was due.\n")
        and row["short_bm25"].count("\n") == 4
    )
    # The closing paragraphs are repeated before the opinion, as in A.1.9.
    assert row["long"] == f"Matter 6 is apart.\nEnd.\n{OPINIONS[1]}"
    assert row["long_bm25"] == Paragraphs(OPINIONS[1]).best(RENT)
    assert row["long_bm25"].startswith("The tenant owes the rent.\n")


def test_long_premises_are_filtered_without_the_repeated_closing_paragraphs(pairs):
    # The premise contains each of nine paragraphs twice; the filtered premise contains no repeats.
    row = pairs["e:nli"]
    assert row["long"] == f"{OPINIONS[3]}\n{OPINIONS[3]}"
    kept = row["long_bm25"].split("\n")
    assert len(kept) == len(set(kept)) == 5 and row["long_bm25"] == Paragraphs(
        OPINIONS[3]
    ).best(RENT)
    # A premise with few paragraphs is not changed.
    assert (
        pairs["f:nli"]["long_bm25"] == OPINIONS[2]
        and pairs["f:nli"]["long"] == f"Another.\n{OPINIONS[2]}"
    )


def test_twins_have_equal_premises_and_different_hypotheses(written):
    files = written()
    rows = {row["example_id"]: row for row in read(files[0])}
    one, twin = rows["a:nli"], rows["a:twin:nli"]
    for name in ("short", "long", "premise", "split"):
        assert one[name] == twin[name]
    assert one["hypothesis"] != twin["hypothesis"] and one["reading"] != twin["reading"]
    assert (one["example"], twin["example"]) == ("a", "a:twin")
    assert one["reading"] == pair_name(RENT, SHORT) == rows["a:entailment:2"]["reading"]
    assert (one["premise"], rows["c:nli"]["premise"]) == ("1", "3")


def test_each_text_is_stored_once_in_the_order_of_the_premises(written):
    files = written()
    ids = [row["text_id"] for row in read(files[2])]
    texts = [row["text"] for row in read(files[2])]
    assert len(ids) == len(set(ids)) == len(set(texts))
    longs = [
        "\n".join((*text.split("\n")[-CLOSING[case] :], text))
        for case, text in OPINIONS.items()
    ]
    places = [texts.index(text) for text in longs]
    assert places == sorted(places)
    columns = ("short", "short_bm25", "long", "long_bm25", "hypothesis")
    assert {row[name] for row in read(files[0]) for name in columns} == set(ids)


def test_there_are_two_heads_and_entail_occurs_twice_with_two_labels(written, pairs):
    assert list(read(written(name="heads")[1])) == [
        {"head_id": "entailment", "answers": ["entail", "not entail"]},
        {"head_id": "nli", "answers": ["entail", "neutral", "contradict"]},
    ]
    expected = set()
    for name, is_twin, *_, label, _, _, _ in ROWS:
        example = name + ":twin" * is_twin
        expected |= {
            (f"{example}:nli", "nli", ("entail", "neutral", "contradict").index(label))
        }
        times = (1, 2) if label == "entail" else (1,)
        expected |= {
            (f"{example}:entailment:{time}", "entailment", int(label != "entail"))
            for time in times
        }
    assert {
        (row["example_id"], row["head_id"], row["label"]) for row in pairs.values()
    } == expected
    assert len(expected) == 8 + 8 + 3
    # If each of the three labels has a third of the examples, the two labels are balanced.
    thirds = [pairs[f"{name}:nli"]["label"] for name in ("a", "b", "c")]
    two = [pairs[f"{name}:entailment:1"]["label"] for name in ("a", "b", "c")]
    assert sorted(thirds) == [0, 1, 2] and two.count(0) * 2 == two.count(1)


def flagged(pairs, name):
    return {row["example"] for row in pairs.values() if row[name]}


def test_negation_is_flagged_in_the_analysis_subset_and_difficulty_everywhere(pairs):
    assert flagged(pairs, "analysis") == {"a", "a:twin", "b", "b:twin", "d", "f"}
    # `c` and `e` are negated, but their premises are too long for the subset.
    assert flagged(pairs, "negated") == {"a:twin", "b", "d"}
    assert flagged(pairs, "difficult") == {"a", "a:twin", "c", "d", "e", "f"}
    assert {row["example"] for row in pairs.values() if row["split"] == "test"} == {
        "d",
        "e",
    }


def test_above_median_uses_the_median_of_the_analysis_training_examples(written, pairs):
    # The median of 1000, 1000, 300 and 300 tokens is 650; the longer premise of `c` is not in the subset.
    assert flagged(pairs, "above_median") == {"a", "a:twin", "d"}
    # The median of 1000, 1000 and 300 is 1000; premises of 1000 tokens are not above it in any split.
    fewer = [row for row in made() if row["example_id"] != "b" or not row["is_twin"]]
    assert not any(row["above_median"] for row in read(written(fewer, name="fewer")[0]))


def test_the_order_of_examples_does_not_change_the_files(written):
    first = [path.read_bytes() for path in written(name="first")]
    assert [path.read_bytes() for path in written(name="again")] == first
    assert [
        path.read_bytes() for path in written(made()[::-1], name="reversed")
    ] == first


@pytest.mark.parametrize(("cases", "missing"), [((1, 3), 2), ((1, 2), 3), ((3,), 1)])
def test_a_missing_long_premise_raises_an_error_that_names_the_case(
    written, cases, missing
):
    sentence = rf"long_premises: there is no opinion of case {missing}, the premise of the example [a-f]\."
    with pytest.raises(BadInput, match=sentence):
        written(premises=opinions(*cases))
