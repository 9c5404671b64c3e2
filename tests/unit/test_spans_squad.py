"""SQuAD files of contracts and questions, their tables, and subsets of contracts."""

import copy
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
    Answer,
    Document,
    Question,
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
    return {
        "answers": [{"text": text, "answer_start": start} for start, text in answers],
        "id": question_id,
        "question": f"What of {question_id}?",
        "is_impossible": not answers,
    }


WHOLE = {
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
    return question_id.removeprefix(f"{contract_id}__")


def documents(squad, where="lease.json"):
    return list(read_squad(orjson.dumps(squad), where, category))


def test_documents_keep_the_order_of_the_file():
    barn, note = documents(WHOLE)
    assert note == Document("Empty of questions", "NOTE", ())
    assert (barn.contract_id, barn.text) == ("Barn", TEXT)
    parties, price, term = barn.questions
    assert parties == Question(
        "Barn__Parties",
        "Parties",
        "What of Barn__Parties?",
        (Answer(32, "Mill “B”"), Answer(6, "Mill “A”"), Answer(42, "Mill “B”")),
    )
    # Positions count characters: 𝕏 is one character, although it needs several units in UTF-8 and UTF-16.
    assert [TEXT[answer.start : answer.end] for answer in price.answers] == [
        "pays 𝕏 crowns"
    ]
    assert price.answers[0].end == len(TEXT) - 1
    assert term.answers == ()


def test_a_stream_is_read_like_bytes():
    content = orjson.dumps(WHOLE)
    assert list(read_squad(io.BytesIO(content), "lease.json", category)) == documents(
        WHOLE
    )


def test_rows_are_valid_for_their_tables(tmp_path):
    barn, _ = documents(WHOLE)
    write(QUESTIONS, question_rows(barn, "dev"), tmp_path / "questions.parquet")
    assert [
        (row["question_id"], row["category"], row["split"], row["answers"])
        for row in read(tmp_path / "questions.parquet")
    ] == [
        ("Barn__Parties", "Parties", "dev", 3),
        ("Barn__Price", "Price", "dev", 1),
        ("Barn__Term", "Term", "dev", 0),
    ]
    write(ANSWERS, answer_rows(barn), tmp_path / "answers.parquet")
    rows = list(read(tmp_path / "answers.parquet"))
    assert [(row["question_id"], row["index"], row["start"]) for row in rows] == [
        ("Barn__Parties", 0, 32),
        ("Barn__Parties", 1, 6),
        ("Barn__Parties", 2, 42),
        ("Barn__Price", 0, 51),
    ]
    assert all(TEXT[row["start"] : row["end"]] == row["text"] for row in rows)
    examples = [
        example_row(
            barn,
            Question("Barn__Price_0", "Price", "?", (Answer(51, "pays"),)),
            "Barn__Price",
        ),
        example_row(barn, Question("Barn__Term_0", "Term", "?", ()), "Barn__Term"),
    ]
    write(EXAMPLES, examples, tmp_path / "examples.parquet")
    assert list(read(tmp_path / "examples.parquet")) == examples
    assert [(row["contract_id"], row["start"], row["end"]) for row in examples] == [
        ("Barn", 51, 55),
        ("Barn", -1, -1),
    ]


def test_an_example_with_several_answers_raises():
    barn, _ = documents(WHOLE)
    with pytest.raises(ValueError, match="has 3 answers"):
        example_row(barn, barn.questions[0], "Barn__Parties")


def first(squad):
    return squad["data"][0]["paragraphs"][0]


def asked(squad, number=0):
    return first(squad)["qas"][number]


def answer(squad, number=0):
    return asked(squad)["answers"][number]


FAULTS = {
    "start too late": (
        lambda s: answer(s).update(answer_start=33),
        "lease.json, question 'Barn__Parties': the answer 'Mill “B”' is not at character 33, where the"
        " text is 'ill “B”.'; correct answer_start or the text.",
    ),
    "negative start that a slice would take": (
        lambda s: answer(s).update(answer_start=32 - len(TEXT)),
        f"is not at character {32 - len(TEXT)}, where",
    ),
    "start is text": (
        lambda s: answer(s).update(answer_start="32"),
        "lease.json, question 'Barn__Parties': answer_start is not a whole number; restore it",
    ),
    "empty answer": (
        lambda s: answer(s).update(text=" "),
        "the answer at character 32 is empty; remove it.",
    ),
    "answer without text": (
        lambda s: answer(s).pop("text"),
        "question 'Barn__Parties': text is not a string",
    ),
    "answers to the impossible": (
        lambda s: asked(s).update(is_impossible=True),
        "question 'Barn__Parties': is_impossible is true, but there are 3 answers; correct one",
    ),
    "no answer to the possible": (
        lambda s: asked(s, 2).update(is_impossible=False),
        "question 'Barn__Term': is_impossible is false, but there are 0 answers",
    ),
    "question without an id": (
        lambda s: asked(s).pop("id"),
        "lease.json, contract 'Barn', a question: id is not a string",
    ),
    "repeated question": (
        lambda s: asked(s, 2).update(id="Barn__Price"),
        "lease.json, question 'Barn__Price': the question id appears twice; remove one of the two.",
    ),
    "repeated contract": (
        lambda s: s["data"][1].update(title="Barn"),
        "lease.json, contract 'Barn': the contract appears twice; remove one of the two.",
    ),
    "empty contract": (
        lambda s: s["data"][1]["paragraphs"][0].update(context=" \n"),
        "lease.json, contract 'Empty of questions': the contract has no text; restore its context.",
    ),
    "no context": (
        lambda s: first(s).pop("context"),
        "contract 'Barn': context is not a string",
    ),
    "two paragraphs": (
        lambda s: s["data"][0]["paragraphs"].append(first(s)),
        "lease.json, contract 'Barn': has 2 paragraphs instead of one; join their texts.",
    ),
    "contract without a title": (
        lambda s: s["data"][0].pop("title"),
        "lease.json, a contract: title is not a string; restore it from the release.",
    ),
    "no data": (
        lambda s: s.pop("data"),
        "lease.json: is not SQuAD JSON: the list data is missing.",
    ),
    "data of another kind": (lambda s: s.update(data={}), "the list data is missing"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_kind_of_invalid_file_raises_with_its_message(fault):
    change, sentence = FAULTS[fault]
    squad = copy.deepcopy(WHOLE)
    change(squad)
    with pytest.raises(BadInput) as error:
        documents(squad)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", r"is no JSON \(.*\)"),
        (b"[", r"is no JSON \(.*\)"),
        (orjson.dumps(WHOLE)[:-20], r"is no JSON \(.*\)"),
        (b'{"data": [\xff]}', "the byte 0xff at 10 is not UTF-8"),
        (b'{"data": [], "data": []}', "'data' appears twice in one object"),
        (b'{"data": ' + b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_a_file_that_is_not_json_raises(content, fault):
    with pytest.raises(
        BadInput, match=rf"^lease.json: {fault}; download the file again\.$"
    ):
        list(read_squad(content, "lease.json", category))


def test_is_impossible_can_be_missing():
    squad = copy.deepcopy(WHOLE)
    asked(squad).pop("is_impossible")
    assert documents(squad) == documents(WHOLE)


NAMES = [f"contract {i}" for i in range(40)]


def test_samples_depend_only_on_the_names_and_the_seed():
    assert held_out(NAMES, 0.1) == held_out(reversed(NAMES), 0.1)
    assert len(held_out(NAMES, 0.1)) == 4
    assert part(NAMES, 30, seed=0) != part(NAMES, 30, seed=1)
    assert part(NAMES, 100, seed=3) == frozenset(NAMES)


def test_smaller_shares_are_subsets_of_larger_ones_and_never_empty():
    shares = [part(NAMES, percent, seed=0) for percent in (1, 3, 10, 30, 100)]
    assert [len(share) for share in shares] == [1, 1, 4, 12, 40]
    assert all(small <= large for small, large in pairwise(shares))


def test_held_out_contracts_are_a_share_of_the_training_contracts_or_a_split():
    splits = dict.fromkeys(NAMES, "train") | {"a": "dev", "b": "test", "c": "dev"}
    assert held_out_contracts(splits, "dev") == {"a", "c"}
    trained = [name for name in splits if name != "b"]
    assert held_out_contracts(splits, 0.1) == held_out(trained, 0.1)
    everything = held_out_contracts(splits, 1.0)
    assert everything == set(trained)
