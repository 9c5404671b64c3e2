"""Members of released zips, and damaged zips."""

import zipfile
from contextlib import nullcontext

import pytest

from lextables.pipeline.errors import BadInput
from lextables.sources.archives import Bounds, OverBounds, check_members, member, opened, read_member


@pytest.fixture
def release(tmp_path):
    path = tmp_path / "release.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("v1/rows.csv", "v1/a/notes.txt", "v1/b/notes.txt", "v1/my-rows.csv"):
            archive.writestr(name, name * 100)
    return path


def test_a_member_is_found_in_any_top_folder_and_must_be_unique(release):
    with opened(release) as archive:
        assert member(archive, "rows.csv") == "v1/rows.csv"
        assert member(archive, "a/notes.txt") == "v1/a/notes.txt"
        with pytest.raises(BadInput, match=r"^release\.zip: holds 2 files called notes\.txt where there"):
            member(archive, "notes.txt")
        with pytest.raises(BadInput, match=r"^release\.zip: holds 0 files called absent where there"):
            member(archive, "absent")


@pytest.mark.parametrize("size", [0, 100, 2000])
def test_a_truncated_zip_raises(release, size):
    release.write_bytes(release.read_bytes()[:size])
    match = r"^release\.zip: the zip is cut short or damaged \(.*\); fetch it again\.$"
    with pytest.raises(BadInput, match=match), opened(release):
        pass


def test_a_damaged_member_raises(release):
    content = bytearray(release.read_bytes())
    content[100] ^= 0xFF
    release.write_bytes(bytes(content))
    match = r"^release\.zip: the zip is cut short or damaged \(Bad CRC"
    with pytest.raises(BadInput, match=match), opened(release) as archive:
        archive.read("v1/rows.csv")


MEBIBYTE = 1 << 20  # the ratio limits larger members only


@pytest.mark.parametrize(
    ("size", "bounds", "refused"),
    [
        (MEBIBYTE, {"member": MEBIBYTE, "volume": MEBIBYTE, "ratio": 2}, False),
        (MEBIBYTE, {"member": MEBIBYTE - 1}, True),
        (MEBIBYTE, {"volume": MEBIBYTE - 1}, True),
        (MEBIBYTE + 1, {"ratio": 2}, True),
    ],
)
def test_a_zip_may_have_exactly_the_allowed_size(tmp_path, size, bounds, refused):
    path = tmp_path / "release.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", bytes(size))
    with zipfile.ZipFile(path) as archive:
        expected = pytest.raises(OverBounds) if refused else nullcontext()
        with expected:
            check_members(archive, Bounds(**bounds))
            assert len(read_member(archive, "rows.csv", Bounds(**bounds))) == size
