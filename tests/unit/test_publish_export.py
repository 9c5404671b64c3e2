"""The tables, card and metadata of an export, read by the libraries that use them."""

import hashlib
import shutil

import mlcroissant
import pyarrow as pa
import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard
from transformers import AutoModel, AutoTokenizer

from helpers import stored_pages
from helpers.published_rows import data_set, export, run
from lextables import ROOT
from lextables.pipeline.dataset import Column, Table, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import record_weights, recorded
from lextables.planning.paper_plan import PLANNERS
from lextables.publish import folder
from lextables.publish.card import CATEGORIES
from lextables.publish.folder import WRITERS
from lextables.sources.licences import licence_of

SPAN = pa.struct(
    [pa.field("start", pa.int32(), False), pa.field("end", pa.int32(), False)]
)
CLAUSES = Table(
    "clauses",
    "The clauses | of all contracts.",
    (
        Column("clause_id", pa.string(), "the clause"),
        Column("split", pa.string(), "train or test"),
        Column("stars", pa.int8(), "1 to 5"),
        Column(
            "share",
            pa.float64(),
            "of its `<contract>` | as a share <of> one",
            nullable=True,
        ),
        Column("signed", pa.bool_(), "whether it is signed"),
        Column("names", pa.list_(pa.string()), "who is named"),
        Column("spans", pa.list_(SPAN), "where it stands"),
    ),
    key=("clause_id",),
)
NOTES = Table(
    "notes", "Remarks.", (Column("note", pa.string(), "a remark"),), key=("note",)
)
ROWS = [
    {
        "clause_id": "c1",
        "split": "train",
        "stars": 5,
        "share": 0.25,
        "signed": True,
        "names": ["Ada", "Bob"],
        "spans": [{"start": 0, "end": 4}, {"start": 9, "end": 11}],
    },
    {
        "clause_id": "c2",
        "split": "test",
        "stars": 1,
        "share": None,
        "signed": False,
        "names": [],
        "spans": [],
    },
]
RESPONSIBLE = {
    "data_collection": "By hand (Section 1).",
    "data_biases": ["One reader (Section 2)."],
    "personal_sensitive_information": ["Names of those who signed (Section 3)."],
}


@pytest.fixture
def made(tmp_path):
    """Returns a function that writes an export of two data sets and returns its
    folder.
    """

    def make(publish=None, out="published", **source):
        census = [
            data_set(
                tmp_path,
                "quill",
                {CLAUSES: ROWS, NOTES: []},
                {"clauses_cut": 3},
                **source,
            ),
            data_set(tmp_path, "quill_more", {CLAUSES: ROWS[:1]}, **source),
        ]
        content = export(
            census, publish={"responsible": RESPONSIBLE} if publish is None else publish
        )
        folder.write(content, tmp_path / out)
        return tmp_path / out

    return make


def test_load_dataset_returns_each_table_unchanged(made, tmp_path):
    for name, rows in (("clauses", ROWS), ("quill_more-clauses", ROWS[:1])):
        rows_loaded = load_dataset(
            str(made(out=name)), name, split="full", cache_dir=str(tmp_path / "cache")
        )
        assert rows_loaded.to_list() == rows


@pytest.mark.parametrize("variant", ["release", "sample", "stand_in"])
@pytest.mark.golden
def test_cards_and_licences_are_as_stored(made, variant):
    """The card warns if the data are not the paper's; the sample has this project's
    licence and authors.
    """
    other = {"variant": variant, "comparable": False, "note": "other texts"}
    publish = {"responsible": RESPONSIBLE, "redistribution": "Ask the sites."}
    place = made(publish, **({} if variant == "release" else other))
    for name in ("README.md", "LICENSE.md"):
        text = (place / name).read_text(encoding="utf-8")
        stored_pages.check(f"export-{variant}-{name}", text)
    head = DatasetCard.load(place / "README.md").data.to_dict()
    assert head["license"] == ("apache-2.0" if variant == "sample" else "cc-by-4.0")
    assert ("sample" in head["tags"]) == (variant == "sample")
    names = [config["config_name"] for config in head["configs"]]
    assert names == ["clauses", "quill_more-clauses"]  # tables that have rows


