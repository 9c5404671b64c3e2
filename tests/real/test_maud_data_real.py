"""MAUD from the mirror: the rows of seven questions, the contracts, the authors' settings and the spans."""

from collections import Counter
from itertools import pairwise

import pytest

from lextables import ROOT
from lextables.papers.maud import constraints
from lextables.papers.maud.catalogue import read_author_settings, read_recorded
from lextables.papers.maud.raw import (
    contract_rows,
    read_catalogue,
    read_legalbench_rag,
    read_release,
)
from lextables.papers.packages import load
from registered import read, written

PAPER = load(ROOT / "resources/papers/maud.yaml")
SINGLE = (
    "basic_post_contract_v1",
    "basic_legal_berts_v1",
    "basic_bb_post_contract_800_v0",
)
SINGLE += ("basic_partial_post_contract_v1",)


@pytest.fixture(scope="module")
def maud(mirror):
    return mirror / "maud"


@pytest.fixture(scope="module")
def catalogue(maud):
    recorded = read_recorded(
        (ROOT / "resources/facts/maud_questions.yaml").read_bytes(), "facts", 92, 144
    )
    found, notes = read_catalogue(maud / "maud_v1.zip", recorded)
    assert notes == {"questions_from_the_record": 85, "answers_from_the_record": 0}
    return found


@pytest.fixture(scope="module")
def settings(maud, catalogue):
    single = [f"best_found_hps/{folder}/df_best_hps_spec_id.csv" for folder in SINGLE]
    multi = {
        "best_found_hps/multi_task.md": True,
        "best_found_hps/multi_task_no_abridged.md": False,
    }
    return read_author_settings(
        {name: (maud / name).read_bytes() for name in single},
        {
            name: ((maud / name).read_bytes(), abridged)
            for name, abridged in multi.items()
        },
        catalogue,
    )


@pytest.fixture(scope="module")
def release(maud, catalogue, settings):
    return read_release(maud / "maud_v1.zip", catalogue, settings.author_numbers)


@pytest.fixture(scope="module")
def extraction(maud, catalogue):
    return read_legalbench_rag(
        maud / "extraction_spans.json",
        maud / "maud_v1.zip",
        catalogue,
        PAPER.legalbench_queries,
    )


@pytest.mark.parametrize(
    ("name", "variant"), [("maud", "partial"), ("maud_extraction", "legalbench_rag")]
)
def test_the_mirror_has_the_registered_rows(mirror, tmp_path, name, variant):
    written("maud", name, tmp_path, read("maud", name, mirror), variant)


def test_the_authors_question_numbers_follow_the_order_of_the_catalogue(
    catalogue, settings
):
    """Numbers are table columns; they have a gap where a deal point's text is a column before its answers."""
    numbers = [
        int(settings.author_numbers[head.head_id].split(".")[0])
        for head in catalogue.heads
    ]
    assert settings.author_numbers["01"] == "3"
    by_category = {}
    for head, number in zip(catalogue.heads, numbers, strict=True):
        by_category.setdefault(head.question.category, []).append(
            (number, head.question.text_type)
        )
    for found in by_category.values():
        assert [number for number, _ in found] == sorted(number for number, _ in found)
        for (one, of_one), (two, of_two) in pairwise(found):
            assert of_one == of_two or two - one >= 2


def test_the_authors_settings_are_read(settings):
    rates = {
        model: {
            row["learning_rate"]
            for row in settings.hyperparameters
            if row["model"] == model
        }
        for model in ("roberta-base", "google/bigbird-roberta-base")
    }
    assert rates["roberta-base"] == {1e-5, 3e-5, 1e-4}
    # Appendix A.4 states 1e-5 and 1e-4 for BigBird; the released settings have these values.
    assert rates["google/bigbird-roberta-base"] == {5e-6, 1e-5, 5e-5}
    chosen = {
        (row["model"], row["abridged"]): (
            row["learning_rate"],
            row["epochs"],
            row["validation_aupr"],
        )
        for row in settings.multi_task_grid
        if row["chosen"]
    }
    assert chosen == {
        ("microsoft/deberta-v3-base", True): (1e-5, 6, 0.5231),
        ("nlpaueb/legal-bert-base-uncased", True): (1e-5, 6, 0.5733),
        ("roberta-base", True): (1e-5, 6, 0.5557),
        ("roberta-base", False): (1e-5, 6, 0.547749),
    }


def test_every_answer_occurs_in_the_test_split(release, catalogue):
    assert (
        constraints.undefined_in_test(
            constraints.answer_counts(release.examples, catalogue)
        )
        == []
    )


def test_some_contracts_and_texts_are_in_several_splits(release):
    notes = constraints.overlap_notes(constraints.split_overlap(release.examples))
    assert (notes["contracts_in_train_and_test"], notes["texts_in_train_and_test"]) == (
        103,
        73,
    )
    assert (
        notes["contracts_in_two_splits_of_one_head"],
        notes["texts_in_two_splits_of_one_head"],
    ) == (1, 0)


def test_all_contracts_except_one_have_a_text(maud, release):
    texts = {
        row["contract_id"]: row["text"] is not None
        for row in contract_rows(maud / "maud_v1.zip", release.examples)
    }
    # MAUD has 152 contracts; the mirror has neither a text nor a row of contract_149.
    assert len(texts) == 151
    assert [contract for contract, has_text in texts.items() if not has_text] == [
        "contract_10"
    ]


def test_nearly_all_spans_occur_in_the_deal_point_texts(extraction, release):
    """This shows that queries are mapped to the right types of deal point texts."""
    texts = {row["text_id"]: row["text"] for row in release.texts}
    deal_points = {}
    for row in release.examples:
        if row["contract"]:
            deal_points.setdefault((row["contract"], row["text_type"]), set()).add(
                texts[row["text_id"]]
            )
    asked = {
        row["question_id"]: (row["contract_id"], row["category"])
        for row in extraction.questions
    }
    found = Counter()
    for row in extraction.answers:
        if (key := asked[row["question_id"]]) in deal_points:
            plain = "".join(row["text"].split())
            stands = any(plain in "".join(text.split()) for text in deal_points[key])
            found[key[1], stands] += 1
    shares = {
        text_type: found[text_type, True]
        / (found[text_type, True] + found[text_type, False])
        for text_type, _ in found
    }
    assert len(shares) == 5
    assert min(shares.values()) > 0.95
