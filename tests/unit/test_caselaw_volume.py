"""Volumes of case law: reading of both layouts, and handling of invalid input."""

import json
import lzma

import pytest

from helpers.caselaw_volume import (
    bulk_row,
    damaged,
    html,
    label,
    majority,
    metadata,
    write_bulk,
    write_members,
    write_zip,
)
from lextables.corpora.caselaw.opinion import Opinion, Page
from lextables.corpora.caselaw.volume import bodies, case_ids, read_volume
from lextables.sources.archives import Bounds

GOOD = majority("A good opinion.")
METADATA = "metadata/CasesMetadata.json"


def read(path, *bounds):
    opinions, faults = [], []
    for item in read_volume(path, *bounds):
        (opinions if isinstance(item, Opinion) else faults).append(item)
    return opinions, faults


def one(tmp_path, body, **changes):
    case = metadata(1, "7 Test 10", **changes), body
    return read(write_zip(tmp_path / "1.zip", {"case": case}))


def labels(opinion):
    return [page.label for page in opinion.pages]


def beside_good(tmp_path, body, **changes):
    """Read a volume with the tested case between two valid cases; return its opinions
    and all faults.
    """
    cases = {
        "before": (metadata(1), GOOD),
        "bad": (metadata(2, **changes), body),
        "after": (metadata(3), GOOD),
    }
    opinions, faults = read(write_zip(tmp_path / "7.zip", cases))
    assert [o.case_id for o in opinions if o.case_id != 2] == [1, 3]
    return [o for o in opinions if o.case_id == 2], faults


def test_text_pages_and_footnotes_are_read(tmp_path):
    paragraphs = [
        '<p class="author">ROE, J.</p>',
        f"The   first {label(11)} page\n ends<a class='footnotemark' href='#f'>1</a>.",
        f"<blockquote>“Quoted {label(12, index=2)}<em>words</em>”</blockquote>",
        f"{label(12)}Last page.",
        f"<aside class='footnote'><a href='#r'>1</a><p>A note {label(13)} here.</p></aside>",
    ]
    body = majority(*paragraphs, head=f"x {label(10)} y")
    (opinion,), faults = one(tmp_path, body, last_page="12")
    assert faults == []
    text = "ROE, J.\nThe first page ends.\n“Quoted words”\nLast page.\nA note here."
    assert opinion.text == text
    assert opinion.text[opinion.body_end :] == "\nA note here."
    assert [(p.label, opinion.text[p.offset :][:4]) for p in opinion.pages] == [
        ("10", "ROE,"),
        ("11", "page"),
        ("12", "Last"),
    ]
    assert opinion.opinion_id == "1-0"
    assert (opinion.author, opinion.majorities) == ("ROE, J.", 1)
    assert (opinion.reporter, opinion.volume) == ("Test", "7")
    assert opinion.citations == ("7 Test 10",)


def test_a_footnote_heading_ends_the_body(tmp_path):
    paragraphs = [f"{label(10)}Text. [Footnote 1] More.", "[Footnote 1]", "A note."]
    (opinion,), _ = one(tmp_path, majority(*paragraphs))
    assert opinion.text[: opinion.body_end] == "Text. [Footnote 1] More."


def test_the_first_page_of_an_opinion_is_inferred(tmp_path):
    body = html(
        ("majority", ["Starts before its first label.", f"Then {label(12)} goes on."]),
        ("dissent", ["Has no label."]),
        ("dissent", [f"One {label(14)} label."]),
    )
    opinions, faults = one(tmp_path, body, last_page="14")
    assert faults == []
    assert list(map(labels, opinions)) == [["11", "12"], ["12"], ["13", "14"]]
    assert all(o.pages[0].offset == 0 for o in opinions)


def test_a_case_on_one_page_needs_no_label(tmp_path):
    (opinion,), faults = one(tmp_path, GOOD)
    assert faults == []
    assert opinion.pages == (Page("10", 0),)