def test_exported_tables_are_the_same_files_as_those_of_the_data_set(made, tmp_path):
    published = made() / "data/clauses.parquet"
    assert published.samefile(tmp_path / "data/quill/clauses.parquet")


def test_mlcroissant_finds_no_errors_and_reads_every_row(made):
    place = made()
    data = mlcroissant.Dataset(place / "croissant.json")
    assert (data.metadata.ctx.issues.errors, data.metadata.ctx.issues.warnings) == (
        set(),
        set(),
    )
    assert {record_set.id for record_set in data.metadata.record_sets} == {
        "clauses",
        "notes",
        "quill_more-clauses",
    }
    rows = [plain(row) for row in data.records("clauses")]
    assert [row["clause_id"] for row in rows] == ["c1", "c2"]
    assert (rows[0]["stars"], rows[0]["share"], rows[0]["signed"]) == (5, 0.25, True)
    assert rows[0]["names"] == ["Ada", "Bob"]
    places = [tuple(span.values()) for span in rows[0]["spans"]]
    assert places == [(0, 4), (9, 11)]
    (file,) = [
        each
        for each in data.metadata.distribution
        if each.content_url == "data/clauses.parquet"
    ]
    assert (
        file.sha256
        == hashlib.sha256((place / "data/clauses.parquet").read_bytes()).hexdigest()
    )


def plain(row):
    """A record by column name, with bytes decoded to text."""
    decoded = {name.partition("/")[2]: value for name, value in row.items()}
    return {name: text(value) for name, value in decoded.items()}


def text(value):
    if isinstance(value, bytes):
        return value.decode()
    return [text(item) for item in value] if isinstance(value, list) else value


def contents(place):
    """{file: its bytes} of an export."""
    files = [path for path in place.rglob("*") if path.is_file()]
    return {path.relative_to(place): path.read_bytes() for path in files}


def test_the_same_inputs_give_the_same_bytes(made):
    assert contents(made()) == contents(made(out="again"))


def test_the_metadata_of_a_sample_say_so(made):
    place = made(variant="sample", comparable=False)
    metadata = mlcroissant.Dataset(place / "croissant.json").metadata
    assert metadata.description.startswith("A sample of our own writing")
    assert metadata.data_collection.startswith("This is a sample of our own writing")
    assert metadata.url is None
    text = (place / "croissant.json").read_text(encoding="utf-8")
    assert "creativecommons" not in text and "example.org" not in text


@pytest.mark.parametrize(
    ("words", "hub"),
    [
        ("CC BY 4.0", "cc-by-4.0"),
        ("CC BY 4.0, as MAUD; the repository itself states none", "cc-by-4.0"),
        ("CC0; the opinions are public domain", "cc0-1.0"),
        ("ODC-BY 1.0", "odc-by"),
        ("CC BY-NC 4.0", "cc-by-nc-4.0"),
        ("none stated; somebody's own", "other"),
        ("CC BY 4.0 or so", "other"),
    ],
)
def test_an_unknown_licence_is_other(words, hub):
    assert licence_of({"variant": "release", "licence": words}).hub == hub


def test_licence_and_citation_are_those_of_the_current_registry(made, tmp_path):
    made()
    census = [tmp_path / "data/quill/census.json"]
    content = export(census, licence="MIT", citation="Quill 2021, second edition")
    folder.write(content, tmp_path / "again")
    text = (tmp_path / "again/LICENSE.md").read_text()
    assert "opensource.org/license/mit" in text and "Quill 2021, second" in text
    text += (tmp_path / "again/README.md").read_text()
    assert "Quill 2020" not in text and "CC BY 4.0" not in text


