"""A paper's file: its validation, the files of its data sets, and the resulting
plan.
"""

import math
import re
from typing import get_args

import pytest
import yaml

from helpers.optimisers import CONSTANT
from helpers.registered import context
from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.papers.acord.entry import Acord
from lextables.papers.lawngnli.dataset import pairs, retrieval
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput
from lextables.planning import paper_plan, references
from lextables.registry import modules, packages
from lextables.registry.paper import DataSet, FigureKind, Paper
from lextables.sources import entries as sources
from lextables.tables.cells import Score, build
from lextables.tables.figures import KINDS
from lextables.tables.inputs import Inputs
from lextables.tables.published import PublishedCell
from lextables.tables.render import label
from lextables.tables.systems import score_cell
from lextables.tasks.planner import Context

MODELS = load_models(ROOT / "resources/models.yaml")
GRID = {
    "learning_rates": [1e-4],
    "optimiser": CONSTANT,
    "updates": [2],
    "batch_size": 2,
    "max_length": 16,
}
OURS = "MiniLM, sample budget: 2 updates of 2 examples, texts cut at 16 tokens"
PAPER = {
    "title": "A paper",
    "citation": "Someone, 2026.",
    "data": {"ledgar": {"files": {"release": "ledgar/LEDGAR.zip"}}},
    "tasks": {
        "ledgar": {
            "task": "classification",
            "metrics": ["micro F1"],
            "choose_by": "micro F1",
            "models": {"minilm": {"row": "MiniLM", "model": "all-minilm-l6-v2"}},
            "grids": {"sample": {"multi": GRID}},
        },
        "clauses": {
            "task": "retrieval",
            "forms": ["short", "long"],
            "metrics": ["NDCG@5"],
            "retrievers": {
                "bm25": {"row": "BM25", "kind": "bm25", "baseline": True},
                "minilm": {
                    "row": "MiniLM",
                    "kind": "bi-encoder",
                    "model": "all-minilm-l6-v2",
                    "additional": True,
                },
            },
        },
    },
    "tables": {
        "table1": {"title": "Counts", "where": "Section 1"},
        "table2": {
            "title": "Scores",
            "where": "Section 2",
            "of": "ledgar",
            "rows": [{}],
        },
        "table3": {
            "title": "Hits",
            "where": "Section 3",
            "of": "clauses",
            "rows": [{"additional": False}],
        },
        "table4": {
            "title": "Forms",
            "where": "Section 3",
            "of": "clauses",
            "rows": [{}],
            "conditions": "all",
        },
        "table5": {
            "title": "Long",
            "where": "Section 3",
            "of": "clauses",
            "rows": [{"retriever": ["BM25"]}],
            "conditions": ["long"],
        },
    },
}


BI_ENCODER = {
    "row": "Tuned",
    "model": "all-minilm-l6-v2",
    "kind": "bi-encoder",
    "documents": 7,
}
REVIEW = {"of": "leases", "data": "Leases", "models": ["linear"], "minimum": 0.1}
RENT = {"title": "Money", "categories": ["Rent"]}


def written(tmp_path, content, name="ledgar"):
    path = tmp_path / f"{name}.yaml"
    path.write_text(
        content if isinstance(content, str) else yaml.safe_dump(content),
        encoding="utf-8",
    )
    return path


@pytest.fixture
def paper(tmp_path):
    return packages.load(written(tmp_path, PAPER))


def laid_out(paper, **values):
    config = load_config({"papers": "acord"} | values, ["acord"], ROOT)
    return paper_plan.plan(paper, Context(config, MODELS, ROOT, False))


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


def with_value(content, path, value):
    """A copy of a mapping with another value at a path of keys."""
    key, _, rest = path.partition(".")
    if rest:
        value = with_value(content.get(key, {}), rest, value)
    return content | {key: value}


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