def test_the_official_citation_comes_first(tmp_path):
    citations = [
        {"type": "parallel", "cite": "5 Other 6"},
        {"type": "official", "cite": "7  Test 10"},
    ]
    (opinion,), _ = one(tmp_path, GOOD, citations=citations)
    assert opinion.citations == ("7 Test 10", "5 Other 6")
    assert (opinion.volume, opinion.reporter) == ("7", "Test")


NO_PAGES, REST, LEFT_OUT = (
    "its text is kept without pages",
    "the rest is kept",
    "the case is left out",
)
# {name: (body, changes of the metadata, fault, {text that is kept: labels of its
# pages})}
BAD_CASES = {
    "no page labels": (
        majority("Some text."),
        {"last_page": "9"},
        f": it spans several pages and labels none; {NO_PAGES}.",
        {"Some text.": []},
    ),
    "two majority opinions": (
        html(("majority", ["One."]), ("majority", ["Two."])),
        {},
        f": it has 2 majority opinions, so none serves as a premise; {REST}.",
        {"One.": ["1"], "Two.": ["1"]},
    ),
    "pages out of order": (
        majority(f"{label(9)}a {label(5)}b {label(8)}c {label(3)}d"),
        {"last_page": "9"},
        f", opinion 0: its pages are out of order; {NO_PAGES}.",
        {"a b c d": []},
    ),
    "one misprinted label": (
        majority(f"{label(1)}a {label(2)}b {label(33)}c {label(4)}d {label(5)}e"),
        {"last_page": "5"},
        f", opinion 0: page label 33 is out of order and is dropped; {REST}.",
        {"a b c d e": ["1", "2", "4", "5"]},
    ),
    "control characters": (
        majority("A\x00 B\x1b C\x85"),
        {},
        f": 3 control characters were made spaces; {REST}.",
        {"A B C": ["1"]},
    ),
    "no opinion": (html(), {}, f": it has no opinion; {LEFT_OUT}.", {}),
    "empty file": (
        "",
        {},
        f": its HTML cannot be parsed (Document is empty); {LEFT_OUT}.",
        {},
    ),
    "not UTF-8": (
        b"<p>\xff</p>",
        {},
        f": it is not UTF-8 (invalid start byte at byte 3); {LEFT_OUT}.",
        {},
    ),
    "a page label of 6,000 digits": (
        majority(f"{label('9' * 6000)}a"),
        {},
        f": a page label has 6,000 characters; {LEFT_OUT}.",
        {},
    ),
    "a page label of 6,000 digits before the opinion": (
        majority("a", head=label("9" * 6000)),
        {},
        f": a page label has 6,000 characters; {LEFT_OUT}.",
        {},
    ),
    "too many opinions": (
        html(*[("dissent", ["No."])] * 1001),
        {},
        f": it has 1,001 opinions; {LEFT_OUT}.",
        {},
    ),
}


@pytest.mark.parametrize("name", BAD_CASES)
def test_an_invalid_case_is_reported_and_valid_parts_and_others_are_kept(
    tmp_path, name
):
    body, changes, sentence, expected = BAD_CASES[name]
    kept, faults = beside_good(tmp_path, body, **changes)
    assert [str(fault) for fault in faults] == [f"7.zip, html/0002-01.html{sentence}"]
    assert {opinion.text: labels(opinion) for opinion in kept} == expected
    majorities = 2 if "majority" in name else 1
    assert {opinion.majorities for opinion in kept} <= {majorities}


NESTED: list = []
for _ in range(500):
    NESTED = [NESTED]
