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
    """Return a coder's response: labels of options, and highlights as (document,
    paragraph, sentence).
    """
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
def write_files(tmp_path):
    """Return a function that writes the three files, changed by a test, and returns the
    reader's input.
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


def read_tables(published):
    """Return {table: its rows}, and the reader's "notes"."""
    rows = raw.read("privacy", published)
    tables = {name: list(table) for name, table in rows.of.items()}
    return tables | {"notes": rows.notes}


def test_policies_are_sorted_by_site_and_paragraphs_numbered_by_site(write_files):
    tables = read_tables(write_files())
    assert [
        (row["site"], row["documents"], row["paragraphs"], row["words"])
        for row in tables["sites"]
    ] == [("a.example", 1, 2, 2), ("b.example", 2, 3, 12), ("c.example", 0, 0, 0)]
    assert [
        (row["site"], row["place"], row["paragraph_id"]) for row in tables["paragraphs"]
    ] == [
        ("a.example", 0, "a.example/0/0"),
        ("a.example", 1, "a.example/0/1"),
        ("b.example", 0, "b.example/0/0"),
        ("b.example", 1, "b.example/0/1"),
        ("b.example", 2, "b.example/1/0"),
    ]
    names = [row["name"] for row in tables["documents"]]
    assert names == ["Privacy", "Privacy", "Terms"]


def test_a_paragraph_has_rows_of_its_sentences_and_an_empty_one_has_none(write_files):
    tables = read_tables(write_files())
    paragraph = tables["paragraphs"][3]
    assert paragraph["paragraph_id"] == "b.example/0/1"
    sentences = []
    for row in tables["sentences"]:
        if row["paragraph_id"] == "b.example/0/1":
            sentences.append(paragraph["text"][row["start"] : row["end"]])
    assert sentences == ["One.", "Two two."]
    with_sentences = {row["paragraph_id"] for row in tables["sentences"]}
    assert "a.example/0/0" not in with_sentences


def test_the_documents_of_a_site_may_be_in_several_records(write_files):
    one, other = POLICIES[0]["policy_documents"]
    split = [
        {"url": "b.example", "policy_documents": [one]},
        POLICIES[1],
        {"url": "b.example", "policy_documents": [other]},
    ]
    assert read_tables(write_files(policies=split)) == read_tables(write_files())


def test_a_document_that_a_site_has_twice_raises(write_files):
    """Highlights name a document by its label."""
    with pytest.raises(BadInput, match=r"^policies\.ndjson: .* b\.example/0/0 appears"):
        read_tables(write_files(policies=[*POLICIES, POLICIES[0]]))


def test_document_labels_may_be_numbers(write_files):
    numbered = copy.deepcopy(POLICIES)
    for site in numbered:
        for document in site["policy_documents"]:
            document["label"] = int(document["label"])
    assert read_tables(write_files(policies=numbered)) == read_tables(write_files())


def test_codings_are_converted_to_responses_and_highlights(write_files):
    tables = read_tables(write_files())
    responses = [
        (row["site"], row["question_id"], row["response"], row["options"])
        for row in tables["responses"]
    ]
    assert responses == [
        ("b.example", "E-1", 0, [0, 1]),
        ("b.example", "E-1", 1, []),
        ("b.example", "N-2", 0, [1]),
        ("b.example", "N-2", 1, [0]),
        ("c.example", "N-2", 0, [2]),
        ("c.example", "N-2", 1, [2]),
    ]
    # Ratings from 1 to 5 become shares.
    confidences = [row["confidence"] for row in tables["responses"]]
    assert confidences[:4] == [0.0, 1.0, 0.75, None]
    highlights = [
        (row["paragraph_id"], row["sentence"], row["here"])
        for row in tables["highlights"]
    ]
    assert highlights == [
        ("b.example/0/1", 1, True),
        ("b.example/1/0", 0, True),
        ("c.example/0/9", 0, False),
        ("c.example/0/9", 0, False),
    ]
    assert tables["notes"] == {
        "highlights_beyond_our_sentences": 0,
        "highlights_outside_the_policies": 2,
        "pairs_with_two_like_responses": 1,
        "responses_without_an_option": 1,
        "single_choices_with_several_options": 0,
        "sites_coded_without_a_policy_here": 1,
        "sites_with_a_policy_and_no_coding": 1,
    }


def test_the_rows_fit_their_schema_and_the_same_files_give_the_same_bytes(
    write_files, tmp_path
):
    published = write_files()
    contents = []  # of the folders, {file: bytes}
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        write_all(TABLES["privacy"], raw.read("privacy", published).of, folder)
        contents.append({path.name: path.read_bytes() for path in folder.glob("[!.]*")})
    assert contents[0] == contents[1]
    assert len(contents[0]) == 8


def codings_with_highlights(*highlights):
    """Return a copy of `CODINGS` whose first response has these highlights, as
    (document, paragraph, sentence).
    """
    codings = copy.deepcopy(CODINGS)
    codings[0]["responses"][0]["highlighted_sentences"] = [*map(list, highlights)]
    return codings


@pytest.mark.parametrize(
    ("document", "paragraph"),
    [
        (2, 0),  # the site has documents 0 and 1
        (1, 1),  # document 1 has one paragraph
    ],
)
def test_a_highlight_outside_the_documents_of_its_site_raises(
    write_files, document, paragraph
):
    files = write_files(codings=codings_with_highlights((document, paragraph, 0)))
    message = f"b.example/{document}/{paragraph} for N-2 lies outside"
    with pytest.raises(BadInput, match=message):
        read_tables(files)


def test_highlights_outside_the_documents_of_other_snapshots_are_counted(write_files):
    codings = codings_with_highlights((2, 0, 0), (1, 1, 0), (0, 0, 0))
    tables = read_tables(write_files(codings=codings, variant="stand_in"))
    highlights = [row for row in tables["highlights"] if row["site"] == "b.example"]
    assert [row["here"] for row in highlights] == [True, False, False]
    # Two of them, and two of c.example, which has no policy here.
    assert tables["notes"]["highlights_outside_the_policies"] == 4


def test_highlights_of_missing_sentences_are_counted_without_an_error(write_files):
    # The paragraph has sentences 0 and 1.
    codings = codings_with_highlights((0, 1, 2), (0, 1, 1))
    tables = read_tables(write_files(codings=codings))
    assert tables["notes"]["highlights_beyond_our_sentences"] == 1


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
    spans = raw.sentence_spans(paragraph)
    assert [paragraph[start:end] for start, end in spans] == sentences


def test_sentences_do_not_depend_on_the_load_of_the_machine():
    """Punkt's own limit is the time of a match, which another process can make
    longer.
    """
    assert raw.sentence_spans("One. Two.") == [(0, 4), (5, 9)]
    assert redos.DEFAULT_TIMEOUT is None
