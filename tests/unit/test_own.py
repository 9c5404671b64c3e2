"""User rows: their keys are reserved, and their names differ from those of the papers'
rows.
"""

import pytest
from pydantic import TypeAdapter, ValidationError

from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline import user_rows
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput
from lextables.planning import paper_plan
from lextables.registry import packages
from lextables.tasks.planner import Context

MODELS = load_models(ROOT / "resources/models.yaml")


def extras(*names):
    given = [{"name": name, "kind": "bi-encoder", "model": "org/m"} for name in names]
    return load_config(
        {"papers": "acord", "extra_models": given}, ["acord"], ROOT
    ).extra_models


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("My Model!", "own-my-model"),
        ("BM25", "own-bm25"),
        ("roberta-base", "own-roberta-base"),
        ("own-roberta-base", "own-own-roberta-base"),
        ("../..", "own-"),
        ("模型 v2", "own-模型-v2"),
        ("ﬁne", "own-fine"),
        ("v1.5 (mine)", "own-v1.5--mine"),
        ("{model}-{seed}", "own-model---seed"),
    ],
)
def test_a_key_has_a_prefix_and_is_a_valid_folder_name(name, key):
    assert user_rows.key(name) == key


DIFFERENT = [
    ("C++", "C#"),
    ("C++", "C"),
    ("C#", "C"),
    ("BM25+", "BM25"),
    ("A+B", "A-B"),
    ("A/B", "AB"),
    ("R&D", "RD"),
    ("Model v1.5", "Model v15"),
    ("Model v1.5", "Model v1-5"),
    ("p<0.5", "p>0.5"),
    ("5 €", "5 $"),
    ("कि", "का"),
    ("C++" + "x" * 200, "C#" + "x" * 200),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_names_that_differ_in_a_sign_are_two_rows(one, other):
    user_rows.check_names([one, other])
    user_rows.check_free([one], [other])
    assert user_rows.key(one) != user_rows.key(other)
    assert len(user_rows.key(one).encode()) <= user_rows.LONGEST
    assert not set(user_rows.key(one)) & set("/\\+#&$<>% ")


def test_keys_of_long_names_are_short_and_unique():
    one, other = (user_rows.key("模" * 59 + end) for end in "型形")
    assert one != other
    assert max(len(key.encode()) for key in (one, other)) <= 100


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("!!!",), "config: the name '!!!' has no letter and no digit; correct"),
        (("My Model", "my-model?"), "the names 'My Model' and 'my-model?' read alike"),
        (("Mine", "Mine"), "the names 'Mine' and 'Mine' read alike"),
        (("École", "E\u0301cole"), "read alike"),
        (("ＢＥＲＴ two", "bert-TWO"), "read alike"),
        (
            (" Mine",),
            "the name ' Mine' has characters that do not show, or a blank at an end",
        ),
        (("Mi\u2028ne",), "has characters that do not show"),
        (("Mine\u202e",), "has characters that do not show"),
        (("Mine\x00",), "has characters that do not show"),
    ],
)
def test_invalid_and_similar_names_raise(names, sentence):
    with pytest.raises(BadInput) as error:
        extras(*names)
    assert sentence in str(error.value)
    assert str(error.value).count(". ") == 0


def test_names_in_any_script_are_accepted():
    keys = [extra.key for extra in extras("Модель", "模型", "Modèle 1")]
    assert keys == ["own-модель", "own-模型", "own-modèle-1"]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("RoBERTa Base!", "RoBERTa-base"),
        ("bm 25", "BM25"),
        ("“BM25”", "BM25"),
        ("none", "None"),
        ("RoBERTa\N{MINUS SIGN}base", "RoBERTa-base"),
        ("`BM25`", "BM25"),
        ("BM25*", "BM25"),
        ("BM25.", "BM25"),
        ("BM25\u034f", "BM25"),
        ("B\N{FULLWIDTH LATIN SMALL LETTER M}25", "BM25"),
    ],
)
def test_names_similar_to_rows_of_a_paper_raise(name, other):
    with pytest.raises(BadInput) as error:
        user_rows.check_free(
            ["Mine", name], ["RoBERTa-base", *user_rows.printed(["BM25 / None"])]
        )
    assert f"the name {name!r} reads like {other!r}" in str(error.value)
    user_rows.check_free(["Mine", "BM25 of mine"], user_rows.printed(["BM25 / None"]))
    with pytest.raises(
        BadInput, match=r"^config, extra_predictions: the name 'bm25' reads like"
    ):
        user_rows.check_free(["bm25"], ["BM25"], "extra_predictions")


@pytest.mark.parametrize(
    ("paper", "keys", "rows"),
    [
        (
            "acord",
            {"bm25", "minilm-fresh-head"},
            {"BM25", "GPT4o", "MiniLM encoder, fresh head"},
        ),
        (
            "maud",
            {"roberta-base"},
            {
                "RoBERTa",
                "RoBERTa-base",
                "MiniLM encoder, span head, spans of adjacent windows joined",
            },
        ),
    ],
)
def test_all_rows_of_a_papers_file_and_plan_are_reserved(paper, keys, rows):
    registry = packages.load(ROOT / f"resources/papers/{paper}.yaml")
    assert keys | rows <= set(user_rows.rows_of(registry.model_dump()))
    context = Context(
        load_config({"papers": paper}, [paper], ROOT), MODELS, ROOT, False
    )
    assert rows <= set(
        user_rows.rows_of(list(paper_plan.plan(registry, context).rows.values()))
    )


def test_registries_reject_the_prefix_of_user_models(tmp_path):
    with pytest.raises(
        ValidationError, match="'own-', which marks a user's own models"
    ):
        TypeAdapter(user_rows.Key).validate_python("own-bert")
    path = tmp_path / "models.yaml"
    path.write_text("own-bert: {kind: encoder, licence: x, use: x}\n")
    with pytest.raises(BadInput, match=r"^models\.yaml: own-bert starts with 'own-'"):
        load_models(path)