WRONG_METADATA = [
    ("id", None, "id = nothing is not allowed"),
    ("id", True, "id = True is not allowed"),
    ("id", 3.0, "id = 3.0 is not allowed"),
    ("id", 0, "id = 0 is not allowed"),
    ("id", "007", "id = '007' is not allowed"),
    ("id", 1 << 63, "id = 9223372036854775808 is not allowed"),
    ("id", 10**30, "id = 1e+30 is not allowed"),
    ("decision_date", None, "decision_date = nothing is not allowed"),
    *(
        ("decision_date", date, "decision_date: a date is a day")
        for date in (
            "",
            "2001-02-30",
            "2001-13",
            "2001-W01-1",
            "2001-01-01\n",
            "١٩٩٠",
            "9" * 6000,
        )
    ),
    ("court", {}, "court.name is missing"),
    ("court", NESTED, "court = [[[["),
    ("jurisdiction", {"name": "Ill."}, "jurisdiction.name_long is missing"),
    ("name", 3, "name = 3 is not allowed"),
    ("first_page", "1" * 51, "first_page = '1111"),
    ("citations", ["7 Test 10"], "citations.0 = '7 Test 10' is not allowed"),
    (
        "citations",
        [{"type": "official", "cite": None}],
        "citations.0.cite = nothing is not allowed",
    ),
    (
        "citations",
        [{"type": None, "cite": "7 Test 10"}],
        "citations.0.type = nothing is not allowed",
    ),
]


@pytest.mark.parametrize(("key", "value", "sentence"), WRONG_METADATA)
def test_a_case_with_wrong_metadata_is_left_out(tmp_path, key, value, sentence):
    kept, (fault,) = beside_good(tmp_path, GOOD, **{key: value})
    assert kept == []
    case_id = value if key == "id" else 2
    place = f"7.zip, html/0002-01.html, case {case_id}: "
    if type(case_id) is not int or case_id == 10**30:
        place = "7.zip, html/0002-01.html: "
    assert str(fault).startswith(place + sentence)
    assert fault.lost == "case"
    # An id is valid without the other metadata.
    valid = {1, 3} if key in ("id", "jurisdiction") else {1, 2, 3}
    assert case_ids(tmp_path / "7.zip") == valid


@pytest.mark.parametrize("entry", [None, [], "case", 7, {}])
def test_an_entry_that_is_no_case_is_left_out(tmp_path, entry):
    members = [
        (METADATA, json.dumps([entry, metadata(1)])),
        ("html/0001-01.html", GOOD),
    ]
    opinions, faults = read(write_members(tmp_path / "7.zip", members))
    assert [o.case_id for o in opinions] == [1]
    sentence = "7.zip, metadata/CasesMetadata.json, case 1: it names no file; the case is left out."
    assert [str(fault) for fault in faults] == [sentence]


@pytest.mark.parametrize("date", ["1990", "1990-05", "2000-02-29", "1066-12-31"])
def test_every_form_of_date_is_read_as_published(tmp_path, date):
    (opinion,), faults = one(tmp_path, GOOD, decision_date=date)
    assert (opinion.date, faults) == (date, [])


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("file_name", "kept"), [("0002-01", "First."), ("0001-01", "Second.")]
)
def test_a_repeated_id_is_left_out(tmp_path, file_name, kept):
    """Of entries with one file name, the zip has one text: the last."""
    again = metadata(2, id=1, file_name=file_name)
    cases = {"1": (metadata(1), majority("First.")), "2": (again, majority("Second."))}
    opinions, (fault,) = read(write_zip(tmp_path / "7.zip", cases))
    assert [(o.opinion_id, o.text) for o in opinions] == [("1-0", kept)]
    assert fault.lost == "case"
    first = f"{tmp_path.name}/7.zip, html/0001-01.html"
    assert str(fault) == (
        f"7.zip, html/{file_name}.html, case 1: its id is also that of {first}; {LEFT_OUT}."
    )


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_second_case_with_the_file_of_another_is_left_out(tmp_path):
    again = metadata(2, file_name="0001-01")
    cases = {"1": (metadata(1), GOOD), "2": (again, GOOD), "3": (metadata(3), GOOD)}
    opinions, (fault,) = read(write_zip(tmp_path / "7.zip", cases))
    assert [o.case_id for o in opinions] == [1, 3]
    sentence = "its file is also that of an earlier case"
    assert str(fault) == f"7.zip, html/0001-01.html, case 2: {sentence}; {LEFT_OUT}."


