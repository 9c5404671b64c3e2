"""LegalBench-RAG's reader: which queries are sampled, which spans answer them, and how files are split."""

import json
import random
import zipfile
from pathlib import Path

import pytest

from lextables.papers.legalbench_rag import raw
from lextables.papers.legalbench_rag.schema import TABLES
from lextables.papers.packages import load
from lextables.pipeline.dataset import write_all
from lextables.pipeline.errors import BadInput
from registered import read

ROOT = Path(__file__).parents[2]
PAPER = load(ROOT / "resources/papers/legalbench_rag.yaml")
TEXT = (
    "ARTICLE 1\n\n\nSection 1.1 Fees. The fee is due; it is not refundable, save as said.\n"
    "(a) Late fees: 2%.\nAntidisestablishmentarianism!\n\nEnd."
)


def sample(name, **given):
    return read("legalbench_rag", name, **given)


# Passages


def test_naive_passages_have_a_fixed_length():
    assert raw.fixed("abcdefgh", 3) == ["abc", "def", "gh"]


@pytest.mark.parametrize(
    ("size", "passages"),
    [  # output of LangChain's RecursiveCharacterTextSplitter (langchain-text-splitters 1.1.3)
        (80, ["ARTICLE 1",
              "\n\n\nSection 1.1 Fees. The fee is due; it is not refundable, save as said.",
              "\n(a) Late fees: 2%.\nAntidisestablishmentarianism!", "\n\nEnd."]),
        (20, ["ARTICLE 1", "\n\n", "\nSection 1.1 Fees", ". The fee is due", "; it is not", " refundable",
              ", save as said", ".", "\n(a) Late fees: 2%.", "\nAntidisestablishmen", "tarianism", "!",
              "\n\nEnd."]),
        (10, ["ARTICLE 1", "\n\n", "\nSection 1", ".1 Fees", ". The fee", " is due", "; it is", " not",
              " refundabl", "e", ", save as", " said", ".", "\n(a) Late", " fees", ": 2%", ".", "\nAntidises",
              "tablishmen", "tarianism", "!", "\n\nEnd."]),
    ],
)  # fmt: skip
def test_the_recursive_splitter_equals_langchains(size, passages):
    assert raw.recursive(TEXT, size, PAPER.separators) == passages


@pytest.mark.parametrize("name", list(PAPER.data))
def test_passages_cover_their_files_without_overlap_and_contain_all_answers(name):
    rows = {kind: list(of) for kind, of in sample(name).of.items()}
    ends = {}
    for passage in rows["documents"]:
        assert passage["start"] == ends.get(passage["file"], 0)
        assert len(passage["text"]) == passage["end"] - passage["start"] <= PAPER.chunk
        ends[passage["file"]] = passage["end"]
    held = dict.fromkeys((query["query_id"] for query in rows["queries"]), 0)
    for judgement in rows["judgements"]:
        held[judgement["query_id"]] += judgement["gain"]
    assert held == {query["query_id"]: query["characters"] for query in rows["queries"]}
    assert min(held.values()) > 0


@pytest.mark.parametrize("name", list(PAPER.data))
def test_the_tables_fit_their_schema_and_are_deterministic(name, tmp_path):
    first, again = (write_all(TABLES[name], sample(name).of, tmp_path / run) for run in ("one", "two"))
    assert first == again
    assert first["queries"]["labels"] == {"benchmark": {"cuad": 164, "maud": 24}, "split": {"test": 188}}


# Queries


def test_the_mini_set_samples_files_with_their_names_as_seeds():
    queries = [raw.Query("maud", n, "x", file, ((0, 1),)) for n, file in enumerate("abcabcabc", 1)]
    drawn = {}
    for file in "abc":
        random.seed(file)  # as in the released code
        drawn[file] = random.random()
    first, second, _ = sorted("abc", key=drawn.get)
    assert [query.file for query in raw.mini(queries, 5)] == [first] * 3 + [second] * 2
    numbers = [query.number for query in raw.mini(queries, 3)]
    assert numbers == sorted(numbers)
    few = sample("legalbench_rag", queries=7).of["queries"]
    assert [query["benchmark"] for query in few] == ["cuad"] * 7 + ["maud"] * 7


def squad(tmp_path, *contracts):
    """Write CUAD's zip; ``contracts`` are (title, text, {category: texts of the answers})."""
    data = []
    for title, text, marked in contracts:
        asked = [
            {
                "id": f"{title}__{category}",
                "question": f'Highlight "{category}". Details: What of {category}?',
                "answers": [{"text": answer, "answer_start": text.index(answer)} for answer in answers],
                "is_impossible": not answers,
            }
            for category, answers in marked.items()
        ]
        data.append({"title": title, "paragraphs": [{"context": text, "qas": asked}]})
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("CUADv1.json", json.dumps({"version": "1", "data": data}))
    return path


