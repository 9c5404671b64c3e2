"""CUAD from its release: registered rows, counts of questions and answers, shared
text.
"""

import json
import zipfile
from collections import Counter, defaultdict

import numpy as np
import pytest

from helpers.registered import read, written
from lextables.tasks.spans.candidates import PARTS, candidates, text_features
from lextables.tasks.spans.segments import Segments

LEAST_WORDS = 8  # minimum length of a compared line, and length of a compared sequence


@pytest.fixture(scope="module")
def rows(mirror):
    return read("cuad", "cuad", mirror).of


@pytest.mark.parametrize("name", ["cuad", "contracteval"])
def test_the_mirror_has_the_registered_rows(mirror, tmp_path, name):
    written(name, name, tmp_path, read(name, name, mirror), "rebuilt")


def test_counts_of_questions_and_answers_of_each_split(rows):
    counts = {}
    for split in ("train", "test"):
        answers = [row["answers"] for row in rows["questions"] if row["split"] == split]
        answered = sum(count > 0 for count in answers)
        counts[split] = (len(answers), answered, sum(answers))
    # Questions, questions with an answer, and answers.
    assert counts == {"train": (16_728, 5_458, 11_180), "test": (4_182, 1_244, 2_643)}
    assert len(rows["answers"]) == 13_823
    assert len(rows["categories"]) == 41
    assert len({row["category"] for row in rows["questions"]}) == 41


def test_only_price_restrictions_has_no_span_in_the_test_split(rows):
    answered = defaultdict(int)
    for question in rows["questions"]:
        answered[question["split"], question["category"]] += question["answers"]
    assert [key for key, count in answered.items() if not count] == [
        ("test", "Price Restrictions")
    ]


def test_counts_of_the_clause_table(rows):
    assert len(rows["clauses"]) == 13_101
    assert len(rows["supplementary"]) == 510 * 41
    answers = defaultdict(Counter)
    for row in rows["supplementary"]:
        answers[row["category"]][row["answer"]] += 1
    assert sum(counts.keys() == {"Yes", "No"} for counts in answers.values()) == 33
    assert answers["Uncapped Liability"] == {"No": 399, "Yes": 111}
    assert answers["Governing Law"].most_common(1) == [("New York", 97)]


def test_clause_table_and_spans_agree(rows):
    """The counts in docs/cuad.md."""
    clauses = defaultdict(list)
    for row in rows["clauses"]:
        clauses[row["contract_id"], row["category"]].append(row["text"])
    spans = defaultdict(set)
    place_of = {}
    for row in rows["questions"]:
        place_of[row["question_id"]] = (row["contract_id"], row["category"])
    for row in rows["answers"]:
        spans[place_of[row["question_id"]]].add(row["text"])
    assert spans.keys() == clauses.keys()
    assert sum(map(len, spans.values())) == len(rows["answers"])
    for key, texts in clauses.items():
        for text in texts:
            pieces = [text] if text in spans[key] else text.split("<omitted>")
            assert {piece.strip() for piece in pieces if piece.strip()} <= spans[key]
    assert sum("<omitted>" in row["text"] for row in rows["clauses"]) == 695
    without = Counter()
    for row in rows["supplementary"]:
        has_clause = (row["contract_id"], row["category"]) in clauses
        without["answer"] += has_clause and not row["answer"]
        without["clause"] += not has_clause and row["answer"] not in ("", "No")
    assert without == {"answer": 160, "clause": 16}


# Text that the test contracts share with the training contracts.


@pytest.fixture(scope="module")
def texts(mirror):
    """Return {split: {title: text}} of the released question files."""
    files = {"train": "train_separate_questions.json", "test": "test.json"}
    texts = {}
    with zipfile.ZipFile(mirror / "cuad/data.zip") as archive:
        for split, name in files.items():
            texts[split] = {}
            for document in json.loads(archive.read(name))["data"]:
                texts[split][document["title"]] = document["paragraphs"][0]["context"]
    return texts


def sequences(text):
    """Return the sequences of eight words of a text, in lower case and across line
    breaks.
    """
    words = text.lower().split()
    starts = range(len(words) - LEAST_WORDS + 1)
    return {tuple(words[start : start + LEAST_WORDS]) for start in starts}


def nearest(texts):
    """Return {test contract: (largest share of its sequences in one training contract,
    that contract)}.
    """
    sequences_of_test = {}
    test_contracts_with = defaultdict(list)
    for title, text in texts["test"].items():
        sequences_of_test[title] = sequences(text)
        for sequence in sequences_of_test[title]:
            test_contracts_with[sequence].append(title)
    shared_sequences = defaultdict(Counter)  # by test contract and training contract
    for training, text in texts["train"].items():
        for sequence in sequences(text):
            for title in test_contracts_with.get(sequence, ()):
                shared_sequences[title][training] += 1
    shares = {}
    for title, of_title in sequences_of_test.items():
        shares[title] = (0.0, "")
        for training, count in shared_sequences[title].most_common(1):
            shares[title] = (count / len(of_title), training)
    return shares


def lines(text):
    """Return the lines of eight or more words, in lower case and with single spaces."""
    words = (line.lower().split() for line in text.split("\n"))
    return [" ".join(line) for line in words if len(line) >= LEAST_WORDS]


@pytest.fixture(scope="module")
def shared(texts):
    """Return {test contract: for each of its lines, whether a training contract
    contains it}.
    """
    training = set()
    for text in texts["train"].values():
        training.update(lines(text))
    is_shared = {}
    for title, text in texts["test"].items():
        is_shared[title] = [line in training for line in lines(text)]
    return is_shared


def test_less_than_one_percent_of_test_lines_occur_in_training(shared):
    number = sum(map(len, shared.values()))
    assert number > 7000
    assert sum(map(sum, shared.values())) < 0.01 * number


def test_splits_share_no_contract_and_few_contracts_share_a_fifth_of_their_lines(
    texts, shared
):
    assert not texts["train"].keys() & texts["test"].keys()
    assert not set(texts["train"].values()) & set(texts["test"].values())
    # One is a joint filing agreement, a standard form; the parties of the other have a
    # training contract too.
    parties = set()
    for title, lines in shared.items():
        if sum(lines) > 0.2 * len(lines):
            parties.add(title.partition("_")[0])
    assert parties == {"GALERATHERAPEUTICS,INC", "WOMENSGOLFUNLIMITEDINC"}
    assert not any(lines and all(lines) for lines in shared.values())


def test_most_of_one_test_contract_is_in_training_with_other_line_breaks(texts, shared):
    shares = nearest(texts)
    first = max(shares, key=lambda title: shares[title][0])
    assert sum(share > 0.5 for share, _ in shares.values()) == 3
    assert sum(share > 0.2 for share, _ in shares.values()) == 7
    share, training = shares[first]
    assert (first.partition("_")[0], round(share, 2)) == ("IdeanomicsInc", 0.9)
    assert training.startswith("IdeanomicsInc_20160330")
    # The comparison of lines does not find this.
    assert not any(shared[first])


def test_linear_models_have_features_of_the_parts_of_every_contract(rows):
    """Two segments of each contract, which have parts."""
    texts = [row["text"] for row in rows["contracts"]]
    segments = Segments.from_texts(texts)
    scores = np.zeros(len(segments.start))
    spans = candidates(segments, scores, 2, [*PARTS], runs=False)
    features = text_features(spans, segments)
    assert len(spans.start) > 510
    assert len(features) == len(spans.start)
    assert np.isfinite(features).all()
    assert len(set(spans.contract[spans.is_part].tolist())) > 380