SOURCES = sources.load(ROOT / "resources/sources.yaml")
ASKED = {"row": "Asked", "kind": "language-model", "model": "smollm2-135m-instruct"}
VIEWS = {"short": {"text": "short"}, "long": {"text": "long"}}
CUAD = yaml.safe_load((ROOT / "resources/papers/cuad.yaml").read_text())["tasks"][
    "cuad"
]
SPANS = {
    "task": "spans",
    "n_best": 2,
    "models": {"linear": {"row": "Linear", "kind": "linear"}},
    "linear": CUAD["linear"],
    "checkpoints": "cuad_checkpoints",
    "asking": {"clause": "cuad_clause", "presence": "cuad_presence"},
}
ANSWERS = {
    "task": "answers",
    "models": {"prior": {"row": "Prior", "kind": "prior"}},
    "marks": {"never": {"row": "Never", "kind": "never"}},
    "asking": {"prompt": "policy_answer", "marks": "policy_paragraph"},
}
# A paper with references of all kinds.
REFERRING = {
    "title": "A paper",
    "citation": "Someone, 2026.",
    "data": {
        "ledgar": {
            "files": {"all": "cuad/data.zip"},
            "facts": {"recorded": "cuad_contracts.csv"},
        }
    },
    "texts": {"ledgar": {"table": "texts", "unit": "text_id"}},
    "tasks": {
        "ledgar": PAPER["tasks"]["ledgar"]
        | {
            "views": VIEWS,
            "readings": {"none": ["short"], "short": ["short", "long"]},
            "heads": ["topic"],
            "asking": {"prompt": "lawngnli_question", "views": ["long"]},
        },
        "clauses": PAPER["tasks"]["clauses"]
        | {
            "rerankers": {
                "classifier": {
                    "row": "Classifier",
                    "kind": "classifier",
                    "of": "ledgar",
                    "model": "minilm",
                    "view": "none",
                    "head": "topic",
                    "by": "label",
                },
                "asked": ASKED,
            },
            "finetuned": {"tuned": {"row": "Tuned", "model": "all-minilm-l6-v2"}},
            "asking": {"pointwise": "acord_pointwise", "pairwise": "acord_pairwise"},
        },
        "leases": SPANS,
        "policies": ANSWERS,
    },
    "tables": PAPER["tables"],
    "review": REVIEW,
}


def check_references(content, tmp_path):
    paper = packages.load(written(tmp_path, content))
    references.check({"ledgar": paper}, MODELS, SOURCES, ROOT)


def test_a_paper_whose_names_all_exist_passes(tmp_path):
    check_references(REFERRING, tmp_path)