LEASE = "LEASE of Acme Inc. and Bolt\nCo. Acme pays. Rent is 5. Law: Ohio. Fees. Fees. Ends soon."
NAMES = {"Document Name": ["LEASE"], "Parties": ["Bolt\nCo", "Acme Inc", "Acme"]}


def test_a_cuad_query_names_the_contract_and_asks_the_question_of_a_category(tmp_path):
    marked = NAMES | {"Governing Law": ["Law: Ohio"], "Rent": ["Acme pays.", "Rent is 5"], "Empty": []}
    queries, texts, notes = raw.cuad(
        squad(tmp_path, ("one", LEASE, marked)), ("Document Name", "Parties"), PAPER.titles
    )
    assert [(query.query_id, query.text) for query in queries] == [
        ("cuad-0001", "Consider the LEASE between Acme Inc, Bolt Co; What of Governing Law?"),
        ("cuad-0002", "Consider the LEASE between Acme Inc, Bolt Co; What of Rent?"),
    ]
    (span,) = queries[1].spans  # merged: only one character separates the two answers
    assert LEASE[slice(*span)] == "Acme pays. Rent is 5"
    assert texts == {"cuad/one.txt": LEASE}
    assert notes == dict.fromkeys(notes, 0)


def test_ambiguous_contracts_and_questions_are_left_out_and_counted(tmp_path):
    marked = NAMES | {"Fees": ["Fees."], "Law": ["Law: Ohio"]}
    other = "LEASE of nobody. Law: Ohio."
    path = squad(
        tmp_path,
        ("one", LEASE, marked),
        ("two", LEASE.replace("Ohio", "Utah"), NAMES | {"Law": ["Law: Utah"]}),
        ("three", other, {"Document Name": ["LEASE"], "Parties": [], "Law": ["Law: Ohio"]}),
        ("four", LEASE.replace("LEASE", "SALE"), marked | {"Document Name": ["SALE"]}),
    )
    queries, texts, notes = raw.cuad(path, ("Document Name", "Parties"), PAPER.titles)
    assert [(query.file, query.text.rpartition(" ")[2]) for query in queries] == [("cuad/four.txt", "Law?")]
    assert list(texts) == ["cuad/four.txt"]
    assert notes == {
        "contracts_without_a_title": 1, "contracts_of_one_title": 2, "questions_with_repeated_answers": 1,
    }  # fmt: skip


# Errors


def released(tmp_path, *tests):
    path = tmp_path / "maud.json"
    path.write_text(json.dumps({"tests": tests}), encoding="utf-8")
    return path


def snippet(start, end, file="maud/x.txt", answer="x"):
    return {"file_path": file, "span": [start, end], "answer": answer}


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        ({"query": "q"}, "maud.json: its tests.0.snippets is missing; fetch the file again."),
        ({"query": "q", "snippets": []}, "maud.json: its tests.0.snippets = [] is wrong (List should have"),
        (
            {"query": "q", "snippets": [snippet(0, 2), snippet(3, 4, file="maud/y.txt")]},
            "maud.json, test 1: has spans of 2 files where there should be one.",
        ),
        *(
            (
                {"query": "q", "snippets": [snippet(*one), snippet(*other)]},
                "maud.json, test 1: has spans that are empty, overlap or touch.",
            )
            for one, other in (((0, 4), (3, 6)), ((4, 6), (0, 4)), ((0, 0), (3, 6)))
        ),
    ],
)
def test_an_invalid_released_query_raises(test, sentence, tmp_path):
    with pytest.raises(BadInput) as error:
        raw.maud(released(tmp_path, test))
    assert str(error.value).startswith(sentence)


TWO = [snippet(0, 3, answer="The"), snippet(4, 7, answer="fee")]


def zipped(tmp_path, **texts):
    path = tmp_path / "contracts.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(f"contracts/{name}.txt", text)
    return path


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"contract_1": b"The sum"}, r"no contract has the spans of maud/x\.txt"),
        (
            {"contract_1": b"The fee.", "contract_2": b"The fee"},
            r"spans of maud/x\.txt do not identify",
        ),
        ({"contract_1": b"T\xff"}, r"contracts/contract_1\.txt: the byte 0xff at 1 is not UTF-8"),
    ],
)
def test_an_agreement_is_identified_by_its_spans(tmp_path, texts, message):
    _, snippets = raw.maud(released(tmp_path, {"query": "q", "snippets": TWO}))
    path = zipped(tmp_path, contract_1=b"The sum", contract_2=b"The fee")
    assert raw.agreements(path, snippets, "maud.json") == {"maud/x.txt": "The fee"}
    with pytest.raises(BadInput, match=message):
        raw.agreements(zipped(tmp_path, **texts), snippets, "maud.json")
