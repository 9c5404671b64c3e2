"""Volumes selected by the configuration, before any download."""

import json
import time

import pytest

from lextables.corpora.caselaw.volumes import Collection, read_collection, shards
from lextables.pipeline.errors import BadInput

ANY = Collection(frozenset({"us", "ill", "ill-2d", "f2d"}))
# Volume numbers 1, 3 and 12; number 3 has two volumes.
LISTED = Collection(frozenset({"us"}), {"us": {12: ["12"], 1: ["1"], 3: ["3", "3-2"]}})


def volume(number, reporter="us", folder=""):
    """An entry of VolumesMetadata.json with the fields that are read."""
    return {
        "volume_number": number,
        "volume_folder": folder or number,
        "reporter_slug": reporter,
    }


def mirror(folder, *, listed=None, held=()):
    for name in held:
        path = folder / "caselaw" / f"{name}.zip"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (folder / "caselaw").mkdir(parents=True, exist_ok=True)
    if listed is not None:
        (folder / "caselaw/VolumesMetadata.json").write_text(json.dumps(listed))
    return folder


def test_shards_contain_each_volume_once():
    assert shards(["us:436-438", "ill:7-9", "ill-2d:1"], 2, ANY) == {
        "us-436": ["us/436", "us/437"],
        "us-438": ["us/438"],
        "ill-7": ["ill/7", "ill/8"],
        "ill-9": ["ill/9", "ill-2d/1"],
    }
    whole = shards(["us:436-544"], 10, ANY)
    assert len(whole) == 11
    assert sum(map(len, whole.values())) == 109


def test_short_reporters_share_a_shard():
    ranges = [f"{reporter}:1-3" for reporter in sorted(ANY.reporters)]
    assert {name: len(volumes) for name, volumes in shards(ranges, 7, ANY).items()} == {
        "f2d-1": 6,
        "ill-2d-1": 6,
    }
    assert [len(volumes) for volumes in shards(ranges, 100, ANY).values()] == [12]


def test_a_reporter_without_a_range_selects_all_available_volumes(tmp_path):
    collection = read_collection(
        [mirror(tmp_path, held=("us/7", "us/3"))], tmp_path / "nothing"
    )
    assert shards(["us"], 10, collection) == {"us-3": ["us/3", "us/7"]}
    assert shards(["us"], 20, LISTED) == {"us-1": ["us/1", "us/3", "us/3-2", "us/12"]}
    with pytest.raises(
        BadInput, match=r"caselaw = 'ill' needs the volumes of 'ill' in a mirror, or"
    ):
        shards(["ill"], 10, collection)
    with pytest.raises(
        BadInput,
        match="has 'uss', which is not a reporter of static.case.law; use one such as us",
    ):
        shards(["uss"], 10, ANY)


def test_all_selects_every_listed_volume():
    both = Collection(
        frozenset({"us", "ill"}), LISTED.listed | {"ill": {5: ["5"], 7: ["7"]}}
    )
    assert shards(["all"], 10, both) == shards(["ill:5-7", "us:1-12"], 10, both)
    with pytest.raises(
        BadInput, match=r"caselaw = 'all' needs the collection's Vol\w+\.json; fetch it"
    ):
        shards(["all"], 10, ANY)


def test_single_volumes_give_no_more_shards_than_a_range():
    singles = [f"us:{number}" for number in range(1, 501)]
    assert shards(singles, 10, ANY) == shards(["us:1-500"], 10, ANY)
    assert len(shards(singles[::-1], 10, ANY)) == 50


def test_a_range_selects_only_existing_volumes():
    assert shards(["us:1-12"], 10, LISTED) == {
        "us-1": ["us/1", "us/3", "us/3-2", "us/12"]
    }
    assert shards(["us:1-12"], 3, LISTED) == {
        "us-1": ["us/1", "us/3", "us/3-2"],
        "us-12": ["us/12"],
    }
    assert shards(["us:2-4"], 10, LISTED) == {"us-3": ["us/3", "us/3-2"]}


NO_REPORTER, THERE = (
    "which is not a reporter of static.case.law",
    "use existing volumes",
)