@pytest.mark.parametrize(
    # A key, its value, and the misspelt name in one of them, with the known names.
    ("key", "value", "name"),
    [
        (
            "tables.table5.conditions",
            ["lnog"],
            "condition 'lnog', only short, long; did you mean 'long'.",
        ),
        (
            "tables.table2.conditions",
            ["99"],
            "condition '99', only 100; correct it there.",
        ),
        ("tables.table1.of", "cuad", "data set 'cuad', only ledgar, clauses"),
        (
            "texts.cuad",
            {"table": "a", "unit": "b"},
            "data set 'cuad', only ledgar, clauses",
        ),
        ("texts.ledgar.without", "cuad/test", "data set or split 'cuad/test'"),
        ("review.models", ["linaer"], "model of leases 'linaer', only linear"),
        ("data.ledgar.files.all", "cuda/data.zip", "source 'cuda'; use one of "),
        ("data.ledgar.instead.al", "cuad/data.zip", "key of files 'al', only all"),
        (
            "data.ledgar.facts",
            {"recorded": "cuad.csv"},
            "file 'cuad.csv', only README.md, cuad_c",
        ),
        (
            "data.ledgar.census.relaese",
            {},
            "variant 'relaese', only unverified, release",
        ),
        ("tasks.ledgar.models.minilm.model", "minilm", "model 'minilm', only "),
        (
            "tasks.ledgar.models.minilm.grids",
            ["smal"],
            "grid 'smal', only sample, small, paper",
        ),
        (
            "tasks.ledgar.models.minilm.grid",
            "mutli",
            "part of the grids 'mutli', only multi",
        ),
        (
            "tasks.ledgar.models.minilm.after",
            "clauses",
            "classification task 'clauses', only ledgar",
        ),
        ("tasks.ledgar.models.minilm.checkpoint", "minilm", "model 'minilm', only "),
        (
            "tasks.ledgar.models.minilm.trained_on",
            ["long"],
            "training view 'long', only none, short",
        ),
        ("tasks.ledgar.readings.lnog", [], "view 'lnog', only long, short, none"),
        ("tasks.ledgar.readings.short", ["lnog"], "view 'lnog', only long, short"),
        ("tasks.ledgar.grids.smal", {}, "grid 'smal', only sample, small, paper"),
        (
            "tasks.ledgar.grids.sample.multi.trained_on",
            ["long"],
            "training view 'long', only none, short",
        ),
        (
            "tasks.ledgar.asking.prompt",
            "lawngnli",
            "prompt 'lawngnli', only acord_pairwise, ",
        ),
        ("tasks.ledgar.asking.views", ["lnog"], "view 'lnog', only long, short"),
        ("tasks.clauses.retrievers.minilm.model", "minilm", "model 'minilm', only "),
        ("tasks.clauses.rerankers.asked.model", "smollm2", "model 'smollm2', only "),
        (
            "tasks.clauses.rerankers.classifier.of",
            "leases",
            "classification task 'leases', only ledgar",
        ),
        (
            "tasks.clauses.rerankers.classifier.model",
            "minlim",
            "model of ledgar 'minlim', only minilm",
        ),
        (
            "tasks.clauses.rerankers.classifier.view",
            "long",
            "training view of ledgar 'long', only none, short",
        ),
        (
            "tasks.clauses.rerankers.classifier.head",
            "tpoic",
            "head of minilm 'tpoic', only topic",
        ),
        ("tasks.clauses.grids.smal", GRID, "grid 'smal', only sample, small, paper"),
        ("tasks.clauses.finetuned.tuned.model", "minilm", "model 'minilm', only "),
        (
            "tasks.clauses.finetuned.tuned.grids.smal",
            GRID,
            "grid 'smal', only sample, small, paper",
        ),
        ("tasks.clauses.asking.pointwise", "acord", "prompt 'acord', only "),
        ("tasks.clauses.asking.pairwise", "acord", "prompt 'acord', only "),
        ("tasks.clauses.asking.hits.smal", 3, "grid 'smal', only sample, small, paper"),
        ("tasks.leases.models.linear.model", "minilm", "model 'minilm', only "),
        (
            "tasks.leases.models.linear.released",
            "a.zip",
            "file of 'cuad_checkpoints' 'a.zip', only roberta-base.zip",
        ),
        ("tasks.leases.checkpoints", "cuad_weights", "source 'cuad_weights', only "),
        (
            "tasks.leases.pretraining.smal",
            CUAD["pretraining"]["paper"],
            "grid 'smal', only sample, small, paper",
        ),
        (
            "tasks.leases.trainings_of",
            "cuda",
            "data set 'cuda', only clauses, leases, ledgar, policies",
        ),
        ("tasks.leases.asking.clause", "cuad", "prompt 'cuad', only "),
        ("tasks.leases.asking.presence", "cuad", "prompt 'cuad', only "),
        (
            "tasks.leases.asking.grids.smal",
            {},
            "grid 'smal', only sample, small, paper",
        ),
        ("tasks.policies.models.prior.model", "minilm", "model 'minilm', only "),
        (
            "tasks.policies.marks.never.grids",
            ["smal"],
            "grid 'smal', only sample, small, paper",
        ),
        ("tasks.policies.asking.prompt", "policy", "prompt 'policy', only "),
        ("tasks.policies.asking.marks", "policy", "prompt 'policy', only "),
    ],
)
def test_the_error_for_a_misspelt_name_has_its_key_and_the_known_names(
    tmp_path, key, value, name
):
    with pytest.raises(BadInput) as error:
        check_references(with_value(REFERRING, key, value), tmp_path)
    parent, _, last = key.rpartition(".")
    place = parent if f" {last!r}" in name else key
    assert str(error.value).startswith(f"ledgar.yaml, {place}: there is no {name}")


@pytest.mark.parametrize("path", ["cuad/date.zip", "cuad"])
def test_the_error_for_a_file_that_no_source_has_names_its_key(tmp_path, path):
    content = with_value(REFERRING, "data.ledgar.files.all", path)
    sentence = r"ledgar\.yaml, data\.ledgar\.files\.all: the source 'cuad' has no file"
    with pytest.raises(BadInput, match=sentence):
        check_references(content, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("tasks.lawngnli_nli.heads", ["nil"], "head 'nil', only nli, entailment"),
        (
            "tasks.lawngnli_nli.models.minilm.heads",
            ["nil"],
            "head 'nil', only nli, entailment",
        ),
        ("encoders", ["minilm"], "model 'minilm', only "),
        ("inference_model", "minilm", "model 'minilm', only "),
        (
            "tables.table5.headline",
            {"column": "F1"},
            "published column 'F1', only (1) Short premise / No, ",
        ),
        (
            "tables.table5.differences",
            [{"why": "A", "rows": ["F1"]}],
            "published row 'F1', only ",
        ),
    ],
)
def test_misspelt_heads_models_and_published_rows_of_lawngnli_are_errors(
    tmp_path, key, value, name
):
    path = ROOT / "resources/papers/lawngnli.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    changed = written(tmp_path, with_value(content, key, value), "lawngnli")
    registry = sources.load(ROOT / "resources/sources.yaml", path)
    with pytest.raises(BadInput) as error:
        references.check({"lawngnli": packages.load(changed)}, MODELS, registry, ROOT)
    message = str(error.value)
    assert message.startswith(f"lawngnli.yaml, {key}")
    assert f": there is no {name}" in message