@pytest.mark.parametrize("listed", [[], [metadata(1)]])
def test_texts_of_no_case_are_counted_as_left_out(tmp_path, listed):
    members = [
        (f"436/{METADATA}", json.dumps(listed)),
        ("436/html/0001-01.html", GOOD),
        ("436/html/0002-01.html", GOOD),
        ("436/html/._0002-01.html", "of macOS"),
        ("__MACOSX/436/html/._0002-01.html", "of macOS"),
    ]
    opinions, faults = read(write_members(tmp_path / "7.zip", members))
    assert len(opinions) == len(listed)
    lost = [fault for fault in faults if fault.lost == "case"]
    assert len(lost) == 2 - len(listed)
    sentence = f"no case in {METADATA} has this file"
    assert str(lost[-1]) == f"7.zip, html/0002-01.html: {sentence}; {LEFT_OUT}."


def test_the_second_case_of_an_id_is_kept_if_the_first_is_left_out(tmp_path):
    cases = {"1": (metadata(1), html()), "2": (metadata(2, id=1), GOOD)}
    opinions, faults = read(write_zip(tmp_path / "7.zip", cases))
    assert [(o.case_id, o.text) for o in opinions] == [(1, "A good opinion.")]
    assert [fault.where for fault in faults] == ["html/0001-01.html"]


@pytest.mark.parametrize(
    "renamed",
    [
        lambda name: f"10/{name}",
        lambda name: f"a/b/{name}",
        lambda name: f"./{name}",
        lambda name: name.replace("/", "\\"),
        lambda name: f"10\\{name}".replace("/", "\\"),
        str.upper,
    ],
)
def test_a_volume_that_was_packed_again_is_read(tmp_path, renamed):
    bom = b"\xef\xbb\xbf"
    members = [
        (renamed(METADATA), bom + json.dumps([metadata(1)]).encode()),
        (renamed("html/0001-01.html"), bom + GOOD.encode()),
        ("__MACOSX/10/metadata/._CasesMetadata.json", b"\0"),
    ]
    write_members(tmp_path / "7.zip", members)
    opinions, faults = read(tmp_path / "7.zip")
    assert [(o.case_id, o.text) for o in opinions] == [(1, "A good opinion.")]
    assert faults == []
    ((key, body),) = bodies(tmp_path / "7.zip", {1})
    assert (key.id, body) == (1, GOOD)


def test_a_zip_of_two_volumes_is_set_aside(tmp_path):
    members = [(f"{top}/{METADATA}", "[]") for top in ("1", "2")]
    write_members(tmp_path / "7.zip", members)
    (fault,) = read_volume(tmp_path / "7.zip")
    sentence = "7.zip, metadata/CasesMetadata.json: it holds 2 files of this name; the volume is set aside."
    assert str(fault) == sentence


@pytest.mark.parametrize(
    ("printed", "pages"),
    [
        (("xii", "xiii"), ["11", "xii", "xiii"]),
        (("*12", "*13"), ["11", "*12", "*13"]),
        (("12a", "12b"), ["11", "12a", "12b"]),
        (("1,012", "1,013"), ["1011", "1012", "1013"]),
        (("1,2", "3"), ["11", "1,2", "3"]),
        (("١٢", "١٣"), ["11", "١٢", "١٣"]),
        (("9" * 40, "13"), ["11", "9" * 40, "13"]),
        (("0", "1"), ["11", "0", "1"]),
    ],
)
def test_labels_that_are_no_plain_numbers(tmp_path, printed, pages):
    first, second = map(label, printed)
    body = majority("Text.", f"{first}More.", f"{second}Last.")
    (opinion,), faults = one(tmp_path, body, first_page="11", last_page="13")
    assert labels(opinion) == pages
    assert faults == []


def test_the_first_of_repeated_page_labels_is_used(tmp_path):
    body = majority(f"{label(1)}a {label(2)}b {label(2)}c {label(3)}d {label(4)}e")
    (opinion,), faults = one(tmp_path, body, last_page="4")
    assert opinion.pages == (Page("1", 0), Page("2", 2), Page("3", 6), Page("4", 8))
    assert len(faults) == 1


