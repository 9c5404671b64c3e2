"""Names in a paper's file that refer to something else, such as a model or a data set:
misspelt ones are errors.
"""

import pytest
import yaml

from helpers.invented_paper import GRID, MODELS, PAPER, REVIEW, with_value, written
from lextables import ROOT
from lextables.papers.lawngnli.dataset import pairs, retrieval
from lextables.pipeline.errors import BadInput
from lextables.planning import references
from lextables.registry import packages
from lextables.sources import entries as sources


@pytest.fixture
def paper(tmp_path):
    return packages.load(written(tmp_path, PAPER))


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
        ("texts.ledgar.without", "cuda/test", "data set 'cuda'"),
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


@pytest.mark.parametrize(
    ("key", "value"),
    [
        # Splits are not known before the first census.
        ("texts.ledgar.without", "ledgar/train"),
        ("texts.ledgar.without", "ledgar/all"),
        ("texts.ledgar.without", "ledgar"),
        ("data.ledgar.census", {"unverified": {"documents": 8}}),
        ("data.ledgar.census", {"unverified": {"texts": {"labels": None}}}),
        # Which rows there are depends on the weights that are available.
        ("not_in_sample.rows", ["Language model *"]),
    ],
)
def test_names_that_may_exist_are_accepted(tmp_path, key, value):
    check_references(with_value(REFERRING, key, value), tmp_path)


def test_a_split_that_the_census_lacks_is_an_error(tmp_path):
    census = {"unverified": {"texts": {"labels": {"split": {"train": 1}}}}}
    content = with_value(REFERRING, "data.ledgar.census", census)
    check_references(
        with_value(content, "texts.ledgar.without", "ledgar/all"), tmp_path
    )
    with pytest.raises(BadInput, match="there is no split 'ledgar/trian', only"):
        check_references(
            with_value(content, "texts.ledgar.without", "ledgar/trian"), tmp_path
        )