def test_lawngnli_lists_the_heads_of_its_data_sets():
    heads = packages.load(ROOT / "resources/papers/lawngnli.yaml").HEADS
    assert heads["lawngnli_nli"] == (pairs.NLI, pairs.ENTAILMENT)
    assert heads["lawngnli_reranking"] == (retrieval.NLI,)


def test_a_row_that_the_sample_leaves_out_must_exist(tmp_path):
    left_out = with_value(PAPER, "not_in_sample.rows", ["BM52 / None"])
    paper = packages.load(written(tmp_path, left_out))
    message = (
        "ledgar.yaml, not_in_sample.rows: there is no row 'BM52 / None', only BM25"
    )
    with pytest.raises(BadInput, match=message):
        references.check_left_out({"ledgar": paper}, {"ledgar": laid_out(paper)})


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


def excluded(paper, *names):
    config = load_config({"papers": "acord", "exclude_rows": [*names]}, ["acord"], ROOT)
    return paper_plan.plan(
        paper,
        Context(config, MODELS, ROOT, False),
        paper_plan.excluded("ledgar", paper, config),
    )


def test_excluded_published_rows_do_not_run_and_additional_rows_are_removed(paper):
    every = excluded(paper)
    found = excluded(
        paper, "BM25 / None", "ledgar/MiniLM / None", "acord/MiniLM", "MiniLM"
    )
    (row,) = found.rows["table3"]
    assert (row["row"], row["runs"], row["reason"]) == (
        "BM25 / None",
        {},
        "excluded in the configuration",
    )
    assert [row["row"] for row in found.rows["table4"]] == ["BM25 / None"]
    assert {run.data_set for run in every.specs} == {"ledgar", "clauses"}
    # The additional row next to the published row has another name and keeps its runs.
    assert [row["row"] for row in found.rows["table2"] if row["runs"]] == [OURS]
    assert {run.data_set for run in found.specs} == {"ledgar"}
    assert (
        found.names == every.names >= {"BM25 / None", "MiniLM / None", "MiniLM", OURS}
    )


def test_the_run_of_an_excluded_row_is_kept_if_another_row_needs_it(paper):
    entry = paper.tasks["clauses"].model_dump()
    entry["retrievers"]["both"] = {
        "row": "Both",
        "kind": "fusion",
        "of": ["bm25", "minilm"],
        "additional": True,
    }
    task = type(paper.tasks["clauses"]).model_validate(entry)
    fused = paper.model_copy(update={"tasks": paper.tasks | {"clauses": task}})
    found = {
        run.model
        for run in excluded(fused, "BM25 / None", "MiniLM / None").specs
        if run.data_set == "clauses"
    }
    assert found == {"bm25", "minilm", "both"}
    assert not [
        run for run in excluded(fused, "Both / None").specs if run.model == "both"
    ]


def test_the_sample_leaves_out_rows_that_the_registry_names(paper):
    left_out = {"rows": ["BM25 / None", OURS], "tables": ["table3"]}
    entry = type(paper).model_validate(paper.model_dump() | {"not_in_sample": left_out})

    def planned(**values):
        config = load_config({"papers": "acord"} | values, ["acord"], ROOT)
        reasons = paper_plan.excluded("ledgar", entry, config)
        plan = paper_plan.plan(entry, Context(config, MODELS, ROOT, False), reasons)
        (row,) = plan.rows["table3"]
        return row["row"], bool(row["runs"]), row["reason"], plan

    *row, plan = planned()
    assert row == ["BM25 / None", False, "not part of the sample"]
    assert "bm25" not in {run.model for run in plan.specs}
    assert [row["row"] for row in plan.rows["table2"]] == ["MiniLM"]
    *row, _ = planned(data="release", models="available", grid="sample")
    assert row == ["BM25 / None", True, ""]


@pytest.mark.parametrize(
    ("left_out", "fault"),
    [
        ({"tables": ["table9"]}, "'table9', which is not a table of the paper"),
        ({"data": ["ledgar"]}, "'ledgar', which is not an auxiliary data set"),
        ({"runs": ["BM25"]}, "runs"),
    ],
)
def test_what_the_sample_leaves_out_must_exist(tmp_path, left_out, fault):
    path = written(tmp_path, PAPER | {"not_in_sample": left_out})
    with pytest.raises(BadInput, match=fault):
        packages.load(path)


@pytest.mark.parametrize("name", ["acord", "cuad", "lawngnli", "maud", "privacy"])
def test_every_row_that_the_sample_leaves_out_exists(name):
    paper = packages.load(ROOT / f"resources/papers/{name}.yaml")
    plan = paper_plan.plan(paper, context(name))
    assert paper.not_in_sample.rows
    assert plan.names >= {*paper.not_in_sample.rows}