def test_a_paper_without_a_bibtex_entry_uses_its_citation(made):
    assert "note = {Quill, 2020. Contracts.}" in (made() / "CITATION.bib").read_text()
    entry = "@article{quill,\n  title = {Q},\n}\n"
    assert (made(publish={"bibtex": entry}) / "CITATION.bib").read_text() == entry


def test_a_failed_export_keeps_the_previous_export(made, monkeypatch):
    place = made()
    before = contents(place)
    monkeypatch.setattr(folder, "croissant", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made(note="changed")
    assert contents(place) == before
    assert not [path for path in place.parent.iterdir() if path.name.startswith(".")]


def test_an_export_folder_that_is_a_link_stays_one(made, tmp_path):
    target = tmp_path / "elsewhere/export"
    target.mkdir(parents=True)
    (tmp_path / "linked").symlink_to(target)
    for _ in range(2):
        place = made(out="linked")
        assert place.is_symlink() and (target / "README.md").is_file()


def test_every_kind_of_task_has_a_writer_and_a_category():
    assert WRITERS.keys() == CATEGORIES.keys() == PLANNERS.keys()


def test_transformers_loads_exported_weights_as_they_are(tmp_path):
    census = data_set(tmp_path, "quill", {CLAUSES: ROWS})
    tiny_encoder = ROOT / "resources/sample/models/sample-encoder"
    weights = shutil.copytree(
        tiny_encoder, tmp_path / "runs/quill/train/minilm/none/seed0/weights"
    )
    (weights / ".lock").touch()
    record = weights.parent / "run.json"
    with recorded(record, {}):
        pass
    record_weights(record, weights)
    tasks = {"quill": {"task": "classification", "names": {}}}
    content = export([census], tasks=tasks, weights=[weights])
    (data_set_part,) = content.sets
    assert (
        folder.link_weights(data_set_part, tmp_path / "out")[0].files
        == "weights/<run>/"
    )
    loaded = tmp_path / "out/weights/train.minilm.none.seed0"
    assert AutoModel.from_pretrained(loaded).config.hidden_size
    assert AutoTokenizer.from_pretrained(loaded)("a lease")["input_ids"]
    assert (loaded / "model.safetensors").samefile(weights / "model.safetensors")
    assert not (loaded / ".lock").exists()
    (other,) = export(
        [census], weights=[tmp_path / "runs/other/train/m/none/seed0/weights"]
    ).sets
    assert folder.link_weights(other, tmp_path / "empty") == []
    (weights / "config.json").write_text("{}")
    with pytest.raises(BadInput, match="the weights changed after their training"):
        folder.link_weights(data_set_part, tmp_path / "changed")


def test_scores_of_runs_are_exported(tmp_path):
    census = data_set(tmp_path, "quill", {CLAUSES: ROWS})
    scored = [{"metric": "AUPR", "group": "all", "value": 0.5, "n": 2}]
    predicted = run(tmp_path, "quill", NOTES, [{"note": "a prediction"}], scored)
    folder.write(export([census], [predicted]), tmp_path / "out")
    assert [*read(tmp_path / f"out/scores/{predicted.name}.parquet")] == scored
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert f"| quill | `{predicted.name}` | BM25 / None |" in card


@pytest.mark.parametrize("damaged", ["table", "scores"])
def test_a_damaged_table_is_not_exported(tmp_path, damaged):
    census = data_set(tmp_path, "quill", {CLAUSES: ROWS})
    scored = [{"metric": "AUPR", "group": "all", "value": 0.5, "n": 2}]
    predicted = run(tmp_path, "quill", NOTES, [{"note": "a prediction"}], scored)
    path = predicted.scores
    if damaged == "table":
        path = census.parent / "clauses.parquet"
    content = bytearray(path.read_bytes())
    # The first page begins after the letters PAR1 and a header of some bytes.
    content[60] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadInput, match=f"{path.name}: the file is damaged"):
        folder.write(export([census], [predicted]), tmp_path / "out")
    assert not (tmp_path / "out").exists()
