"""The registry of sources: the committed one, and error messages for an invalid one."""

import hashlib

import pytest
import yaml

from lextables import ROOT
from lextables.pipeline.errors import BadInput
from lextables.sources.entries import load, registry_texts, resolve, with_registry_texts

REGISTRY = ROOT / "resources/sources.yaml"
SHA = "sha256:" + "0" * 64


@pytest.fixture(scope="module")
def registry():
    return load(REGISTRY)


def entry(**file):
    file = {"addresses": ["https://example.org/a.zip"], "digest": SHA} | file
    head = {
        "title": "A",
        "licence": "CC0",
        "citation": "A 2020",
        "homepage": "https://example.org",
    }
    return {
        "acord": head
        | {"files": {"a.zip": {k: v for k, v in file.items() if v != "drop"}}}
    }


def written(tmp_path, content, name="sources.yaml"):
    path = tmp_path / name
    path.write_text(
        content if isinstance(content, str) else yaml.safe_dump(content),
        encoding="utf-8",
    )
    return path


def test_the_real_registry_has_every_source(registry):
    assert sorted(registry) == [
        "acord",
        "caselaw",
        "cuad",
        "cuad_checkpoints",
        "edgar",
        "lawngnli_ids",
        "maud",
        "maud_extraction",
        "privacy",
    ]


def test_variants_that_are_not_comparable_are_marked(registry):
    variants = {}
    for source, entry in registry.items():
        for name, file in entry.files.items():
            for variant, settings in file.variants.items():
                if variant != "sample":
                    variants[f"{source}/{name}: {variant}"] = settings.comparable
    assert {name for name, comparable in variants.items() if not comparable} == {
        "maud/maud_v1.zip: partial",
        "maud/extraction_spans.json: legalbench_rag",
        "privacy/privacy_policies.ndjson: stand_in",
        "caselaw/{reporter}/{volume}.zip: converted",
    }
    assert variants["cuad/data.zip: rebuilt"]


def test_a_pattern_is_filled_in_and_its_variants_are_pinned_per_file(registry):
    wanted = resolve(registry, "caselaw", "us/436.zip")
    assert wanted.addresses == ("https://static.case.law/us/436.zip",)
    assert [c.variant for c in wanted.among(wanted.variants_for("release"))] == [
        "converted",
        "unverified",
    ]
    assert resolve(registry, "caselaw", "f2d/10.zip").among(["converted"]) == []
    index = resolve(registry, "edgar", "2019/QTR3/master.idx")
    assert index.addresses == (
        "https://www.sec.gov/Archives/edgar/full-index/2019/QTR3/master.idx",
    )


def test_published_bytes_without_a_digest_are_unverified_and_not_comparable(registry):
    (volume,) = resolve(registry, "caselaw", "f2d/10.zip").candidates
    assert (volume.variant, volume.comparable, volume.pin) == (
        "unverified",
        False,
        "unverified without a digest",
    )
    (release, *_) = resolve(registry, "acord", "ACORD.zip").candidates
    assert (release.variant, release.comparable) == ("release", True)


def test_a_release_that_is_known_to_differ_is_pinned_and_not_comparable(registry):
    (release, *_) = resolve(registry, "privacy", "questions.ndjson").candidates
    assert (release.variant, release.comparable) == ("release", False)
    assert "149" in release.note and release.digest
    texts = registry_texts(registry, ["privacy"])["privacy/questions.ndjson"]["release"]
    assert texts == {"comparable": False, "note": release.note}


def test_every_volume_of_the_mirror_is_pinned(registry, mirror):
    pinned = (
        registry["caselaw"]
        .files["{reporter}/{volume}.zip"]
        .variants["converted"]
        .digests
    )
    held = {f"us/{path.name}" for path in (mirror / "caselaw/us").glob("*.zip")}
    assert held == set(pinned)
    for name in ("us/390.zip", "us/435.zip", "us/546.zip", "us/574.zip"):
        found = hashlib.sha256((mirror / "caselaw" / name).read_bytes()).hexdigest()
        assert pinned[name] == f"sha256:{found}"


def test_an_exact_name_has_priority_over_a_pattern(tmp_path):
    content = entry()
    files = content["acord"]["files"]
    files["{name}.zip"] = {
        "addresses": ["https://example.org/all/{name}.zip"],
        "unpinned": "none is published",
    }
    loaded = load(written(tmp_path, content))
    assert resolve(loaded, "acord", "a.zip").addresses == ("https://example.org/a.zip",)
    assert resolve(loaded, "acord", "b.zip").addresses == (
        "https://example.org/all/b.zip",
    )


