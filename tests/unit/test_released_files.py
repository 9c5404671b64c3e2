"""Members of released zips and rows of released csv files: what is refused, and in which words."""

import io
import zipfile

import pytest

from lextables.pipeline.errors import BadInput
from lextables.sources import archives, strict_csv


def test_a_member_is_found_under_any_top_folder_and_is_the_only_one(tmp_path):
    path = tmp_path / "release.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("v1/rows.csv", "v1/a/notes.txt", "v1/b/notes.txt", "v1/my-rows.csv"):
            archive.writestr(name, name)
    with archives.opened(path) as archive:
        assert archives.member(archive, "rows.csv") == "v1/rows.csv"
        assert archives.member(archive, "a/notes.txt") == "v1/a/notes.txt"
        with pytest.raises(BadInput, match=r"^release\.zip: holds 2 files called notes\.txt where there"):
            archives.member(archive, "notes.txt")


@pytest.mark.parametrize(
    ("content", "delimiter", "expected"),
    [
        (b"\xef\xbb\xbfa,b\r\n1,None\r\n", ",", [("f, row 1", ["a", "b"]), ("f, row 2", ["1", "None"])]),
        (b'a\tb\n"1\n2"\t3\n\n4\t5', "\t", [("f, row 1", 2), ("f, row 2", 2), ("f, row 5", 2)]),
    ],
)
def test_a_row_is_named_by_the_line_on_which_it_begins(content, delimiter, expected):
    found = list(strict_csv.rows(io.BytesIO(content), "f", delimiter))
    assert [
        (where, len(cells) if isinstance(e, int) else cells)
        for (where, cells), (_, e) in zip(found, expected, strict=True)
    ] == expected


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "f: the file is empty; fetch it again."),
        (b"a,b\n1\n", "f, row 2: has 1 cells where there should be 2; quote the cells that hold a comma."),
        (b"a,b\n1,\x93\n", "f, row 2: the byte 0x93 is not UTF-8; restore the file from the release."),
        (b'a,b\n1,"x"y\n', "f, row 2: the row that begins here is no csv ("),
        (b'a,b\n\n1,"x\ny', "f, row 3: the row that begins here is no csv ("),
    ],
)
def test_a_fault_is_one_sentence(content, sentence):
    with pytest.raises(BadInput) as error:
        list(strict_csv.rows(io.BytesIO(content), "f"))
    assert str(error.value).startswith(sentence)
