"""The reader of the privacy policy corpus: tables from its three files."""

import copy
import json

import pytest
from nltk import redos

from lextables.papers.privacy import raw
from lextables.papers.privacy.schema import TABLES
from lextables.pipeline.dataset import Published, write_all
from lextables.pipeline.errors import BadInput

QUESTIONS = [
    {
        "label": "N-2",
        "category": "Notice",
        "allow_multiselect": False,
        "question": "Tracking?",
        "options": [
            {"label": "0", "text": "No"},
            {"label": "1", "text": "Yes"},
            {"label": ".", "text": ""},
        ],
    },
    {
        "label": "E-1",
        "category": "Enforcement",
        "allow_multiselect": True,
        "question": "Means?",
        "options": [
            {"label": "1", "text": "Mail"},
            {"label": "2", "text": "Telephone"},
        ],
    },
]
POLICIES = [
    {
        "url": "b.example",
        "policy_documents": [
            {
                "label": "0",
                "name": "Privacy",
                "paragraphs": ["# Ours", "One. Two two."],
            },
            {
                "label": "1",
                "name": "Terms",
                "paragraphs": ["We, i.e. Acme Inc. of D.C., do."],
            },
        ],
    },
    {
        "url": "a.example",
        "policy_documents": [
            {"label": "0", "name": "Privacy", "paragraphs": ["", "Größe zählt."]}
        ],
    },
]


def response(*options, highlights=(), likert=4, coder=7):
    return {
        "coder_id": coder,
        "selected_option_labels": list(options),
        "reported_likert_confidence": likert,
        "highlighted_sentences": [list(one) for one in highlights],
    }


CODINGS = [
    {
        "url": "b.example",
        "question": "N-2",
        "responses": [
            response("1", highlights=[(1, 0, 0), (0, 1, 1)]),
            response("0", likert=None),
        ],
    },
    {
        "url": "b.example",
        "question": "E-1",
        "responses": [response("2", "1", likert=1), response(likert=5)],
    },
    {
        "url": "c.example",
        "question": "N-2",
        "responses": [
            response(".", highlights=[(0, 9, 0)]),
            response(".", highlights=[(0, 9, 0)]),
        ],
    },
]


@pytest.fixture
def given(tmp_path):
    """Returns a function that writes the three files, changed by a test, and returns
    the reader's input.
    """

    def write(
        questions=QUESTIONS, policies=POLICIES, codings=CODINGS, variant="release"
    ):
        files = {}
        for name, records in (
            ("questions", questions),
            ("policies", policies),
            ("codings", codings),
        ):
            files[name] = [tmp_path / f"{name}.ndjson"]
            lines = map(json.dumps, records)
            files[name][0].write_text(
                "".join(f"{line}\n" for line in lines), encoding="utf-8"
            )
        return Published(
            files, {}, {"other_snapshots": ("stand_in",)}, {"policies": variant}
        )

    return write


def tables(published):
    rows = raw.read("privacy", published)
    return {name: list(of) for name, of in rows.of.items()} | {"notes": rows.notes}


def test_policies_are_sorted_by_site_and_paragraphs_numbered_by_site(given):
    found = tables(given())
    assert [
        (row["site"], row["documents"], row["paragraphs"], row["words"])
        for row in found["sites"]
    ] == [("a.example", 1, 2, 2), ("b.example", 2, 3, 12), ("c.example", 0, 0, 0)]
    assert [
        (row["site"], row["place"], row["paragraph_id"]) for row in found["paragraphs"]
    ] == [
        ("a.example", 0, "a.example/0/0"),
        ("a.example", 1, "a.example/0/1"),
        ("b.example", 0, "b.example/0/0"),
        ("b.example", 1, "b.example/0/1"),
        ("b.example", 2, "b.example/1/0"),
    ]
    assert [row["name"] for row in found["documents"]] == [
        "Privacy",
        "Privacy",
        "Terms",
    ]
    text = found["paragraphs"][3]["text"]
    marks = [
        row for row in found["sentences"] if row["paragraph_id"] == "b.example/0/1"
    ]
    assert [text[row["start"] : row["end"]] for row in marks] == ["One.", "Two two."]
    assert not [
        row for row in found["sentences"] if row["paragraph_id"] == "a.example/0/0"
    ]