@pytest.mark.parametrize(
    ("collection", "ranges", "fault"),
    [
        (ANY, ["us:9-7"], "= 'us:9-7' ends before it begins; reverse the range"),
        (ANY, ["us:5-9", "us:5"], "has us/5 twice; list each volume once"),
        (ANY, ["us:1-3", "us:2-5"], "has us/2 twice; list each volume once"),
        (
            ANY,
            ["us:1-99999"],
            f"= 'us:1-99999' has 99,999 volumes, but no reporter has more than 999; {THERE}",
        ),
        (ANY, ["il:1"], f"= 'il:1' has 'il', {NO_REPORTER}; use one such as ill"),
        (
            ANY,
            ["zzz:1-3"],
            f"= 'zzz:1-3' has 'zzz', {NO_REPORTER}; see https://static.case.law",
        ),
        (
            LISTED,
            ["us:1-13"],
            f"= 'us:1-13' goes beyond volume 12, the last of us; {THERE}",
        ),
        (LISTED, ["us:5-11"], f"= 'us:5-11' contains no volume of us; {THERE}"),
    ],
)
def test_an_invalid_range_raises_one_sentence_quickly(collection, ranges, fault):
    start = time.monotonic()
    with pytest.raises(BadInput) as error:
        shards(ranges, 2, collection)
    assert str(error.value) == f"config: caselaw {fault}."
    assert time.monotonic() - start < 1


def test_the_published_reporters_are_known_without_a_list(tmp_path):
    found = read_collection([], tmp_path)
    assert len(found.reporters) == 401
    assert {"us", "f2d", "f-supp-2d", "cal-rptr-3d"} <= found.reporters
    assert found.listed == {}


def test_the_list_of_volumes_is_read_from_a_mirror_or_else_from_the_download(tmp_path):
    fetched = mirror(tmp_path / "results", listed=[volume("1")]) / "caselaw"
    assert read_collection([], fetched).listed == {"us": {1: ["1"]}}
    listed = [
        volume("2"),
        volume("138", folder="138-2"),
        volume("138"),
        volume("Index"),
        volume("9", "zzz"),
    ]
    found = read_collection(
        [mirror(tmp_path / "none"), mirror(tmp_path / "mirror", listed=listed)], fetched
    )
    assert found.listed == {"us": {2: ["2"], 138: ["138", "138-2"]}, "zzz": {9: ["9"]}}
    assert "zzz" in found.reporters


def test_a_volume_in_a_mirror_is_known_even_if_it_is_not_listed(tmp_path):
    held = ("us/574", "own-reports/1", "samples/alaska_1")
    found = read_collection(
        [mirror(tmp_path, listed=[volume("572"), volume("1")], held=held)],
        tmp_path / "none",
    )
    assert shards(["us:570-574"], 10, found) == {"us-572": ["us/572", "us/574"]}
    assert shards(["own-reports:1"], 10, found) == {"own-reports-1": ["own-reports/1"]}
    assert "samples" not in found.reporters


def test_a_mirror_without_case_law_is_accepted(tmp_path):
    assert read_collection([tmp_path], tmp_path / "none").listed == {}


NO_FOLDER = {"volume_number": "1", "reporter_slug": "us"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[", "is no JSON ("),
        ("{}", "{} is not allowed"),
        (json.dumps([NO_FOLDER]), "0.volume_folder is missing"),
        (
            json.dumps([{**NO_FOLDER, "volume_folder": n} for n in ("1", 1)]),
            "1.volume_folder = 1 is not allowed",
        ),
    ],
)
def test_a_list_with_an_invalid_layout_raises(tmp_path, text, fault):
    path = mirror(tmp_path) / "caselaw/VolumesMetadata.json"
    path.write_text(text)
    with pytest.raises(BadInput) as error:
        read_collection([tmp_path], tmp_path)
    assert str(error.value).startswith(f"{path}: {fault}")
    assert str(error.value).endswith("; fetch it again from static.case.law.")


@pytest.mark.parametrize(
    "damaged",
    ["", "<html>", "{}", "[1", json.dumps([volume("1") | {"volume_folder": []}])],
)
def test_a_damaged_list_counts_as_missing_if_it_was_fetched(tmp_path, damaged):
    fetched = mirror(tmp_path) / "caselaw"
    (fetched / "VolumesMetadata.json").write_text(damaged)
    assert read_collection([], fetched) == read_collection([], tmp_path / "nothing")
    with pytest.raises(
        BadInput,
        match=r"VolumesMetadata\.json.*; fetch it again from static\.case\.law",
    ):
        read_collection([tmp_path], tmp_path / "nothing")