def test_a_case_without_its_html_is_left_out(tmp_path):
    cases = json.dumps([metadata(1), metadata(2)])
    members = [(METADATA, cases), ("html/0002-01.html", GOOD)]
    write_members(tmp_path / "7.zip", members)
    opinions, (fault,) = read(tmp_path / "7.zip")
    assert [o.case_id for o in opinions] == [2]
    assert str(fault) == f"7.zip, html/0001-01.html: the file is missing; {LEFT_OUT}."


def three(tmp_path, body):
    """Write a volume with this case between two valid cases."""
    cases = {str(n): (metadata(n), GOOD) for n in (1, 2, 3)}
    return write_zip(tmp_path / "7.zip", cases | {"2": (metadata(2), body)})


def false_size(path):
    """Write another size of the last member into a zip's directory."""
    raw = path.read_bytes()
    at = raw.rindex(b"PK\x01\x02") + 24
    path.write_bytes(raw[:at] + (10).to_bytes(4, "little") + raw[at + 4 :])
    return path


def test_a_damaged_member_removes_only_its_case(tmp_path):
    long = majority(*(f"Paragraph {n} of a long opinion." for n in range(200)))
    (tmp_path / "b").mkdir()
    damages = {
        2: damaged(three(tmp_path, long), "html/0002-01.html"),
        3: false_size(three(tmp_path / "b", long)),
    }
    for number, path in damages.items():
        opinions, faults = read(path)
        assert {1, 2, 3} - {o.case_id for o in opinions} == {number}
        assert [(f.where, f.lost) for f in faults] == [
            (f"html/000{number}-01.html", "case")
        ]


@pytest.mark.parametrize(
    ("bounds", "fault"),
    [
        (Bounds(ratio=50), "it claims to expand more than 50 times"),
        (
            Bounds(member=1 << 20),
            "it claims 4,000,145 bytes, more than the 1,048,576 allowed",
        ),
    ],
)
def test_a_zip_bomb_is_not_opened(tmp_path, bounds, fault):
    opinions, faults = read(three(tmp_path, majority("A" * 4_000_000)), bounds)
    assert [o.case_id for o in opinions] == [1, 3]
    assert list(map(str, faults)) == [f"7.zip, html/0002-01.html: {fault}; {LEFT_OUT}."]