def test_document_labels_may_be_numbers(given):
    numbered = copy.deepcopy(POLICIES)
    for site in numbered:
        for document in site["policy_documents"]:
            document["label"] = int(document["label"])
    assert tables(given(policies=numbered)) == tables(given())


def test_codings_are_converted_to_responses_and_highlights(given):
    found = tables(given())
    rows = [
        (row["site"], row["question_id"], row["response"], row["options"])
        for row in found["responses"]
    ]
    assert rows == [
        ("b.example", "E-1", 0, [0, 1]),
        ("b.example", "E-1", 1, []),
        ("b.example", "N-2", 0, [1]),
        ("b.example", "N-2", 1, [0]),
        ("c.example", "N-2", 0, [2]),
        ("c.example", "N-2", 1, [2]),
    ]
    assert [row["confidence"] for row in found["responses"]][:4] == [
        0.0,
        1.0,
        0.75,
        None,
    ]
    marked = [
        (row["paragraph_id"], row["sentence"], row["here"])
        for row in found["highlights"]
    ]
    assert marked == [
        ("b.example/0/1", 1, True),
        ("b.example/1/0", 0, True),
        ("c.example/0/9", 0, False),
        ("c.example/0/9", 0, False),
    ]
    assert found["notes"] == {
        "highlights_beyond_our_sentences": 0,
        "highlights_outside_the_policies": 2,
        "pairs_with_two_like_responses": 1,
        "responses_without_an_option": 1,
        "single_choices_with_several_options": 0,
        "sites_coded_without_a_policy_here": 1,
        "sites_with_a_policy_and_no_coding": 1,
    }


def test_the_rows_fit_their_schema_and_the_same_files_give_the_same_bytes(
    given, tmp_path
):
    published, written = given(), []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        write_all(TABLES["privacy"], raw.read("privacy", published).of, folder)
        written.append({path.name: path.read_bytes() for path in folder.glob("[!.]*")})
    assert written[0] == written[1] and len(written[0]) == 8


def changed(records, *path, to):
    """A copy of records with the value at ``path`` replaced."""
    found = copy.deepcopy(records)
    at = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return found


MARKS = (0, "responses", 0, "highlighted_sentences")


@pytest.mark.parametrize("mark", [[2, 0, 0], [1, 1, 0]])
def test_a_highlight_outside_the_documents_of_its_site_raises(given, mark):
    place = f"b.example/{mark[0]}/{mark[1]} for N-2 lies outside"
    with pytest.raises(BadInput, match=place):
        tables(given(codings=changed(CODINGS, *MARKS, to=[mark])))


def test_highlights_outside_the_documents_of_other_snapshots_are_counted(given):
    codings = changed(CODINGS, *MARKS, to=[[2, 0, 0], [1, 1, 0], [0, 0, 0]])
    found = tables(given(codings=codings, variant="stand_in"))
    assert [
        row["here"] for row in found["highlights"] if row["site"] == "b.example"
    ] == [True, False, False]
    assert found["notes"]["highlights_outside_the_policies"] == 4


def test_highlights_of_missing_sentences_are_counted_without_an_error(given):
    codings = changed(CODINGS, *MARKS, to=[[0, 1, 2], [0, 1, 1]])
    assert (
        tables(given(codings=codings))["notes"]["highlights_beyond_our_sentences"] == 1
    )


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("", []),
        ("  \n", []),
        ("One. Two!  Three?", ["One.", "Two!", "Three?"]),
        ("We use e.g. cookies. See Sec. 4.", ["We use e.g. cookies.", "See Sec. 4."]),
        ("The U.S. Shield is over.", ["The U.S. Shield is over."]),
        ("A heading", ["A heading"]),
    ],
)
def test_paragraphs_are_split_into_sentences(paragraph, sentences):
    assert [
        paragraph[start:end] for start, end in raw.sentence_spans(paragraph)
    ] == sentences


def test_sentences_do_not_depend_on_the_load_of_the_machine():
    """Punkt's own limit is the time of a match, which another process can make
    longer.
    """
    assert raw.sentence_spans("One. Two.") == [(0, 4), (5, 9)]
    assert redos.DEFAULT_TIMEOUT is None
