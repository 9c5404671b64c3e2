"""The released data set, built from ID files and case bodies that were written for
these tests.
"""

import pytest

from helpers.caselaw_volume import bulk_row, metadata, write_bulk, write_zip
from helpers.released_files import (
    CITED,
    CITING,
    DISSENT,
    body,
    twin_rows,
    write_ids,
    write_masks,
)
from lextables import ROOT
from lextables.papers.lawngnli.hypotheses.parsers import parser
from lextables.papers.lawngnli.released.dataset import Released, differences, judged
from lextables.papers.lawngnli.released.hypotheses import hypotheses, write_shard
from lextables.papers.lawngnli.released.ids import ROWS, read_ids, read_masks
from lextables.papers.lawngnli.released.text import (
    cases,
    majority,
    opinions,
    parenthetical,
    short_premise,
    short_spans,
    unlabelled,
)
from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput
from lextables.sources.entries import load, registry_texts, with_registry_texts
from lextables.tables.inputs import comparable
from lextables.tables.published import PublishedCell

TEXT = "The lessee can't hold over & pay.\n A later @12@ page: he may not hold over.\n "
BODIES = {1: body(CITED), 2: body(CITING, DISSENT)}


@pytest.mark.parametrize("markup", ["html", "xml"])
def test_html_and_xml_give_the_text_of_the_released_code(markup):
    cited, dissent = opinions(body(CITED, DISSENT, markup=markup, note="A note."))
    assert cited == {"type": "majority", "text": TEXT + "\n A note.\n \n "}
    assert dissent == {
        "type": "dissent",
        "text": "I would affirm.\n \n A note.\n \n \n",
    }
    assert majority([dissent, cited]) == (1, cited["text"])
    assert majority([cited, cited]) is None
    assert opinions("<casebody></casebody>\n") == []


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (["12"], "A later  page: he may not hold over.\n "),
        (
            ["11"],
            "The lessee can't hold over & pay.\n A later  page: he may not hold over.",
        ),
        (["11", "12"], None),
        (["99"], ""),
    ],
)
def test_a_short_premise_contains_the_paragraphs_of_its_pages(pages, expected):
    found = short_premise(TEXT, short_spans(TEXT, pages))
    if expected is not None:
        assert found.rstrip("\n") == expected
    else:
        assert found.count("A later") == 2  # a paragraph on two pages occurs twice


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        (9, 35, "lessee would not hold over"),
        (8, 35, None),
        (10, 35, None),
        (9, 34, None),
        (9, 36, None),
        (9, 9, None),
        (9, 9000, None),
        (9000, 9009, None),
    ],
)
def test_offsets_refer_to_text_without_labels_and_contractions(start, end, found):
    assert (
        parenthetical("See @3@Roe (lessee wouldn't hold over) again.", start, end)
        == found
    )


@pytest.fixture(scope="module")
def trees():
    return parser("dependencies")


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("holding that the lessee may not hold over", {}, "the lessee may hold over"),
        ("the lessee pays rent", {}, "the lessee does not pay rent"),
        ("the court plainly did not err", {}, "the court plainly erred"),
        ("the rule is clear", {"flipped": False}, "the rule is clear"),
        ("the rule is clear", {"contradicted": False}, "the rule is clear"),
        # The next two rows reproduce errors of the released code.
        (
            "the court didn't err",
            {"expanded": True, "flipped": False},
            "the court do not err",
        ),
        ("lessee saw it. It was void.", {}, "lessee did not saw it.  It was void."),
        (
            "lessee saw it. It was void.",
            {"sentence": 1},
            "lessee saw it. It was not void.",
        ),
        ("lessee saw it. It was void.", {"sentence": 2}, None),
        ("no one objected to it", {}, None),
        (
            "the rule is clear",
            {"index": 70471},
            "the rule is not clearnot",
        ),  # edited by the authors
        (
            "the lessee failed to pay",
            {"index": 7559},
            "the lessee did not fail tonot  pay",
        ),
        (
            "the court did not err",
            {"index": 6941, "flipped": False},
            "the court do not err",
        ),
    ],
)
def test_hypotheses_equal_those_of_the_released_code(text, changes, expected, trees):
    row = {
        "index": 1,
        "expanded": False,
        "contradicted": True,
        "flipped": True,
        "sentence": 0,
        "clause": [],
    }
    assert hypotheses([(row | changes, text)], trees) == [expected]


