"""Digests, against values computed by sha256sum, md5sum and git hash-object."""

import pytest

from lextables.sources.digest import Digests

KNOWN = {
    "sha256": "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
    "md5": "md5:b1946ac92492d2347c6235b4d2611184",
    "git-blob": "git-blob:ce013625030ba8dba906f756967f9e9ca394464a",
}


@pytest.mark.parametrize("kind", KNOWN)
def test_a_stream_has_the_digest_that_the_usual_tool_prints(kind):
    digests = Digests([kind], 6)
    for data in (b"hel", b"", b"lo\n"):
        digests.update(data)
    assert (digests.of(kind), digests.of("sha256"), digests.bytes) == (KNOWN[kind], KNOWN["sha256"], 6)


def test_a_git_blob_needs_the_length_first():
    with pytest.raises(ValueError, match="a git-blob digest needs the length of the file"):
        Digests(["git-blob"])