@pytest.mark.parametrize(
    ("data", "variants"),
    [("sample", ["sample"]), ("release", ["release", "rebuilt"])],
    ids=["sample", "release"],
)
def test_the_sample_and_other_variants_are_never_mixed(tmp_path, data, variants):
    sample = {"comparable": False, "note": "ours", "unpinned": "kept here"}
    rebuilt = {"comparable": True, "note": "rebuilt", "digest": SHA}
    loaded = load(
        written(tmp_path, entry(variants={"sample": sample, "rebuilt": rebuilt}))
    )
    assert resolve(loaded, "acord", "a.zip").variants_for(data) == variants


@pytest.mark.parametrize(
    ("source", "file", "sentence"),
    [
        ("acrod", "ACORD.zip", "there is no source 'acrod'; use one of acord, cuad, "),
        (
            "acord",
            "acord.zip",
            "the source 'acord' has no file 'acord.zip'; use one of ACORD.zip.",
        ),
        (
            "caselaw",
            "../etc/1.zip",
            "the source 'caselaw' has no file '../etc/1.zip'; use one of Reporters",
        ),
        (
            "caselaw",
            "us/a/1.zip",
            "the source 'caselaw' has no file 'us/a/1.zip'; use one of Reporters",
        ),
    ],
)
def test_an_unknown_source_or_file_raises_with_the_known_ones(
    registry, source, file, sentence
):
    with pytest.raises(BadInput) as error:
        resolve(registry, source, file)
    assert str(error.value).startswith(sentence)


FILE = "acord.files.a.zip"
VARIANT = {"comparable": False, "note": "n", "digest": SHA}


def variant(name="old", **changes):
    return entry(variants={name: VARIANT | changes})


GATED = {"addresses": "drop", "digest": "drop", "gated": {"instructions": "ask"}}
BROKEN = [
    (entry(sise=3), f"{FILE}.sise is not a known key (nearest: size)."),
    (
        entry(size="3"),
        f"{FILE}.size = '3' is not allowed (allowed: a whole number of bytes, or null).",
    ),
    (
        entry(size=-1),
        f"{FILE}.size = -1 is not allowed (allowed: a whole number of bytes, or null).",
    ),
    (
        entry(digest="sha256:12"),
        f"{FILE}.digest = 'sha256:12' is not allowed (allowed: sha256:, md5: or git",
    ),
    (
        entry(addresses=["ftp://example.org/a"]),
        f"{FILE}.addresses.0 = 'ftp://example.org/a' is not allowed",
    ),
    (
        entry(addresses=["https://me:password@example.org/a"]),
        f"{FILE}.addresses.0 = 'https://(login)@example.org/a' is not allowed (allowed: an http(s) address",
    ),
    (
        entry(addresses=["https://example.org/{volume}"]),
        "acord: the address https://example.org/{volume} has",
    ),
    (
        entry(unpinned="why"),
        f"{FILE}: a file has a 'digest', or the reason why it is 'unpinned', not both.",
    ),
    (
        entry(digest="drop"),
        f"{FILE}: a file with addresses has a 'digest', or the reason why it is 'unp",
    ),
    (
        entry(addresses="drop"),
        f"{FILE}: a file without addresses has 'gated' instructions that say how",
    ),
    (entry(**GATED), f"{FILE}: a file that was not released has at least one variant."),
    (
        entry(gated={"how": "ask"}),
        f"{FILE}.gated.how is not a known key (known: instructions).",
    ),
    (
        entry(gated={}),
        f"{FILE}.gated.instructions is missing (allowed: what a person does to get the file).",
    ),
    (
        variant(comparable="no"),
        f"{FILE}.variants.old.comparable = 'no' is not allowed (allowed: true where",
    ),
    (
        variant(unpinned="why"),
        f"{FILE}.variants.old: a variant has one of 'digest', 'digests' and 'unp",
    ),
    (
        variant("release"),
        f"{FILE}: the name 'release' is kept for the published bytes.",
    ),
    (
        variant("unverified"),
        f"{FILE}: the name 'unverified' is kept for the published bytes.",
    ),
    (
        variant("sample", comparable=True),
        f"{FILE}: the variant 'sample' is not comparable.",
    ),
    (
        {"ACORD": entry()["acord"]},
        "ACORD is not an allowed name (allowed: small letters, digits and _, wit",
    ),
    (
        variant(named="../a.zip"),
        f"{FILE}.variants.old.named = '../a.zip' is not allowed (allowed: the file",
    ),
    (["acord"], "['acord'] is not allowed (allowed: keys with values)."),
    (
        "acord:\n  title: A\nacord:\n  title: B\n",
        "row 3: not YAML (the key 'acord' stands twice).",
    ),
    ("acord: [\n", "row 2: not YAML (did not find expected node content)."),
]