def volume(tmp_path, markup="html"):
    """Write a volume with cases 1 and 2, as a zip file or as a file of the bulk
    export.
    """
    if markup == "html":
        entries = {str(n): (metadata(n), text) for n, text in BODIES.items()}
        return write_zip(tmp_path / "1.zip", entries)
    rows = [bulk_row(n, "") for n in BODIES]
    for row, of in zip(rows, ((CITED,), (CITING, DISSENT)), strict=True):
        row["casebody"]["data"] = body(*of, markup="xml")
    return write_bulk(tmp_path / "us.jsonl.xz", [*rows, bulk_row(8, "")])


@pytest.fixture
def released(tmp_path, trees):
    """Return a function that builds the data set from rows of an ID file and returns it
    with its tables.
    """

    def build(rows, markup="html", cut=None):
        names = ("rows", "cases", "texts", "examples", "long_premises", "unfiltered")
        ids, of_cases, texts, *tables = [tmp_path / f"{name}.parquet" for name in names]
        write(ROWS, read_ids(write_ids(tmp_path / "ids.xz", rows)), ids)
        write_shard(ids, [volume(tmp_path, markup)], trees, of_cases, texts)
        masks = cut and read_masks(write_masks(tmp_path / "masks.xz", *cut))
        made = Released(ids, [of_cases], [texts], masks)
        made.write(*tables)
        return made, [list(read(path)) for path in tables]

    return build


@pytest.mark.parametrize("markup", ["html", "xml"])
def test_twins_are_written_with_the_schemas_of_the_built_data_set(released, markup):
    made, (examples, long_premises, unfiltered) = released(twin_rows(41), markup)
    first, twin = examples
    assert first["hypothesis"] == "lessee would not hold over"
    assert twin["hypothesis"] == "lessee would hold over"
    assert (first["label"], first["is_twin"]) == ("entail", False)
    assert (twin["label"], twin["is_twin"]) == ("contradict", True)
    original = first["short_premise_original"]
    assert original.startswith("A later  page: he may not hold over.")
    (span,) = first["premise_spans"]
    (premise,) = long_premises
    assert premise["original"].split() == unlabelled(TEXT).split()
    assert premise["original"][span["start"] : span["end"]] == original
    assert (premise["case_id"], premise["opinion_id"]) == (1, "1-0")
    assert first["cited_jurisdiction"] == "Testland"
    assert [row["example_id"] for row in unfiltered] == ["000041"]
    assert made.masks_fault == "the filter file is not here"
    assert made.named() == {}
    assert made.funnel()[-1][1] == 2


def test_masks_remove_characters_from_the_premises(released):
    rows = [*twin_rows(41), *twin_rows(51, caseid=2, cited_pages=frozenset({"11"}))]
    made, (examples, _, _) = released(rows)
    long, short = masks_of(made, removed=4)
    made, (cut, premises, _) = released(rows, cut=(long, short))
    assert made.masks_fault == ""
    for row in cut:
        assert row["short_premise"] == row["short_premise_original"][4:]
    assert premises[0]["text"] == premises[0]["original"][4:]
    made, (other, _, _) = released(rows, cut=(f"{long}1", short))
    assert made.masks_fault.startswith("the long premises have ")
    assert other == examples


