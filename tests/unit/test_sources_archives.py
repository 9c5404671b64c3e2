"""Members of released zips, and damaged zips."""

import zipfile
from contextlib import nullcontext

import pytest

from lextables.pipeline.errors import BadInput
from lextables.sources.archives import (
    Bounds,
    OverBounds,
    check_members,
    member,
    opened,
    read_member,
)


@pytest.fixture
def release(tmp_path):
    path = tmp_path / "release.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (
            "v1/rows.csv",
            "v1/a/notes.txt",
            "v1/b/notes.txt",
            "v1/my-rows.csv",
        ):
            archive.writestr(name, name * 100)
    return path


def test_a_member_is_found_in_any_top_folder_and_must_be_unique(release):
    with opened(release) as archive:
        assert member(archive, "rows.csv") == "v1/rows.csv"
        assert member(archive, "a/notes.txt") == "v1/a/notes.txt"
        with pytest.raises(
            BadInput,
            match=r"^release\.zip: holds 2 files called notes\.txt where there",
        ):
            member(archive, "notes.txt")
        with pytest.raises(
            BadInput, match=r"^release\.zip: holds 0 files called absent where there"
        ):
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


SIGNATURE = b"PK\x01\x02"  # of an entry of the zip's directory
BY_METHOD = {
    "stored": zipfile.ZIP_STORED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}


def entry(content, offset, value):
    """Return a zip with a value of two bytes at ``offset`` of the first entry of its directory."""
    at = content.index(SIGNATURE) + offset
    return content[:at] + value + content[at + len(value) :]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda c: entry(c, 8, b"\x01\x00"), "is encrypted"),
        (lambda c: entry(c, 8, b"\x20\x00"), "compressed patched data"),
        (lambda c: entry(c, 8, b"\x40\x00"), "strong encryption"),
        (lambda c: entry(c, 6, b"\xff\x00"), "zip file version 25.5"),
        (
            lambda c: entry(c, 10, b"\x63\x00"),
            "That compression method is not supported",
        ),  # 99: AES
        (
            lambda c: entry(c, 10, b"\x61\x00"),
            "That compression method is not supported",
        ),  # 97: WavPack
        (lambda c: entry(c, 10, b"\x0c\x00"), ""),  # bzip2, which it is not
        (lambda c: entry(c, 10, b"\x0e\x00"), ""),  # lzma, which it is not
        (lambda c: entry(c, 16, b"\0\0\0\0"), "Bad CRC-32"),
        (lambda c: entry(c, 24, b"\x01\0\0\0"), "Bad CRC-32"),  # its size
        (lambda c: entry(c, 42, b"\x05\0\0\0"), "Bad magic number"),  # where it begins
        (lambda c: entry(c, 42, b"\xff\xff\xff\xfe"), ""),
        (lambda c: entry(c, 46, b"v2/"), "differ"),  # its name
        (
            lambda c: entry(c, 8, b"\x00\x08").replace(
                b"v1/rows.csv", b"v1/rows.\xff\xff\xff"
            ),
            "can't decode",
        ),
        (
            lambda c: (
                c[: c.index(SIGNATURE)] + b"\xff" * 40 + c[c.index(SIGNATURE) + 40 :]
            ),
            "",
        ),
        (lambda c: b"\0" * 50 + c[50:], "Bad magic number"),
        (lambda c: b"<html>" * 100, "File is not a zip file"),
    ],
)
def test_each_damage_of_a_member_is_a_sentence(release, change, fault):
    release.write_bytes(change(release.read_bytes()))
    with pytest.raises(BadInput) as error, opened(release) as archive:
        archive.read(archive.namelist()[0])
    assert str(error.value).startswith("release.zip: the zip is cut short or damaged (")
    assert fault in str(error.value)
    assert str(error.value).endswith("; fetch it again.")


@pytest.mark.parametrize("method", [*BY_METHOD, "deflate"])
@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
def test_damaged_bytes_of_a_member_are_a_sentence(tmp_path, method, at):
    path = tmp_path / "release.zip"
    with zipfile.ZipFile(
        path, "w", BY_METHOD.get(method, zipfile.ZIP_DEFLATED)
    ) as archive:
        archive.writestr("rows.csv", "".join(map(str, range(20_000))))
    content = path.read_bytes()
    place = int(len(content) * at)
    path.write_bytes(content[:place] + bytes(40) + content[place + 40 :])
    with (
        pytest.raises(
            BadInput, match=r"^release\.zip: the zip is cut short or damaged"
        ),
        opened(path) as archive,
    ):
        archive.read("rows.csv")


def test_an_error_of_the_disk_or_of_other_code_is_not_damage(release):
    for error in (
        OSError(28, "No space left"),
        RuntimeError("other"),
        RecursionError(),
    ):
        with pytest.raises(type(error)), opened(release):
            raise error
    with pytest.raises(KeyError), opened(release) as archive:
        archive.read("absent")
    with pytest.raises(FileNotFoundError), opened(release.with_name("absent.zip")):
        pass