def test_a_volume_that_claims_too_many_bytes_is_set_aside(tmp_path):
    path = write_zip(tmp_path / "7.zip", {"1": (metadata(1), GOOD)})
    opinions, faults = read(path, Bounds(volume=100))
    assert opinions == []
    assert [f.lost for f in faults] == ["volume"]
    assert "7.zip: it claims to expand to" in str(faults[0])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "7.zip",
            b"not a zip",
            "7.zip: it cannot be unzipped (File is not a zip file)",
        ),
        ("7.tar", b"", "7.tar: it is neither .zip nor .jsonl nor .jsonl.xz"),
        ("7.jsonl.xz", b"not xz", "7.jsonl.xz: it cannot be decompressed ("),
        (
            "7.jsonl.xz",
            lzma.compress(b"{}\n" * 9)[:-8],
            "7.jsonl.xz: it cannot be decompressed (",
        ),
    ],
)
def test_an_invalid_volume_is_set_aside_and_named(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    opinions, faults = read(tmp_path / name)
    assert opinions == []
    assert faults[-1].lost == "volume"
    assert str(faults[-1]).startswith(sentence)
    assert str(faults[-1]).endswith("; the volume is set aside.")


def test_a_missing_volume_is_reported(tmp_path):
    (fault,) = read_volume(tmp_path / "7.zip")
    assert fault.lost == "volume"


def test_a_zip_without_metadata_is_set_aside(tmp_path):
    (fault,) = read_volume(
        write_members(tmp_path / "7.zip", [("html/0001-01.html", GOOD)])
    )
    assert str(fault) == f"7.zip: it holds no {METADATA}; the volume is set aside."


BULK = (
    '<parties>A v. B</parties><attorneys><page-number citation-index="1" label="1">*1</page-number>C.'
    '</attorneys><opinion type="majority"><author>ROE, J.</author>'
    '<p>He cites 5 <em>Test </em><page-number citation-index="1" label="2">*2</page-number>7 here'
    '<footnotemark>1</footnotemark>.</p><footnote label="1"><p>A note &amp; more.</p></footnote></opinion>'
)


@pytest.mark.parametrize("name", ["7.jsonl", "7.jsonl.xz"])
def test_the_bulk_export_is_read(tmp_path, name):
    opinions, faults = read(
        write_bulk(tmp_path / name, [bulk_row(1, BULK), bulk_row(2, BULK)])
    )
    assert faults == []
    assert [o.case_id for o in opinions] == [1, 2]
    assert opinions[0].text == "ROE, J.\nHe cites 5 Test 7 here.\nA note & more."
    assert [(p.label, opinions[0].text[p.offset]) for p in opinions[0].pages] == [
        ("1", "R"),
        ("2", "7"),
    ]
    assert opinions[0].text[opinions[0].body_end :] == "\nA note & more."


def test_an_xz_file_with_several_streams_is_read(tmp_path):
    row = json.dumps(bulk_row(1, BULK)).encode() + b"\n"
    second = row.replace(b'"id": 1', b'"id": 2')
    streams = lzma.compress(row) + b"\0" * 4 + lzma.compress(second)
    (tmp_path / "7.jsonl.xz").write_bytes(streams)
    opinions, faults = read(tmp_path / "7.jsonl.xz")
    assert faults == []
    assert [o.case_id for o in opinions] == [1, 2]


ENTITY = (
    '<!DOCTYPE c [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    '<casebody><opinion type="majority"><p>&b;</p></opinion></casebody>'
)


def body(data, status="ok"):
    return {"status": status, "data": data}


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            bulk_row(2, "", casebody=body(ENTITY)),
            "its XML declares entities, which are refused; the case",
        ),
        (
            bulk_row(2, "<opinion><p>&x;</p></opinion>"),
            "its XML cannot be parsed (Entity 'x' not defined",
        ),
        (
            bulk_row(2, "", casebody=body(None, "error")),
            "its text was not released (status 'error');",
        ),
        (b'{"id": 2,', "its JSON cannot be parsed ("),
        (b"[]", "it has another layout than the bulk export ("),
        (
            bulk_row(2, "<opinion><p>A.</p></opinion>", decision_date=None),
            "case 2: decision_date = nothing is not allowed (allowed: text); the case",
        ),
        (bulk_row(1, BULK), "case 1: its id is also that of "),
        (b"[" * 2000 + b"]" * 2000, "its JSON cannot be parsed ("),
        (
            bulk_row(2, "<opinion><p>a\x07b</p></opinion>"),
            f"1 control character was made a space; {REST}.",
        ),
    ],
)
def test_an_invalid_row_is_reported_and_the_others_are_kept(tmp_path, row, sentence):
    rows = [bulk_row(1, BULK), row, bulk_row(3, BULK)]
    opinions, (fault,) = read(write_bulk(tmp_path / "7.jsonl", rows))
    assert [o.case_id for o in opinions if o.case_id != 2] == [1, 3]
    said = str(fault).replace("row 2, ", "row 2: ")
    assert said.startswith(f"7.jsonl, row 2: {sentence}")


def test_a_line_longer_than_the_limit_is_rejected(tmp_path):
    path = write_bulk(tmp_path / "7.jsonl.xz", [bulk_row(1, BULK), b"x" * 3_000_000])
    _, faults = read(path, Bounds(member=1 << 20))
    assert [f.lost for f in faults] == ["volume"]
    assert "a line is longer than 1,048,576 bytes" in str(faults[0])
