"""Predictions that a user has already, in each form: what comes of a file, and a sentence for each fault."""

import gzip
import json
import math
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lextables.pipeline.errors import BadInput
from lextables.tasks.classification import submitted as classification
from lextables.tasks.retrieval import submitted as retrieval
from lextables.tasks.spans import submitted as spans
from lextables.tasks.submitted import File, opened, text_of

RETRIEVAL = {
    "names": {"documents": "documents", "document": "document_id", "text": "text", "gain": "gain"},
    "test": "test",
}
QUERIES = {"as is": "test", "cap": "test", "old": "train"}
DOCUMENTS = ("d1", "d2", "d3")
CONTRACT = "This  Lease\nis made by\u202fAda Quill, of\tLeeds. Ada Quill pays."
SPANS = {"n_best": 3, "linear": None}
QUESTIONS = {"c__Parties": "test", "c__Rent": "test", "o__Rent": "train"}
HEADS = {"h1": ["No", "Yes"], "h2": ["a, b", "c", "d"]}
EXAMPLES = {"e1": ("test", "h1"), "e2": ("test", "h2"), "e3": ("train", "h1")}
CLASSES = {"test": ["test"], "loss": "cross_entropy", "multi_label": False, "heads": []}


def written(folder, **tables):
    paths = []
    for name, rows in tables.items():
        paths.append(folder / f"{name}.parquet")
        pq.write_table(pa.Table.from_pylist(rows), paths[-1])
    return paths


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    """What a file of rankings comes to."""
    files = written(
        tmp_path_factory.mktemp("retrieval"),
        documents=[{"document_id": name, "text": name} for name in DOCUMENTS],
        queries=[{"query_id": name, "split": split} for name, split in QUERIES.items()],
        judgements=[{"query_id": "cap", "document_id": "d1", "gain": 1}],
    )
    return lambda content, form: retrieval.predictions(as_file(content), form, files, RETRIEVAL)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What a file of n-best spans comes to."""
    files = written(
        tmp_path_factory.mktemp("spans"),
        contracts=[{"contract_id": "c", "text": CONTRACT}, {"contract_id": "o", "text": "Old."}],
        questions=[
            {"question_id": name, "contract_id": name[0], "split": split} for name, split in QUESTIONS.items()
        ],
    )
    return lambda content: spans.predictions(as_file(content), "nbest", files, SPANS)


@pytest.fixture(scope="module")
def weighed(tmp_path_factory):
    """What a file of probabilities comes to."""
    files = written(
        tmp_path_factory.mktemp("classification"),
        examples=[
            {"example_id": name, "split": split, "head_id": head} for name, (split, head) in EXAMPLES.items()
        ],
        heads=[{"head_id": head, "answers": answers} for head, answers in HEADS.items()],
    )

    def weigh(content, form, **task):
        return classification.predictions(as_file(content), form, files, CLASSES | task)

    return weigh


def as_file(content):
    data = content if isinstance(content, bytes) else content.encode()
    return File("mine.txt", text_of(data, "mine.txt"))


def one_sentence(error, sentence):
    assert str(error.value).startswith(f"mine.txt{sentence}")
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
    assert len(str(error.value)) < 900


# Rankings

TREC = "as is Q0 d1 1 2.5 mine\nas is Q0 d2 2 1e-1 mine\ncap Q0 d3 1 -7 mine\n"
RANKED = [("as is", 1, "d1", 2.5), ("as is", 2, "d2", 0.1), ("cap", 1, "d3", -7.0)]


def plain(taken):
    return [tuple(row.values()) for row in taken.rows]


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (TREC, "trec"),
        (TREC.replace("\n", "\r\n"), "trec"),
        (b"\xef\xbb\xbf" + TREC.encode(), "trec"),
        (gzip.compress(TREC.encode(), mtime=0), "trec"),
        ("as is\tq0\td1\t1\t2.5\ta tag\nas is\tQ0\td2\t2\t0.1\t\ncap\t0\td3\t1\t-7\ta tag\n", "trec"),
        ("\n" + TREC + "old Q0 gone 1 3 mine\n\n", "trec"),
        ("query_id,document_id,score,rank\nas is,d2,.1,9\ncap,d3,-7,9\nas is,d1,2.5,9\n", "csv"),
        ('\ufeffscore,query_id,document_id\r\n2.5,"as is","d1"\r\n0.1,as is,d2\r\n-7.0,cap,d3\r\n', "csv"),
        (
            '{"query_id": "as is", "document_id": "d1", "score": 2.5}\n'
            '{"query_id": "cap", "document_id": "d3", "score": -7, "tag": "x"}\n\n'
            '{"query_id": "as is", "document_id": "d2", "score": 0.1}',
            "jsonl",
        ),
    ],
    ids=["blanks", "CRLF", "BOM", "gzip", "tabs", "other splits", "csv", "quoted csv", "jsonl"],
)  # fmt: skip
def test_a_ranking_in_each_form(ranked, content, form):
    assert plain(ranked(content, form)) == RANKED


def test_hits_of_other_splits_are_counted(ranked):
    assert ranked(TREC + "old Q0 d1 1 3 mine\nold Q0 d1 1 3 mine\n", "trec").passed_over == 2


def test_scores_decide_and_ties_are_broken_as_trec_eval_does(ranked):
    tied = "cap Q0 d1 1 5 x\ncap Q0 d3 2 5 x\ncap Q0 d2 3 4 x\nas is Q0 d2 0 1 x\nas is Q0 d1 0 2 x\n"
    assert [row[2] for row in plain(ranked(tied, "trec"))] == ["d1", "d2", "d3", "d1", "d2"]


CSV = "query_id,document_id,score\n"


@pytest.mark.parametrize(
    ("content", "form", "sentence"),
    [
        (TREC + "caps Q0 d1 1 1 x", "trec", ", line 4: there is no query 'caps' in the data set; "),
        (TREC + "cap Q0 d9 2 -8 x", "trec", ", line 4: there is no document 'd9' in the data set; "),
        (TREC + "cap Q0 d3 2 -8 x", "trec", ", line 4: the document 'd3' is ranked twice for the query 'cap"),
        (TREC + "\ncap Q0 d1 2 8 x", "trec", ", line 5: rank 2 has the score 8, more than rank 1 of the que"),
        (TREC + "cap d1 2 8 x", "trec", ", line 4: has 5 fields; give query, Q0, document,"),
        (TREC + "cap\td1\t2\t-8\tx", "trec", ", line 4: has 5 fields; "),
        (TREC + "cap Q0 d1 2 -8 my run", "trec", ", line 4: 'd1' stands where Q0 should; give query"),
        (TREC + "cap Q0 d1 two -8 x", "trec", ", line 4: the rank 'two' is not a whole number"),
        (TREC + "cap Q0 d1 2 nan x", "trec", ", line 4: the score 'nan' is not a finite number"),
        (TREC + "cap Q0 d1 2 -inf x", "trec", ", line 4: the score '-inf' is not a finite number"),
        (TREC + "cap Q0 d1 2 -1_0 x", "trec", ", line 4: the score '-1_0' is not a finite number"),
        (TREC + "cap Q0 d1 2 high x", "trec", ", line 4: the score 'high' is not a finite number"),
        ("cap Q0 d1 1 1 x", "trec", ": no hit for 1 of the 2 test queries, the first 'as is'; rank one"),
        (TREC.encode() + b"\ncap Q0 \xe9 2 1 x", "trec", ", line 5: the byte 0xe9 is not UTF-8; save it"),
        (TREC.encode("utf-16"), "trec", ", line 1: the byte 0xff is not UTF-8"),
        (b"", "trec", ": the file is empty; write it again"),
        ("\ufeff \r\n", "trec", ": the file is empty"),
        (gzip.compress(b"", mtime=0), "trec", ": the file is empty"),
        (gzip.compress(TREC.encode(), mtime=0)[:-9], "trec", ": gzip cannot unpack it ("),
        (b"\x1f\x8bnone of it", "trec", ": gzip cannot unpack it ("),
        ("query,document,score\ncap,d1,1\n", "csv", ", row 1: there is no column 'query_id'; name the"),
        ("query_id,score,score\ncap,1,1\n", "csv", ", row 1: the column 'score' stands twice"),
        (CSV + "cap,d1,1\ncap,d2\n", "csv", ", row 3: has 2 cells where there should be 3; quote"),
        (CSV + 'cap,"d1,1\n', "csv", ", row 2: the row that begins here is no csv ("),
        (CSV + "cap,d1,\n", "csv", ", row 2: the score '' is not a finite number"),
        (CSV + "cap,d1,2\ncap,d1,2\n", "csv", ", row 3: the document 'd1' is ranked twice"),
        ('{"query_id": "cap"}', "jsonl", ", line 1: document_id is not there; write it as text"),
        ('{"query_id": 7}', "jsonl", ", line 1: query_id is no text; write it as text"),
        ('{"query_id": "cap", "document_id": "d1", "score": null}', "jsonl", ", line 1: the score None is n"),
        ('{"query_id": "cap", "document_id": "d1", "score": true}', "jsonl", ", line 1: the score True is n"),
        ('{"query_id": "cap", "document_id": "d1", "score": 1e999}', "jsonl", ", line 1: the score inf is n"),
        ('{"query_id": "cap", "document_id": "d1"', "jsonl", ", line 1: not JSON ("),
        ('{"score": 1, "score": 2}', "jsonl", ", line 1: 'score' appears twice in one object"),
        ("[1, 2]", "jsonl", ", line 1: is no JSON object; "),
        ("[" * 100000, "jsonl", ", line 1: not JSON ("),
        ("1" * 5000, "jsonl", ", line 1: not JSON ("),
        (f"{TREC}cap Q0 d1 {'9' * 5000} -8 x", "trec", ", line 4: the rank '999"),
        (f"{TREC}{'x' * 3000} Q0 d1 1 1 x", "trec", ", line 4: there is no query 'xxx"),
        (f"{TREC}cap Q0 {'x' * 3000} 1 1 x", "trec", ", line 4: there is no document 'xxx"),
        (f"{TREC}cap Q0 d1 2 {'1' * 5000} x", "trec", ", line 4: the score '111"),
        (CSV.encode("utf-16-le"), "csv", ": it holds the character NUL, as a text in UTF-16 does; save "),
        (f"{'a' * 5000},{'a' * 5000}\n", "csv", ", row 1: the column 'aaa"),
    ],
)  # fmt: skip
def test_a_ranking_that_cannot_be_used(ranked, content, form, sentence):
    with pytest.raises(BadInput) as error:
        ranked(content, form)
    one_sentence(error, sentence)


# Spans


def span(text, probability=0.5, **more):
    return {"text": text, "probability": probability} | more


NBEST = {
    "c__Parties": [
        span("Ada Quill,", 0.6, start_logit=2, end_logit=-1.5),
        span("This Lease is", 0.3),
        span("", 0.1),
    ],
    "c__Rent": [span("empty", 0.5), span("", 0.5)],
    "o__Rent": [span("not in the contract at all")],
}  # fmt: skip


def test_spans_are_found_in_their_contract(found):
    taken = found(json.dumps(NBEST))
    assert taken.passed_over == 1
    assert [row["released_text"] for row in taken.rows] == ["Ada Quill,", "This Lease is", "", "empty", ""]
    assert [row["text"] for row in taken.rows] == ["Ada Quill,", "This  Lease\nis", "", "", ""]
    assert [(row["start"], row["end"]) for row in taken.rows[2:]] == [(-1, -1)] * 3
    for row in taken.rows[:2]:
        assert CONTRACT[row["start"] : row["end"]] == row["text"]
    assert [(row["question_id"], row["rank"]) for row in taken.rows] == [
        ("c__Parties", 0), ("c__Parties", 1), ("c__Parties", 2), ("c__Rent", 0), ("c__Rent", 1),
    ]  # fmt: skip
    assert [row["probability"] for row in taken.rows] == [0.6, 0.3, 0.1, 0.5, 0.5]
    assert (taken.rows[0]["start_logit"], taken.rows[0]["end_logit"]) == (2, -1.5)
    assert math.isnan(taken.rows[1]["start_logit"])


@pytest.mark.parametrize(
    ("text", "places", "start"),
    [
        ("Ada Quill", {}, CONTRACT.index("Ada")),
        ("Ada Quill", {"token_doc_start": 9, "token_doc_end": 10}, CONTRACT.rindex("Ada")),
        # Places of another cut of the contract are no reason to refuse a text that is there.
        ("Ada Quill", {"token_doc_start": 99, "token_doc_end": 100}, CONTRACT.index("Ada")),
        ("This", {"token_doc_start": 9, "token_doc_end": 9}, 0),
        ("made by Ada", {}, CONTRACT.index("made")),
        (" of\r\n Leeds ", {}, CONTRACT.index("of")),
        ("eed", {}, CONTRACT.index("eed")),
        ("pays.", {}, CONTRACT.index("pays")),
    ],
)
def test_where_a_text_stands(found, text, places, start):
    content = NBEST | {"c__Parties": [span(text, **places)]}
    (row,) = [row for row in found(json.dumps(content)).rows if row["question_id"] == "c__Parties"]
    assert (row["start"], row["released_text"]) == (start, text)
    assert row["text"].split() == text.split()


def test_the_word_empty_is_a_span_where_the_contract_has_others(found):
    with pytest.raises(BadInput, match="the text 'empty' does not stand in the contract 'c'"):
        found(json.dumps(NBEST | {"c__Rent": [span("empty"), span("Leeds")]}))


def with_rent(*entries):
    return json.dumps(NBEST | {"c__Rent": list(entries)})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (json.dumps(NBEST | {"x__Rent": []}), ": there is no question 'x__Rent' in the data set; "),
        (json.dumps({"c__Rent": [span("")]}), ": no prediction for 1 of the 2 test questions, the first 'c_"),
        (with_rent(), ", question 'c__Rent': has no prediction; predict it, if only"),
        (with_rent(*map(span, ("This", "Lease", "is", "made"))), ", question 'c__Rent': has 4 spans where 3"),
        (with_rent(span("Ada"), span("Ada")), ", question 'c__Rent', prediction 1: the text 'Ada' stands tw"),
        (with_rent(span("ada quill")), ", question 'c__Rent', prediction 0: the text 'ada quill' does not s"),
        (with_rent(span("word " * 90)), ", question 'c__Rent', prediction 0: the text 'word word"),
        (with_rent(span(" \n")), ", question 'c__Rent', prediction 0: the text ' \\n' does not stand"),
        (with_rent(span("Ada\ud800")), ", question 'c__Rent', prediction 0: the text 'Ada\\ud800' does not"),
        (with_rent(span("Ada", math.nan)), ", question 'c__Rent', prediction 0: the probability nan is not"),
        (with_rent(span("Ada", 10**400)), ", question 'c__Rent', prediction 0: the probability 10000"),
        (
            with_rent(span("Ada", token_doc_start=2**80, token_doc_end=1)),
            ", question 'c__Rent', prediction 0: token_doc_start and token_doc_end are not two whole numbers",
        ),
        (with_rent(span("Ada", 1.1)), ", question 'c__Rent', prediction 0: the probability 1.1 is not"),
        (with_rent(span("Ada", "0.5")), ", question 'c__Rent', prediction 0: the probability '0.5' is not"),
        (with_rent(span("Ada", start_logit=math.inf)), ", question 'c__Rent', prediction 0: the start_logit"),
        (with_rent(span("Ada", end_logit=None)), ", question 'c__Rent', prediction 0: the end_logit None is"),
        (with_rent("Ada"), ", question 'c__Rent', prediction 0: is a str and not a dict"),
        (json.dumps(NBEST)[:-40], ": not JSON ("),
        ('{"c__Rent": [], "c__Rent": []}', ": 'c__Rent' appears twice in one object"),
        ("[1]", ': is a list and not a dict of question ids; write it as {"question id": [{"text"'),
        ('{"c__Rent": [1]}', ", question 'c__Rent', prediction 0: is a int and not a dict with text and "),
        ('{"c__Rent": 1}', ", question 'c__Rent': is a int and not a list of predictions; write it as"),
        (json.dumps(NBEST | {"x" * 3000: []}), ": there is no question 'xxx"),
        ('{"a":' * 5000, ": not JSON ("),
        (json.dumps(NBEST).encode("utf-16"), ", line 1: the byte 0xff is not UTF-8"),
    ],
)  # fmt: skip
def test_spans_that_cannot_be_used(found, content, sentence):
    with pytest.raises(BadInput) as error:
        found(content)
    one_sentence(error, sentence)


def test_a_row_may_have_as_many_spans_as_the_longest_of_the_task(found, monkeypatch):
    monkeypatch.setitem(SPANS, "linear", {"n_best": 4})
    assert len(found(with_rent(*map(span, ("This", "Lease", "is", "made", "")))).rows) == 8


# Probabilities

WEIGHED = [("h1", "e1", [0.25, 0.75]), ("h2", "e2", [0.5, 0.5, 0.0])]
LONG = 'example_id,answer,probability\ne2,"a, b",0.5\ne1,Yes,.75\ne2,c,0.5\ne1,No,0.25\ne2,d,0\n'


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (LONG, "csv"),
        (LONG.replace("\n", "\r\n"), "csv"),
        ('head_id,example_id,No,Yes,"a, b",c,d\nh1,e1,0.25,0.75,,,\nh2,e2,,,0.5,0.5,0\n', "csv"),
        (
            '{"example_id": "e1", "probabilities": {"Yes": 0.75, "No": 0.25}}\n'
            '{"example_id": "e2", "head_id": "h2", "probabilities": [0.5, 0.5, 0]}\n'
            '{"example_id": "e3", "probabilities": [1, 0]}\n',
            "jsonl",
        ),
    ],
    ids=["a row an answer", "CRLF", "a column an answer", "jsonl"],
)
def test_probabilities_in_each_form(weighed, content, form):
    taken = weighed(content, form)
    assert [(row["head_id"], row["example_id"], row["probabilities"]) for row in taken.rows] == WEIGHED
    assert taken.rows[0]["logits"] == pytest.approx([-math.log(3), math.log(3)])
    assert all(map(math.isfinite, taken.rows[1]["logits"]))
    assert taken.passed_over == (form == "jsonl")


def test_answers_that_are_weighed_each_by_itself_need_not_add_up(weighed):
    content = LONG.replace("Yes,.75", "Yes,.9")
    for task in ({"loss": "binary_cross_entropy"}, {"multi_label": True}):
        assert weighed(content, "csv", **task).rows[0]["probabilities"] == [0.25, 0.9]
    assert weighed(LONG.replace(".75", ".7501"), "csv").rows[0]["probabilities"] == [0.25, 0.7501]


def said(**record):
    return json.dumps({"example_id": "e1", "probabilities": {"No": 0.5, "Yes": 0.5}} | record)


@pytest.mark.parametrize(
    ("content", "form", "sentence"),
    [
        (LONG + "e9,No,1\n", "csv", ", row 7: there is no example 'e9' in the data set; correct its id"),
        (LONG + "e1,no,1\n", "csv", ", row 7: the head of 'e1' has no answer 'no'; choose from 'No', 'Yes'"),
        (LONG + "e1,No,0.25\n", "csv", ", row 7: the answer 'No' of the example 'e1' is given twice"),
        (LONG.replace("e1,No,0.25\n", ""), "csv", ", row 3: the answer 'No' of the example 'e1' has no prob"),
        (LONG.replace("0.25", "0.35"), "csv", ", row 3: the probabilities of the example 'e1' add up to 1.1"),
        (LONG.replace("0.25", "nan"), "csv", ", row 5: the probability 'nan' is not a finite number"),
        (LONG.replace("0.25", "1.25"), "csv", ", row 5: the probability '1.25' is not a number from 0 to 1"),
        (LONG.replace("0.25", "-0.1"), "csv", ", row 5: the probability '-0.1' is not a number from 0 to 1"),
        (LONG.replace("0.25", ""), "csv", ", row 5: the probability '' is not a finite number"),
        (LONG.replace("0.25", "25 %"), "csv", ", row 5: the probability '25 %' is not a finite number"),
        (LONG.replace('"a, b"', "a, b"), "csv", ", row 2: has 4 cells where there should be 3; quote"),
        ("answer,probability\nNo,1\n", "csv", ", row 1: there is no column 'example_id'"),
        ("example_id\ne1\n", "csv", ": no prediction for 2 of the 2 test examples, the first 'e1'"),
        ("example_id,No,Yes,maybe\ne1,0,0,1\n", "csv", ", row 2: the head of 'e1' has no answer 'maybe'"),
        (said(head_id="h2"), "jsonl", ", line 1: the example 'e1' is of the head 'h1' and not of 'h2'"),
        (said(head_id=None), "jsonl", ", line 1: head_id is not there; write it as text"),
        (said(), "jsonl", ": no prediction for 1 of the 2 test examples, the first 'e2'"),
        (said() + "\n" + said(), "jsonl", ", line 2: the answer 'No' of the example 'e1' is given twice"),
        (said(probabilities=[1]), "jsonl", ", line 1: 1 probabilities where the head has 2 answers; give on"),
        (said(probabilities=None), "jsonl", ", line 1: probabilities is not there; "),
        (said(probabilities=0.5), "jsonl", ", line 1: probabilities is neither a list nor an object; "),
        (said(probabilities={"No": "x", "Yes": 1}), "jsonl", ", line 1: the probability 'x' is not a finite"),
        (said(probabilities=[[1], 0]), "jsonl", ", line 1: the probability [1] is not a finite number"),
        (said(example_id=1), "jsonl", ", line 1: example_id is no text; write it as text"),
        (said()[:-5], "jsonl", ", line 1: not JSON ("),
        (f"{said(probabilities=[0.9, 0.9])}\n{said(example_id='e2', probabilities=[1, 0, 0])}", "jsonl",
         ", line 1: the probabilities of the example 'e1' add up to 1.8"),
        (said(probabilities={"No": "x" * 3000}), "jsonl", ", line 1: the probability 'xxx"),
        (said(probabilities={"x" * 3000: 1}), "jsonl", ", line 1: the head of 'e1' has no answer 'xxx"),
        (said(probabilities=[True, False]), "jsonl", ", line 1: the probability True is not a finite number"),
        (said(probabilities=[10**400, 0]), "jsonl", ", line 1: the probability 100"),
        (said(head_id="x" * 3000), "jsonl", ", line 1: the example 'e1' is of the head 'h1' and "),
    ],
)  # fmt: skip
def test_probabilities_that_cannot_be_used(weighed, content, form, sentence):
    with pytest.raises(BadInput) as error:
        weighed(content, form)
    one_sentence(error, sentence)


# The file itself


@pytest.mark.parametrize(
    ("columns", "rest", "says"),
    [
        ("{}", "\ne1,{}", "has no answer 'c0'"),
        ("{},c9", "", "the column 'c9' stands twice"),
    ],
)
def test_many_columns_take_no_longer_than_their_number(weighed, columns, rest, says):
    names = ",".join(f"c{number}" for number in range(100_000))
    content = f"example_id,{columns.format(names)}{rest.format(names)}"
    begun = time.process_time()
    with pytest.raises(BadInput, match=says):
        weighed(content, "csv")
    assert time.process_time() - begun < 10


def test_many_names_in_one_object_take_no_longer_than_their_number(weighed):
    names = ",".join(f'"c{number}": 0' for number in range(200_000))
    begun = time.process_time()
    with pytest.raises(BadInput, match="'c199999' appears twice in one object"):
        weighed(f'{{{names}, "c199999": 0}}', "jsonl")
    assert time.process_time() - begun < 10


def test_a_file_is_known_by_what_it_holds(tmp_path, monkeypatch):
    path, content = tmp_path / "run.txt", "sha256:" + "e3b0c442" * 8
    path.write_text(TREC)
    monkeypatch.setenv("LEXTABLES_GIVEN", json.dumps({content: str(path)}))
    with pytest.raises(
        BadInput, match=r"^run\.txt: was changed while this ran; run the same command again\.$"
    ):
        opened(content)
    path.unlink()
    with pytest.raises(
        BadInput, match=r"^run\.txt: cannot be read \(No such file or directory\); put it back\.$"
    ):
        opened(content)


def test_per_cent_is_told_from_a_slip(weighed):
    with pytest.raises(BadInput) as error:
        weighed("example_id,answer,probability\ne1,Yes,85\n", "csv")
    words = "the probability '85' is not a number from 0 to 1; divide per cent by 100."
    assert str(error.value) == f"mine.txt, row 2: {words}"
    with pytest.raises(BadInput, match="is not a number from 0 to 1; correct it"):
        weighed("example_id,answer,probability\ne1,Yes,-0.1\n", "csv")
