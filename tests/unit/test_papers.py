"""The validation of a paper's file: which files are accepted, and the error
messages.
"""

import math
import re
from typing import get_args

import pytest
import yaml

from helpers.invented_paper import GRID, PAPER, REVIEW, laid_out, with_value, written
from lextables import ROOT
from lextables.papers.acord.entry import Acord
from lextables.pipeline.errors import BadInput
from lextables.registry import modules, packages
from lextables.registry.paper import FigureKind, Paper
from lextables.tables.figures import KINDS
from lextables.tables.render import label

BI_ENCODER = {
    "row": "Tuned",
    "model": "all-minilm-l6-v2",
    "kind": "bi-encoder",
    "documents": 7,
}


RENT = {"title": "Money", "categories": ["Rent"]}


@pytest.fixture
def paper(tmp_path):
    return packages.load(written(tmp_path, PAPER))


def test_a_paper_has_the_base_class_unless_its_package_adds_keys(paper):
    assert type(paper).__bases__ == (Paper,)
    assert type(packages.load(ROOT / "resources/papers/acord.yaml")).__bases__ == (
        Acord,
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"titel": "A"},
            "ledgar.yaml: titel is not a known key (nearest: title); correct it there",
        ),
        ({"tables": {}}, "ledgar.yaml: tables = {} is not allowed ("),
        (
            {
                "tables": {
                    "table1": {"title": "A", "where": "B", "of": "maud", "rows": [{}]}
                }
            },
            "table table1 shows rows of 'maud', which is not a task of the paper",
        ),
        (
            {"tasks": {"ledgar": {"task": "parsing"}}},
            "ledgar.yaml: tasks.ledgar = {'task': 'parsing'} is not allowed (",
        ),
        (
            {"tasks": {"clauses": PAPER["tasks"]["clauses"] | {"metrics": ["MAP"]}}},
            "clauses.metrics: the metric 'MAP' has no cutoff;",
        ),
        (
            {
                "tasks": {
                    "clauses": PAPER["tasks"]["clauses"]
                    | {"grids": {"small": GRID}, "finetuned": {"tuned": BI_ENCODER}}
                }
            },
            "finetuned.tuned: batch_size of the grid small is",
        ),
        (
            {"tables": {"table1": {"title": "A", "where": "B", "beside": ["maud"]}}},
            "table table1 shows 'maud', which is not a data set of the paper",
        ),
        (
            {"data": {"ledgar": {"files": {"a": "b/c"}, "reader": "a..b"}}},
            "data.ledgar.reader = 'a..b' is not allowed (",
        ),
        (
            {
                "tasks": {
                    "ledgar": PAPER["tasks"]["ledgar"]
                    | {"grids": {"sample": {"multi": GRID | {"accumulation": 2}}}}
                }
            },
            "grids.sample.multi",
        ),
        (
            {"data": {"ledgar": {"files": {}}}},
            "ledgar.yaml: data.ledgar.files = {} is not allowed (",
        ),
        (
            {"data": {"ledgar": {"files": {"all": "a/b"}, "given": ["labels"]}}},
            "ledgar.yaml: the data set ledgar: given has 'labels', not a key of the paper",
        ),
        (
            {"review": REVIEW | {"of": "ledgar"}},
            "review has models of 'ledgar', which is not a task of spans of the paper",
        ),
        (
            {"review": REVIEW | {"groups": {"a": RENT, "b": RENT}}},
            "Rent is in the groups a and b",
        ),
    ],
)
def test_the_error_message_names_file_and_key(tmp_path, change, sentence):
    with pytest.raises(BadInput) as error:
        packages.load(written(tmp_path, PAPER | change))
    assert sentence in str(error.value)


GRID_KEYS = [
    *(("learning_rates", value) for value in ([], [0], [-1e-4], [math.nan])),
    *((key, 0) for key in ("batch_size", "max_length", "seeds")),
    *(("percents", value) for value in ([], [0], [101])),
    ("save_every", -1),
    ("updates", [0]),
]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((f"ledgar.grids.sample.multi.{key}", value) for key, value in GRID_KEYS),
        *((f"clauses.grids.sample.{key}", value) for key, value in GRID_KEYS),
        ("ledgar.grids.sample.multi.updates", []),
        ("ledgar.grids.sample.multi.epochs", [0]),
        ("ledgar.grids.sample.multi.updates_per_epoch", 0),
        ("ledgar.grids.sample.multi.heads", 0),
        ("clauses.grids.sample.updates", []),
        ("clauses.top", 0),
        ("clauses.forms", []),
        ("ledgar.models.minilm.row", ""),
        ("clauses.retrievers.bm25.row", "a\nb"),
        *((f"ledgar.models.{key}", {}) for key in ("a/b", "a+b", "{a}", "Ä")),
    ],
)
def test_values_that_no_run_can_have_are_refused(tmp_path, path, value):
    content = with_value(PAPER, "tasks.clauses.grids.sample", GRID)
    with pytest.raises(BadInput) as error:
        packages.load(written(tmp_path, with_value(content, f"tasks.{path}", value)))
    key = f"tasks.{path}" if value != [] else f"tasks.{path.removesuffix('.updates')}"
    assert str(error.value).startswith(f"ledgar.yaml: {key}")


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (
            "ledgar.models.minilm.model",
            "minilm-l6",
            "models.yaml: there is no model 'minilm-l6'; did you mean 'all-minilm-l6-v2'",
        ),
        (
            "clauses.retrievers.minilm.model",
            "minilm-l6",
            "models.yaml: there is no model 'minilm-l6'; did you mean 'all-minilm-l6-v2'",
        ),
        (
            "ledgar.grids",
            {"paper": {"multi": GRID}},
            "ledgar.grids: there is no grid 'sample', only paper; add it to the paper's file.",
        ),
        (
            "ledgar.grids.sample",
            {"single": GRID},
            "ledgar.grids.sample: there is no grid 'multi', only single; add it",
        ),
        (
            "clauses.finetuned",
            {"tuned": {"row": "Tuned", "model": "all-minilm-l6-v2"}},
            "clauses.grids: there is no grid 'sample', only none; add it",
        ),
    ],
)
def test_models_and_grids_that_a_plan_needs_must_exist(tmp_path, path, value, sentence):
    paper = packages.load(written(tmp_path, with_value(PAPER, f"tasks.{path}", value)))
    with pytest.raises(BadInput) as error:
        laid_out(paper)
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [{"retreiver": "BM25"}],
            "tables.table5.rows: no row of clauses has the field 'retreiver'; did you mean",
        ),
        ([{}, {"zzz": 1}], "no row of clauses has the field 'zzz'; use additional, "),
    ],
)
def test_tables_select_rows_by_fields_that_rows_have(tmp_path, rows, sentence):
    paper = packages.load(
        written(tmp_path, with_value(PAPER, "tables.table5.rows", rows))
    )
    with pytest.raises(BadInput, match=re.escape(sentence)):
        laid_out(paper)


