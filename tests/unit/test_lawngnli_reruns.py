"""What a change to a module of LawngNLI makes anew: the rules whose work it does, and no rule before them."""

from functools import cache
from pathlib import Path

import pytest

from lextables.fingerprint import digests

SCRIPTS = Path(__file__).parents[2] / "workflow/scripts"
# In the order of the construction: what comes after a rule that runs again runs again with it.
RULES = (
    "index",
    "candidates",
    "parentheticals",
    "parenthetical_set",
    "contradictions",
    "cited",
    "long_premises",
    "examples",
    "pairs",
    "retrieval",
    "to_read",
    "released",
)
# module of the room -> the rules whose fingerprints it is in; it is in no other's.
MODULES = {
    "accuracy": {"parentheticals"},
    "balance": {"examples", "pairs"},
    "bulk_export": {"released"},
    "candidates": {"candidates"},
    "case_index": {"index", "candidates", "parentheticals", "cited"},
    "census": {"examples", "retrieval", "parenthetical_set"},
    "citation_keys": {"index", "candidates", "parentheticals", "cited"},
    "citation_network": {"examples"},
    "citation_removal": {"long_premises", "examples"},
    "citations": {"candidates"},
    "cited_cases": {"cited"},
    "contradiction": {"contradictions"},
    "contradictions": {"contradictions"},
    "difficulty": {"contradictions", "examples"},
    "entail_examples": {"parentheticals"},
    "examples": {"examples"},
    "jurisdictions": {"examples"},
    "labels": {"examples", "pairs", "retrieval", "to_read"},
    "long_premises": {"long_premises"},
    "majority_opinions": {"parentheticals", "long_premises"},
    "morphology": {"contradictions", "long_premises", "examples"},
    "neutralization": {"examples"},
    "outcomes": {"cited", "examples"},
    "pairs": {"pairs"},
    "parentheticals": {"candidates"},
    "parsers": {"contradictions"},
    "party_names": {"index", "candidates", "parentheticals", "cited"},
    "pincites": {"candidates"},
    "premises": {"parentheticals"},
    "prepending": {"long_premises"},
    "readings": {"pairs", "to_read"},
    "released_dataset": {"released"},
    "released_ids": {"released"},
    "reranking_examples": {"retrieval"},
    "retrieval_pools": {"retrieval"},
    "schema/candidates": {"candidates", "parentheticals", "parenthetical_set"},
    "schema/columns": {
        "candidates",
        "parentheticals",
        "contradictions",
        "examples",
        "released",
        "parenthetical_set",
    },
    "schema/contradictions": {"contradictions", "examples"},
    "schema/examples": {"examples"},
    "schema/long_premises": {"long_premises", "examples"},
    "schema/pairs": {"pairs"},
    "schema/parentheticals": {"parentheticals", "parenthetical_set"},
    "schema/reranking": {"retrieval"},
    "schema/retrieval": {"retrieval"},
    "step_counts": {
        "candidates",
        "parentheticals",
        "contradictions",
        "examples",
        "retrieval",
        "parenthetical_set",
    },
    "tree": {"contradictions"},
    "twins": {"examples"},
    # What the tables show is counted from the finished data set.
    "funnel": set(),
    "nli_tables": set(),
    "plan": set(),
    "retrieval_plan": set(),
    "retrieval_tables": set(),
    "statistics": set(),
    "tables": set(),
}


@cache
def covered(rule):
    """The modules of the room, without its packages, that the fingerprint of a rule is over."""
    room = "lextables/lawngnli/"
    files = (Path(name) for name in digests(str(SCRIPTS / f"lawngnli_{rule}.py")) if name.startswith(room))
    return {file.relative_to(room).with_suffix("").as_posix() for file in files if file.name != "__init__.py"}


def test_every_rule_of_the_construction_is_looked_at():
    assert {f"lawngnli_{rule}" for rule in RULES} == {path.stem for path in SCRIPTS.glob("lawngnli_*.py")}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_part_of_the_rules_that_use_it_and_of_no_other(module):
    assert {rule for rule in RULES if module in covered(rule)} == MODULES[module]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_uses_no_module_that_the_table_does_not_name(rule):
    assert covered(rule) <= MODULES.keys()


@pytest.mark.parametrize("rule", ["index", "candidates", "parentheticals", "contradictions"])
def test_what_takes_hours_knows_no_model_that_finds_neutral_premises(rule):
    models = {"bi_encoder", "device", "loading", "onednn", "token_count", "vectors"}
    assert not digests(str(SCRIPTS / f"lawngnli_{rule}.py")).keys() & {
        f"lextables/models/{name}.py" for name in models
    }