def masks_of(made, removed):
    """Return the masks of the long and short premises that remove their first
    characters.
    """
    masks = {"long": "", "short": ""}
    for row in made.rows:
        for name, characters in row["characters"].items():
            masks[name] += "0" * removed + "1" * (characters - removed)
    return masks["long"], masks["short"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"caseid": 98}, {"the citing case is not found: citing_case_id": [98]}),
        ({"cited_case": 99}, {"the cited case is not found: cited_case_id": [99]}),
        (
            {"cited_pages": frozenset({"70"})},
            {"the opinion has none of the pages: index": [51, 52]},
        ),
        ({"cited_pages": None}, {"the opinion has none of the pages: index": [51, 52]}),
        ({"end_index": 9000}, {"the offsets do not fit: index": [51, 52]}),
        ({"start_index": 11}, {"the offsets do not fit: index": [51, 52]}),
        ({"i": 7}, {"the offsets do not fit: index": [51, 52]}),
        (
            {"sent_id": 7},
            {
                "the clause to contradict is not found: index": [52],
                "the twin is left out: index": [51],
            },
        ),
    ],
)
def test_invalid_rows_are_excluded_with_their_twins_and_reported(
    released, change, named, tmp_path
):
    made, (examples, _, _) = released([*twin_rows(41), *twin_rows(51, **change)])
    assert [row["example_id"] for row in examples] == ["000041", "000041"]
    assert made.named() == named
    assert made.funnel()[-1][1] == 2
    faults = [fault.partition(": ")[0] for fault in named]
    found = differences(made, tmp_path, [], "")
    assert [line.partition("rows: ")[2] for line in found[:-1]] == sorted(faults)
    assert (
        found[-1] == "citations are removed by our rules: the filter file is not here"
    )


def test_data_with_the_published_counts_has_no_differences(released, tmp_path):
    rows = twin_rows(41)
    made, _ = released(rows)
    made, _ = released(rows, cut=masks_of(made, removed=0))
    values = {
        "Unique training premises": "1",
        "Unique training hypotheses": "2",
        "Training examples": "2",
    }
    cells = []
    for row, value in values.items():
        for premise in ("Long", "Short"):
            place = f"LawngNLI / {row}", f"{premise} premises / Full"
            cells.append(PublishedCell("table2", *place, value, 0, ""))
    assert differences(made, tmp_path, cells, "") == []
    assert differences(made, tmp_path, cells, "other trees") == ["other trees"]
    column = 'Long premises / "Analysis" subset'
    cells.append(PublishedCell("table2", cells[-1].row, column, "3", 0, ""))
    found = differences(made, tmp_path, cells, "")
    assert found == [f"Table 2, Training examples, {column}: 2 and not 3"]


@pytest.mark.parametrize(
    ("found", "variant"),
    [([], "release"), (["2 rows: …", "other trees"], "incomplete release")],
)
def test_comparability_depends_on_the_counts_and_not_on_the_registry(found, variant):
    names = ["lawngnli_ids", "caselaw"]
    texts = registry_texts(load(ROOT / "resources/sources.yaml"), names)
    sources = [{"source": name, "file": "f", "variant": "unverified"} for name in names]
    shown = with_registry_texts(judged(sources, found), texts)
    assert {source["variant"] for source in shown} == {variant}
    assert {source["comparable"] for source in shown} == {not found}
    assert comparable(shown) == (not found)
    assert "other trees" in shown[0]["note"] or not found


def test_an_unreadable_volume_raises_an_error(tmp_path):
    path = volume(tmp_path, "xml")
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(
        BadInput,
        match=r"us\.jsonl\.xz: the volume cannot be read .*; fetch it again\.$",
    ):
        cases([path], {1})


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"null",
        b'{"id": [1]}',
        bulk_row(1, "", casebody=None),
        bulk_row(1, "", casebody={"status": "ok", "data": 1}),
        bulk_row(1, "", jurisdiction={"name_long": None}),
        bulk_row(True, ""),
    ],
)
def test_a_bad_row_of_the_bulk_export_is_skipped_and_the_first_of_an_id_used(
    tmp_path, bad
):
    second = bulk_row(1, "<p>Second.</p>", jurisdiction={"name_long": "Elsewhere"})
    path = write_bulk(tmp_path / "c.jsonl", [bad, bulk_row(1, "<p>First.</p>"), second])
    rows = cases([path], {1})
    assert [(row["case_id"], row["jurisdiction"]) for row in rows] == [(1, "Testland")]
