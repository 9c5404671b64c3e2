"""What models were trained on: which names are allowed, and which rows are marked."""

import pytest

from helpers import registered
from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput
from lextables.planning import paper_plan, trained_on
from lextables.registry import packages
from lextables.tables.cells import Cell
from lextables.tables.inputs import Inputs, explained
from lextables.tasks.planner import Context, SubmittedFiles

PAPERS = {
    path.stem: packages.load(path)
    for path in sorted((ROOT / "resources/papers").glob("*.yaml"))
}
MODELS = load_models(ROOT / "resources/models.yaml")


def configured(kind="bi-encoder", **extra):
    entry = {"name": "Mine", "kind": kind, "model": "org/m"} | extra
    values = {
        "papers": sorted(PAPERS),
        "data": "release",
        "models": "available",
        "extra_models": entry,
    }
    return load_config(values, sorted(PAPERS), ROOT)


def rows(paper, config, table, **context):
    plan = paper_plan.plan(
        PAPERS[paper], Context(config, MODELS, ROOT, True, **context)
    )
    return {row["row"]: row for row in plan.rows[table]}


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ["cuda"],
            "Mine: trained_on = 'cuda' is not a data set of the registry; choose from acord, anli",
        ),
        (
            "cuad/training",
            "'cuad/training' is not a data set of the registry; choose from cuad/test, ",
        ),
        (
            ["cuad", "Mine"],
            "trained_on = 'Mine' is not a data set of the registry; choose from acord, ",
        ),
    ],
)
def test_the_error_for_an_unknown_data_set_lists_the_valid_names(names, sentence):
    trained_on.check(
        configured(trained_on=["acord/train", "edgar", "contractnli/test"]),
        MODELS,
        PAPERS,
    )
    with pytest.raises(BadInput) as error:
        trained_on.check(configured(trained_on=names), MODELS, PAPERS)
    assert sentence in str(error.value)


SHARE = "96 % of the words of this test split"  # share of ACORD that is in CUAD, from the table of facts


@pytest.mark.parametrize(
    ("names", "shown", "seen"),
    [
        (None, "unknown", ""),
        ([], "none of the data sets here", ""),
        (
            "cuad",
            f"cuad ({SHARE})",
            f"its model was trained on cuad, which contains {SHARE}",
        ),
        (["privacy", "acord/train"], "acord/train, privacy", ""),
        (
            "acord",
            "acord (this test split)",
            "its model was trained on acord, which contains this test split",
        ),
    ],
)
def test_a_users_row_shows_which_training_data_contain_the_test_split(
    names, shown, seen
):
    row = rows("acord", configured(trained_on=names), "table_d3")["Mine / None"]
    assert (row["trained_on"], row["seen"]) == (shown, seen)


def test_fine_tuning_adds_the_training_split_to_the_training_data():
    # ACORD's clauses belong to no split, so acord/train contains all of them.
    found = rows("cuad", configured("encoder", trained_on="acord/train"), "table2")
    assert (
        found["Mine"]["trained_on"]
        == "acord/train (13 % of the words of this test split), cuad/train"
    )
    assert found["TF-IDF, linear models and trees"]["trained_on"] == "cuad/train"


@pytest.mark.parametrize(
    ("data", "share"), [("release", f" ({SHARE})"), ("sample", "")]
)
def test_facts_about_published_data_are_not_used_for_the_sample(data, share):
    given = [{"name": "Mine", "paper": "acord", "file": "a.txt", "trained_on": "cuad"}]
    given += [{"name": "Mine", "paper": "cuad", "file": "b.json"}]
    config = load_config(
        {"papers": ["acord"], "data": data, "extra_predictions": given}, ["acord"], ROOT
    )
    files = {
        "acord": [
            SubmittedFiles("Mine", config.extra_predictions[0].key, "trec", ("d",))
        ]
    }
    row = rows("acord", config, "table_d3", submitted=files)["Mine / None"]
    assert row["trained_on"] == f"cuad{share}"


def test_a_row_is_marked_if_its_model_was_trained_on_the_source_of_the_texts(tmp_path):
    values = registered.with_models(tmp_path, "legal-bert-base-uncased") | {
        "papers": ["maud"]
    }
    found = rows("maud", load_config(values, ["maud"], ROOT), "table3").values()
    (row,) = [
        row for row in found if row["row"].startswith("LegalBERT") and row["runs"]
    ]
    assert (
        row["trained_on"]
        == "caselaw, edgar (texts of this kind, possibly these), maud/train"
    )


def test_a_model_panel_may_list_additional_training_data():
    def paper(name):
        task = PAPERS["cuad"].tasks["cuad"]
        panel = task.models["linear"].model_copy(update={"also_trained_on": (name,)})
        task = task.model_copy(update={"models": {"linear": panel}})
        return PAPERS["cuad"].model_copy(update={"tasks": {"cuad": task}})

    (row,) = paper_plan.plan(
        paper("acord"), Context(configured(), MODELS, ROOT, True)
    ).rows["table2"]
    assert row["seen"].endswith(
        "trained on acord, which contains 13 % of the words of this test split"
    )
    with pytest.raises(BadInput, match=r"^cuad\.yaml, linear: trained_on = 'x' is no"):
        trained_on.check(configured(), MODELS, PAPERS | {"cuad": paper("x")})


def test_marks_are_reasons_of_all_cells_of_a_row_that_have_a_value(tmp_path):
    for folder in "abc":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.json").write_text("{}")
    table = [
        {"seen": "read it", "runs": {"all": ["a", "b"]}},
        {"seen": "", "runs": {"all": ["c"]}},
    ]
    inputs = Inputs(
        data=tmp_path, root=tmp_path, rows=table, published=[], paper=PAPERS["cuad"]
    )
    cells = [
        Cell("x", "F1", 1.0, runs=("a", "b"), reason="few"),
        Cell("y", "F1", 1.0, runs=("c",)),
    ]
    cells.append(Cell("x", "F2", None, reason="not run"))
    assert [cell.reason for cell in explained(cells, inputs)] == [
        "few; read it",
        "",
        "not run",
    ]


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.1, "cuad (10 % of the words of this test split)"), (0.0999, "cuad")],
)
def test_a_tenth_of_the_words_of_a_test_split_is_named(monkeypatch, share, shown):
    facts = dict.fromkeys(trained_on.measured(trained_on.FACTS), share)
    monkeypatch.setattr(trained_on, "measured", lambda path: facts)
    row = rows("acord", configured(trained_on="cuad"), "table_d3")["Mine / None"]
    assert row["trained_on"] == shown
