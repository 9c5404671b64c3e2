"""A data set in a paper's file: the package of its reader, and its files in a
mirror.
"""

from lextables.registry import modules
from lextables.registry.paper import DataSet


def test_a_data_set_may_have_a_reader_outside_the_papers_package():
    assert DataSet(files={"a": "b/c"}).package("ledgar") == "ledgar"
    entry = DataSet(files={"a": "b/c"}, reader="corpora.nli")
    assert (
        modules.module(entry.package("ledgar"), "schema").__name__
        == "lextables.corpora.nli.schema"
    )


def test_alternative_files_of_a_mirror_are_used_if_the_files_are_missing(tmp_path):
    entry = DataSet(
        files={"spans": ("m/train.json", "m/test.json"), "zip": "m/a.zip"},
        instead={"spans": "m/b"},
    )
    named = {"spans": ["m/train.json", "m/test.json"], "zip": ["m/a.zip"]}
    mirrors = [tmp_path / name for name in ("one", "two")]
    assert entry.named([]) == entry.named(mirrors) == named
    for mirror in mirrors:
        (mirror / "m").mkdir(parents=True)
    (mirrors[1] / "m/b").touch()
    (mirrors[0] / "m/train.json").touch()
    assert entry.named(mirrors) == named | {"spans": ["m/b"]}
    (mirrors[1] / "m/test.json").touch()
    assert entry.named(mirrors) == named