def test_a_pattern_excludes_all_rows_that_it_matches(paper):
    found = excluded(paper, "ledgar/BM25*", "MiniLM / *")
    assert found.rows["table3"][0]["reason"] == "excluded in the configuration"
    nothing = excluded(paper, "*")
    assert nothing.specs == {}
    assert all(not row["runs"] for rows in nothing.rows.values() for row in rows)
    paper_plan.check_excluded(["ledgar/*"], {"ledgar": laid_out(paper)}, {"ledgar"})


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("GPT*", "take the name from the table."),
        ("bm25 / none", "did you mean 'BM25 / None' or "),
        ("ledgar/BM 25 / None", "did you mean 'ledgar/BM25 / None' or "),
        ("acord/BM25 / None", "did you mean 'BM25 / None' or 'ledgar/BM25 / None'."),
        ("GPT-9000 (ultra)", "take the name from the table."),
    ],
)
def test_the_error_for_an_unknown_excluded_row_suggests_similar_names(
    paper, name, near
):
    with pytest.raises(BadInput) as error:
        paper_plan.check_excluded([name], {"ledgar": laid_out(paper)}, {"ledgar"})
    assert f"config: exclude_rows = {name!r} is no row of ledgar; {near}" in str(
        error.value
    )


def test_excluded_rows_of_an_unplanned_paper_are_not_checked(paper):
    names = ["acord/anything", "BM25 / None", "ledgar/MiniLM"]
    paper_plan.check_excluded(names, {"ledgar": laid_out(paper)}, {"ledgar", "acord"})


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


def test_the_example_paper_in_the_documentation_has_the_documented_rows(tmp_path):
    text = (ROOT / "docs/adding-a-paper.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.DOTALL)
    found = laid_out(packages.load(written(tmp_path, block, "leasesearch"))).rows[
        "table1"
    ]
    rows = [row["row"] for row in found]
    assert rows == ["BM25 / None", "MiniLM / None", "MiniLM / Cross-Encoder"]
    assert all(f"`{row}`" in text for row in rows)

    inputs = Inputs(
        tmp_path,
        tmp_path,
        [row | {"runs": {}, "reason": "not here"} for row in found],
        [],
        None,
    )
    cells = [
        score_cell(
            inputs, row, row["row"], "NDCG@10", Score("NDCG@10", row["row"], "NDCG@10")
        )
        for row in inputs.rows
    ]

    def lines(row):
        return build(
            [PublishedCell("table1", row, "NDCG@10", "0.5", 1, "Section 3")],
            cells,
            True,
        )

    assert lines("BM25 / None")[0].verdict == "not run"
    with pytest.raises(
        BadInput,
        match="computes no row 'BM25'; write one of its rows, such as 'BM25 / None', ",
    ):
        lines("BM25")


def test_a_plan_has_the_runs_of_all_tasks(paper):
    found = laid_out(paper)
    assert {(run.data_set, run.experiment) for run in found.specs} == {
        ("ledgar", "train"),
        ("ledgar", "read"),
        ("clauses", "retrieve"),
    }
    assert found.rows.keys() == paper.tables.keys()


def test_a_table_shows_the_rows_and_conditions_that_it_selects(paper):
    found = laid_out(paper)
    shown = {}
    for name, rows in found.rows.items():
        shown[name] = {row["row"]: sorted(row["runs"]) for row in rows}
    assert {name: rows for name, rows in shown.items() if rows} == {
        "table2": {"MiniLM": [], OURS: ["100"]},
        "table3": {"BM25 / None": ["short"]},
        "table4": {
            "BM25 / None": ["long", "short"],
            "MiniLM / None": ["long", "short"],
        },
        "table5": {"BM25 / None": ["long"]},
    }
    assert found.folders("table1") == []
    assert found.folders("table5") == ["runs/clauses/retrieve/bm25/long/seed0"]
    assert found.folders("table2") == [
        f"runs/ledgar/read/minilm/multi-sample/seed{n}" for n in range(3)
    ]


def test_user_models_are_added_to_the_tables_that_they_fit(paper, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    extra = {"name": "Mine", "kind": "encoder", "model": str(tmp_path)}
    found = laid_out(paper, extra_models=[extra])
    assert [row["row"] for row in found.rows["table2"]] == ["MiniLM", OURS, "Mine"]
    assert [row["additional"] for row in found.rows["table2"]] == [False, True, True]
    assert [row["row"] for row in found.rows["table4"]] == [
        "BM25 / None",
        "MiniLM / None",
    ]
