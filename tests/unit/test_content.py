"""Digests of files and folders of a user: they depend on the content and are cached."""

import hashlib
import os
import shutil

import pytest

from lextables.pipeline import content
from lextables.pipeline.content import Contents, folder_content


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model/1_Pooling").mkdir(parents=True)
    (tmp_path / "model/weights.bin").write_bytes(b"12345678")
    (tmp_path / "model/1_Pooling/config.json").write_text("{}")
    return tmp_path / "model"


@pytest.fixture
def read(monkeypatch):
    """Record the files whose bytes are read."""
    found, real = [], content._digest
    monkeypatch.setattr(
        content, "_digest", lambda path: found.append(path.name) or real(path)
    )
    return found


def test_the_digest_of_a_file_is_its_sha256(tmp_path, folder):
    expected = hashlib.sha256(b"12345678").hexdigest()
    assert (
        Contents(tmp_path / "kept").file(folder / "weights.bin") == f"sha256:{expected}"
    )


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        (lambda f: None, False),
        (lambda f: os.utime(f / "weights.bin"), False),
        (lambda f: (f / "weights.bin").write_bytes(b"12345678"), False),
        (lambda f: (f / ".note").write_text("hidden"), False),
        (lambda f: (f / "weights.bin").write_bytes(b"87654321"), True),
        (lambda f: (f / "1_Pooling/config.json").write_text("{ }"), True),
        (lambda f: (f / "weights.bin").rename(f / "other.bin"), True),
        (lambda f: (f / "more.json").write_text("{}"), True),
        (lambda f: (f / "weights.bin").unlink(), True),
    ],
    ids=[
        "none",
        "touch",
        "same bytes",
        "hidden",
        "bytes",
        "inner",
        "name",
        "more",
        "fewer",
    ],
)
def test_the_digest_of_a_folder_depends_on_names_and_content(
    tmp_path, folder, change, differs
):
    before = Contents(tmp_path / "kept").folder(folder)
    change(folder)
    assert (Contents(tmp_path / "kept").folder(folder) != before) == differs


def test_unchanged_files_are_read_only_once(tmp_path, folder, read):
    Contents(tmp_path / "kept").folder(folder)
    assert sorted(read) == ["config.json", "weights.bin"]
    Contents(tmp_path / "kept").folder(folder)
    assert len(read) == 2
    (folder / "weights.bin").write_bytes(b"other")
    Contents(tmp_path / "kept").folder(folder)
    assert read[2:] == ["weights.bin"]


def test_a_change_is_detected_even_if_the_modification_time_is_restored(
    tmp_path, folder
):
    path = folder / "weights.bin"
    before, times = Contents(tmp_path / "kept").file(path), path.stat()
    path.write_bytes(b"87654321")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert Contents(tmp_path / "kept").file(path) != before


def test_a_cache_that_cannot_be_written_or_read_is_ignored(tmp_path, folder):
    (tmp_path / "file").write_text("no folder")
    expected = Contents(tmp_path / "kept").folder(folder)
    assert Contents(tmp_path / "file/kept").folder(folder) == expected
    for path in (tmp_path / "kept").iterdir():
        path.write_text("{cut")
    assert Contents(tmp_path / "kept").folder(folder) == expected


def test_the_digest_of_an_output_folder_is_that_of_a_folder_of_the_user(
    tmp_path, folder
):
    digest = folder_content(folder)
    shutil.copytree(folder, tmp_path / "elsewhere/of-this-name")
    assert folder_content(tmp_path / "elsewhere/of-this-name") == digest
    # It equals the cached digest of a user's folder.
    assert Contents(tmp_path / "kept").folder(folder) == digest
    # Of a file manager that showed the folder.
    (folder / ".DS_Store").write_text("")
    (folder / ".thumbnails").mkdir()
    (folder / ".thumbnails/1.png").write_text("")
    assert folder_content(folder) == digest
    (folder / "weights.bin").write_bytes(b"12345679")
    changed = folder_content(folder)
    (folder / "weights.bin").rename(folder / "others.bin")
    assert len({digest, changed, folder_content(folder)}) == 3
