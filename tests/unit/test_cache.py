"""The user's cache: its place, and one sentence if it cannot be written."""

import pwd
from pathlib import Path

import pytest

from lextables.corpora.edgar import pages
from lextables.papers.lawngnli.citations import resolution
from lextables.pipeline.cache import make_cache, user_cache
from lextables.pipeline.errors import BadInput


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_the_cache_is_in_the_home_folder_or_where_the_variable_says(
    home, tmp_path, monkeypatch
):
    assert user_cache() == home / ".cache/lextables"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert user_cache() == tmp_path / "other/lextables"
    assert pages.default_file() == tmp_path / "other/lextables/edgar.pace"


def test_the_patterns_of_citations_are_compiled_where_the_variable_says(
    home, tmp_path, monkeypatch
):
    home.write_text("a file: nothing can be written below it")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    used = []

    class Tokenizer:
        hyperscan_db = None

        def __init__(self, cache_dir):
            used.append(Path(cache_dir))

    monkeypatch.setattr(resolution, "HyperscanTokenizer", Tokenizer)
    resolution.tokenizer.cache_clear()
    resolution.tokenizer()
    resolution.tokenizer.cache_clear()
    assert used[0].is_dir() and used[0].is_relative_to(tmp_path / "other/lextables")


def no_user(number):
    raise KeyError(f"getpwuid(): uid not found: {number}")


def test_a_cache_that_cannot_be_written_raises_one_sentence(
    home, tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    sentence = "this folder for caches cannot be written; set the environment variable XDG_CACHE_HOME"
    for value in ("file", "loop"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / value))
        with pytest.raises(BadInput, match=sentence):
            make_cache(user_cache())
    monkeypatch.delenv("XDG_CACHE_HOME")
    # A user without a home folder: nothing is written into a folder named ~.
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", no_user)
    with pytest.raises(BadInput, match=sentence):
        make_cache(user_cache())
    assert sorted(path.name for path in Path().iterdir()) == ["file", "loop"]
