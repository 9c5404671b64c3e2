"""Members of released zips, and damaged zips."""

import io
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


def released():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in ("rows.csv", "a/notes.txt", "b/notes.txt", "my-rows.csv"):
            # With a fixed date: bytes are in the names of tests.
            info = zipfile.ZipInfo(f"v1/{name}")
            archive.writestr(info, name * 100)
    return content.getvalue()


RELEASE = released()


@pytest.fixture
def release(tmp_path):
    path = tmp_path / "release.zip"
    path.write_bytes(RELEASE)
    return path


def test_a_member_is_found_in_any_top_folder_and_must_be_unique(release):
    with opened(release) as archive:
        assert member(archive, "rows.csv") == "v1/rows.csv"
        assert member(archive, "a/notes.txt") == "v1/a/notes.txt"
        for name, number in (("notes.txt", 2), ("absent", 0)):
            message = rf"^release\.zip: holds {number} files called {name} where there"
            with pytest.raises(BadInput, match=message):
                member(archive, name)


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


def changed(at, value):
    """The release with other bytes at a place."""
    return RELEASE[:at] + value + RELEASE[at + len(value) :]


DIRECTORY = RELEASE.index(SIGNATURE)
# {(place in the first entry of the directory, value): fault}
ENTRIES = {
    (0, b"\xff" * 40): "",
    (6, b"\xff\x00"): "zip file version 25.5",
    (8, b"\x01\x00"): "is encrypted",
    (8, b"\x20\x00"): "compressed patched data",
    (8, b"\x40\x00"): "strong encryption",
    (10, b"\x63\x00"): "That compression method is not supported",  # AES
    (10, b"\x61\x00"): "That compression method is not supported",  # WavPack
    (10, b"\x0c\x00"): "",  # bzip2, which it is not
    (10, b"\x0e\x00"): "",  # lzma, which it is not
    (16, b"\0\0\0\0"): "Bad CRC-32",
    (24, b"\x01\0\0\0"): "Bad CRC-32",  # its size
    (42, b"\x05\0\0\0"): "Bad magic number",  # where it begins
    (42, b"\xff\xff\xff\xfe"): "",
    (46, b"v2/"): "differ",  # its name
}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        *(
            (changed(DIRECTORY + at, value), ENTRIES[at, value])
            for at, value in ENTRIES
        ),
        (
            changed(DIRECTORY + 8, b"\x00\x08").replace(
                b"rows.csv", b"rows.\xff\xff\xff"
            ),
            "can't decode",
        ),
        (changed(0, bytes(50)), "Bad magic number"),
        (changed(100, b"\xff"), "Bad CRC-32"),
        *((RELEASE[:size], "File is not a zip file") for size in (0, 100, 2000)),
        (b"<html>" * 100, "File is not a zip file"),
    ],
)
def test_each_damage_is_a_sentence(release, content, fault):
    release.write_bytes(content)
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
    message = r"^release\.zip: the zip is cut short or damaged"
    with pytest.raises(BadInput, match=message), opened(path) as archive:
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