def table(name="table1", **values):
    return {"tables": {name: {"title": "A", "where": "B"} | values}}


@pytest.mark.parametrize(
    "name",
    [
        *"results table Table1 table-1 table_1 table1_2 table../x tablec1".split(),
        "figure",
        "table٣",
        "table 1",
        "table1\n",
    ],
)
def test_names_of_tables_that_pages_cannot_show_are_refused(tmp_path, name):
    with pytest.raises(BadInput, match=r"^ledgar\.yaml: tables\..* is not an allowed"):
        packages.load(written(tmp_path, PAPER | table(name)))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (table(title=""), "tables.table1.title"),
        (table(title=" A"), "tables.table1.title"),
        (table(where="a\nb"), "tables.table1.where"),
        (table(notes=[""]), "tables.table1.notes.0"),
        (table(kind="pie"), "tables.table1.kind"),
        (table(kind="bubbles"), "table1: a figure, and no table, has a kind"),
        (table("figure1"), "figure1: a figure, and no table, has a kind"),
        (table(file="ranks"), "table table1 shows the file of 'ranks'"),
        ({"title": ": A"}, "title"),
        ({"citation": ""}, "citation"),
        ({"tasks": {"a.b": PAPER["tasks"]["clauses"]}}, "tasks.a.b"),
        ({"data": {"A": {"files": {"all": "a/b"}}}}, "data.A"),
        ({"texts": {"../a": {"table": "t", "unit": "u"}}}, "texts.../a"),
        ({"publish": {"apart": {"a b": {"title": "A"}}}}, "publish.apart.a b"),
    ],
)
def test_names_and_texts_that_pages_cannot_show_are_refused(tmp_path, change, key):
    with pytest.raises(BadInput) as error:
        packages.load(written(tmp_path, PAPER | change))
    assert str(error.value).startswith(f"ledgar.yaml: {key}")


@pytest.mark.parametrize(
    "name", ["table1", "table12", "table3a", "table_b", "table_c1", "table_labels"]
)
def test_allowed_names_of_tables_have_a_label(tmp_path, name):
    (allowed,) = packages.load(written(tmp_path, PAPER | table(name))).tables
    assert label(allowed).startswith("Table ")


def test_every_kind_of_figure_is_allowed():
    assert {*get_args(FigureKind)} == {*KINDS}


@pytest.mark.parametrize("name", ["Ledgar", "led-gar", "3paper", "led gar"])
def test_the_file_of_a_paper_has_an_allowed_name(tmp_path, name):
    with pytest.raises(
        BadInput,
        match=rf"^{name}\.yaml: '{name}' is not allowed .allowed: small letters",
    ):
        packages.load(written(tmp_path, PAPER, name))


def test_a_data_set_belongs_to_one_paper(tmp_path):
    paths = {name: written(tmp_path, PAPER, name) for name in ("first", "second")}
    with pytest.raises(
        BadInput, match=r"^second\.yaml: the data set \w+ is also one of first; rename"
    ):
        packages.load_all(paths)
    assert [*packages.load_all({"first": paths["first"]})] == ["first"]


def test_one_paper_reviews_contracts(tmp_path):
    cuad = ROOT / "resources/papers/cuad.yaml"
    content = yaml.safe_load(cuad.read_text(encoding="utf-8"))
    leases = {
        "title": "Leases",
        "citation": "Someone, 2026.",
        "tasks": {"leases": content["tasks"]["cuad"]},
        "tables": {"table1": PAPER["tables"]["table1"]},
        "review": REVIEW,
    }
    paths = {"cuad": str(cuad), "leases": str(written(tmp_path, leases, "leases"))}
    with pytest.raises(BadInput, match="cuad and leases have the key review; remove"):
        packages.load_all(paths)


def test_invalid_yaml_raises(tmp_path):
    with pytest.raises(BadInput, match=r"ledgar\.yaml, row 2: not YAML \("):
        packages.load(written(tmp_path, "title: ["))


def test_the_error_for_a_missing_module_names_it():
    with pytest.raises(
        BadInput,
        match=r"lextables/papers/somepaper: the package has no raw; write raw\.py",
    ):
        modules.module("somepaper", "raw")