@pytest.mark.parametrize(
    ("content", "message"), BROKEN, ids=[message for _, message in BROKEN]
)
def test_errors_in_the_registry_give_the_key_and_allowed_values(
    tmp_path, content, message
):
    path = written(tmp_path, content)
    with pytest.raises(BadInput) as error:
        load(path)
    separator = ", " if message.startswith("row") else ": "
    assert str(error.value).startswith(f"{path}{separator}{message}")


def paper(tmp_path, name, sources):
    return written(tmp_path, {"title": "A paper", "sources": sources}, f"{name}.yaml")


def test_a_paper_can_define_sources(tmp_path, registry):
    path = written(tmp_path, entry())
    ledgar = paper(tmp_path, "ledgar", {"ledgar": entry()["acord"]})
    without = written(tmp_path, {"title": "Another"}, "other.yaml")
    loaded = load(path, ledgar, without)
    assert list(loaded) == ["acord", "ledgar"]
    assert resolve(loaded, "ledgar", "a.zip").name == "ledgar/a.zip"
    papers = sorted((ROOT / "resources/papers").glob("*.yaml"))
    assert registry.items() <= load(REGISTRY, *papers).items()


def test_a_source_in_two_files_raises(tmp_path):
    path = written(tmp_path, entry())
    one, two = (
        paper(tmp_path, name, {"mine": entry()["acord"]}) for name in ("one", "two")
    )
    three = paper(tmp_path, "three", entry())
    for others, last, first in (
        ((three,), three, "sources.yaml"),
        ((one, two), two, "one.yaml"),
    ):
        name = "acord" if first == "sources.yaml" else "mine"
        with pytest.raises(BadInput) as error:
            load(path, *others)
        assert str(error.value) == f"{last}: the source {name!r} is in {first} too."


def test_errors_in_the_sources_of_a_paper_name_its_file(tmp_path):
    path, broken = (
        written(tmp_path, entry()),
        paper(tmp_path, "mine", {"mine": entry(size=-1)["acord"]}),
    )
    with pytest.raises(BadInput) as error:
        load(path, broken)
    assert str(error.value).startswith(
        f"{broken}, sources: mine.files.a.zip.size = -1 is not allowed "
    )


def test_provenance_records_get_the_registrys_current_texts(tmp_path):
    other = {
        "variants": {"rebuilt": {"comparable": True, "note": "As good.", "digest": SHA}}
    }
    current = registry_texts(load(written(tmp_path, entry(**other))), ["acord"])
    record = {
        "source": "acord",
        "file": "a.zip",
        "bytes": 5,
        "comparable": False,
        "note": "Not as good.",
    }
    texts = {
        "title": "A",
        "licence": "CC0",
        "citation": "A 2020",
        "homepage": "https://example.org",
    }
    old = record | {"variant": "rebuilt", "licence": "CC BY 4.0", "citation": "A 2019"}
    # The note of a file that is not in the registry is unchanged, and so is the record
    # of an unknown source.
    other_file = record | {"file": "11 volumes", "variant": "rebuilt"}
    unknown = other_file | {"source": "other"}
    assert with_registry_texts(
        [old, record | {"variant": "unknown"}, other_file, unknown], current
    ) == [
        record | {"variant": "rebuilt", "comparable": True, "note": "As good."} | texts,
        record | {"variant": "unknown"} | texts,
        other_file | texts,
        unknown,
    ]


def test_texts_apply_to_the_files_of_a_pattern(registry):
    texts = registry_texts(registry, ["caselaw"])
    volume = {"source": "caselaw", "file": "us/901.zip", "comparable": True, "note": ""}
    (sample, unverified) = with_registry_texts(
        [volume | {"variant": "sample"}, volume | {"variant": "unverified"}], texts
    )
    assert sample["comparable"] is False and sample["note"]
    assert unverified["comparable"] is False
