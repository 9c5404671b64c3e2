"""SQuAD files of contracts and questions, their tables, and subsets of contracts."""

import io
from itertools import pairwise

import orjson
import pytest

from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.squad import (
    ANSWERS,
    EXAMPLES,
    QUESTIONS,
    AnnotatedQuestion,
    Answer,
    Document,
    answer_rows,
    example_row,
    held_out,
    held_out_contracts,
    part,
    question_rows,
    read_squad,
)

TEXT = "LEASE\nMill “A” lets the barn to Mill “B”. Mill “B” pays 𝕏 crowns."


def question(question_id, *answers):
    """Return a question of a SQuAD file, with answers as (start, text)."""
    return {
        "answers": [{"text": text, "answer_start": start} for start, text in answers],
        "id": question_id,
        "question": f"What of {question_id}?",
        "is_impossible": not answers,
    }


# A SQuAD file with a contract with three questions, and one without any.
SQUAD = {
    "version": "1",
    "data": [
        {
            "title": "Barn",
            "paragraphs": [
                {
                    "qas": [
                        question(
                            "Barn__Parties",
                            (32, "Mill “B”"),
                            (6, "Mill “A”"),
                            (42, "Mill “B”"),
                        ),
                        question("Barn__Price", (51, "pays 𝕏 crowns")),
                        question("Barn__Term"),
                    ],
                    "context": TEXT,
                }
            ],
        },
        {"title": "Empty of questions", "paragraphs": [{"qas": [], "context": "NOTE"}]},
    ],
}


def category(question_id, contract_id):
    """Return the category of a question: Parties, of Barn__Parties."""
    return question_id.removeprefix(f"{contract_id}__")


def documents():
    """Return the documents that are read from `SQUAD`."""
    return list(read_squad(orjson.dumps(SQUAD), "lease.json", category))


def test_documents_keep_the_order_of_the_file():
    barn, note = documents()
    assert note == Document("Empty of questions", "NOTE", ())
    assert (barn.contract_id, barn.text) == ("Barn", TEXT)
    parties, price, term = barn.questions
    assert parties == AnnotatedQuestion(
        "Barn__Parties",
        "Parties",
        "What of Barn__Parties?",
        (Answer(32, "Mill “B”"), Answer(6, "Mill “A”"), Answer(42, "Mill “B”")),
    )
    # Positions count characters: 𝕏 is one character, although it needs several units in
    # UTF-8 and UTF-16.
    assert [TEXT[answer.start : answer.end] for answer in price.answers] == [
        "pays 𝕏 crowns"
    ]
    assert price.answers[0].end == len(TEXT) - 1
    assert term.answers == ()


def test_a_stream_is_read_like_bytes():
    stream = io.BytesIO(orjson.dumps(SQUAD))
    assert list(read_squad(stream, "lease.json", category)) == documents()


def test_rows_of_questions_have_their_category_and_number_of_answers(tmp_path):
    barn, _ = documents()
    write(QUESTIONS, question_rows(barn, "dev"), tmp_path / "questions.parquet")
    assert [
        (row["question_id"], row["category"], row["split"], row["answers"])
        for row in read(tmp_path / "questions.parquet")
    ] == [
        ("Barn__Parties", "Parties", "dev", 3),
        ("Barn__Price", "Price", "dev", 1),
        ("Barn__Term", "Term", "dev", 0),
    ]


def test_rows_of_answers_keep_the_order_of_the_file_and_have_offsets(tmp_path):
    barn, _ = documents()
    write(ANSWERS, answer_rows(barn), tmp_path / "answers.parquet")
    rows = list(read(tmp_path / "answers.parquet"))
    assert [(row["question_id"], row["index"], row["start"]) for row in rows] == [
        ("Barn__Parties", 0, 32),
        ("Barn__Parties", 1, 6),
        ("Barn__Parties", 2, 42),
        ("Barn__Price", 0, 51),
    ]
    assert all(TEXT[row["start"] : row["end"]] == row["text"] for row in rows)


def test_an_example_without_an_answer_starts_and_ends_at_minus_one(tmp_path):
    barn, _ = documents()
    answered = AnnotatedQuestion("Barn__Price_0", "Price", "?", (Answer(51, "pays"),))
    unanswered = AnnotatedQuestion("Barn__Term_0", "Term", "?", ())
    examples = [
        example_row(barn, answered, "Barn__Price"),
        example_row(barn, unanswered, "Barn__Term"),
    ]
    write(EXAMPLES, examples, tmp_path / "examples.parquet")
    assert list(read(tmp_path / "examples.parquet")) == examples
    assert [(row["contract_id"], row["start"], row["end"]) for row in examples] == [
        ("Barn", 51, 55),
        ("Barn", -1, -1),
    ]


def test_a_damaged_file_raises_an_error_that_says_to_download_it_again():
    damaged = orjson.dumps(SQUAD)[:-20]
    with pytest.raises(BadInput, match="^lease.json: is no JSON .*; download the file"):
        list(read_squad(damaged, "lease.json", category))


@pytest.mark.parametrize(
    "start",
    [
        len(TEXT.split("crowns")[0].encode()),  # counted in bytes
        len(TEXT.split("crowns")[0].encode("utf-16-le")) // 2,  # in units of UTF-16
        TEXT.index("crowns") - len(TEXT),  # from the end
        1000,
    ],
)
def test_an_answer_that_is_not_at_its_position_raises(start):
    entry = {"qas": [question("Barn__Price", (start, "crowns"))], "context": TEXT}
    squad = {"data": [{"title": "Barn", "paragraphs": [entry]}]}
    with pytest.raises(BadInput) as error:
        list(read_squad(orjson.dumps(squad), "lease.json", category))
    assert str(error.value) == (
        f"lease.json, question 'Barn__Price': the answer 'crowns' is not at {start};"
        " count answer_start in characters of the context."
    )


# Contracts that a share is drawn from.
NAMES = [f"contract {i}" for i in range(40)]


def test_drawn_contracts_depend_only_on_the_names_and_the_seed():
    assert held_out(NAMES, 0.1) == held_out(reversed(NAMES), 0.1)
    assert len(held_out(NAMES, 0.1)) == 4  # a tenth of 40
    assert part(NAMES, 30, seed=0) != part(NAMES, 30, seed=1)
    assert part(NAMES, 100, seed=3) == frozenset(NAMES)


def test_smaller_shares_are_subsets_of_larger_ones_and_never_empty():
    parts = [part(NAMES, percent, seed=0) for percent in (1, 3, 10, 30, 100)]
    # 1 and 3 % of 40 contracts are 0.4 and 1.2.
    assert [len(names) for names in parts] == [1, 1, 4, 12, 40]
    assert all(smaller <= larger for smaller, larger in pairwise(parts))


def test_held_out_contracts_are_a_share_of_the_training_contracts_or_a_split():
    splits = dict.fromkeys(NAMES, "train") | {"a": "dev", "b": "test", "c": "dev"}
    assert held_out_contracts(splits, "dev") == {"a", "c"}
    # All but the test split.
    training_contracts = [name for name in splits if name != "b"]
    assert held_out_contracts(splits, 0.1) == held_out(training_contracts, 0.1)
    assert held_out_contracts(splits, 1.0) == set(training_contracts)
