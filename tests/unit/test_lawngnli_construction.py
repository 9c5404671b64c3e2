"""A.1.4 to A.1.9 together, on forty examples of our own and an encoder that stands in for one."""

import hashlib
import random
from collections import Counter

import numpy as np
import pytest

from lextables.models.token_count import TokenCounter
from lextables.papers.lawngnli.citation_removal import remove_citations
from lextables.papers.lawngnli.difficulty import bigram_overlap, difficulty_fault
from lextables.papers.lawngnli.examples import twinned
from lextables.papers.lawngnli.labels import (
    LABELS,
    assign_labels,
    balance,
    balanced,
    closed_group,
    in_analysis,
    labelled,
)
from lextables.papers.lawngnli.neutralization import (
    CitationNetwork,
    chosen_premises,
    neutral_premises,
    neutralized,
)
from lextables.papers.lawngnli.statistics import funnel, table2

# (affirmed, denied, what the cited page says)
SUBJECTS = [
    (
        "a landlord must return the deposit",
        "a landlord need not return the deposit",
        "money held against damage goes back within thirty days of leaving",
    ),
    (
        "silence is acceptance of an offer",
        "silence is not acceptance of an offer",
        "one who says nothing binds himself to no bargain",
    ),
    (
        "an agent may bind its principal",
        "an agent may not bind its principal",
        "whoever acts with apparent power commits the firm that sent him",
    ),
    (
        "notice by post suffices",
        "notice by post does not suffice",
        "the letter counts from the day on which it is handed to the carrier",
    ),
    (
        "a minor can void the contract",
        "a minor cannot void the contract",
        "those under age walk away from what they signed",
    ),
    (
        "the city owed a duty of care",
        "the city owed no duty of care",
        "streets must be kept so that travellers come to no harm",
    ),
    (
        "an oral will is valid",
        "an oral will is not valid",
        "last wishes have to be written down before two persons",
    ),
    (
        "the search was reasonable",
        "the search was not reasonable",
        "officers opened the locked trunk without a warrant at noon",
    ),
    (
        "punitive damages are taxable",
        "punitive damages are not taxable",
        "sums that punish count as income in the year they are paid",
    ),
    (
        "the statute reaches foreign ships",
        "the statute does not reach foreign ships",
        "vessels under other flags obey the law of the port",
    ),
    (
        "a partner must account for profits",
        "a partner need not account for profits",
        "gains made alone belong to all who share the firm",
    ),
    (
        "the jury may hear the confession",
        "the jury may not hear the confession",
        "words spoken under threat stay outside the courtroom",
    ),
    (
        "a union can waive the right to strike",
        "a union cannot waive the right to strike",
        "workers gave up stopping work in exchange for arbitration",
    ),
    (
        "the patent covers later machines",
        "the patent does not cover later machines",
        "claims reach devices that do the same work in the same way",
    ),
    (
        "an easement passes with the land",
        "an easement does not pass with the land",
        "whoever buys the field keeps the path across the next one",
    ),
    (
        "the insurer had to defend the suit",
        "the insurer did not have to defend the suit",
        "a policy that might apply calls for counsel at once",
    ),
    (
        "delay bars the claim",
        "delay does not bar the claim",
        "nine quiet years are too long for one who knew",
    ),
    (
        "the witness was competent to testify",
        "the witness was not competent to testify",
        "a child of seven understood what an oath asks",
    ),
    (
        "the tax falls on interstate trade",
        "the tax does not fall on interstate trade",
        "goods that only cross the county owe it nothing",
    ),
    (
        "a bank must verify the signature",
        "a bank need not verify the signature",
        "paying a forged cheque is at the payer's own risk",
    ),
]
FIELDS = ("cited_case_id", "cited_jurisdiction", "short_premise")
JURISDICTIONS = ("us", "ill")


def examples():
    rows = []
    for at, (affirmed, denied, page) in enumerate(SUBJECTS):
        for negated in (False, True):
            example_id = f"{at:02}-{'n' if negated else 'p'}"
            place = JURISDICTIONS[at % 2]
            rows.append(
                {
                    "example_id": example_id,
                    "citing_case_id": 1000 + len(rows),
                    "cited_case_id": 500 + at,
                    "citing_jurisdiction": place,
                    "cited_jurisdiction": place,
                    "hypothesis": f"holding that {denied if negated else affirmed}",
                    "twin": f"holding that {affirmed if negated else denied}",
                    "negated": negated,
                    "short_premise": f"The court below found that {page}.",
                }
            )
    # Two that the difficulty filters take.
    rows.append({**rows[0], "example_id": "90-p", "hypothesis": "holding so", "twin": "not holding so"})
    rows.append(
        {**rows[0], "example_id": "91-p", "hypothesis": "found that money held against damage goes back"}
    )
    return rows


LONG_PREMISES = {
    500 + at: f"Poe sued Roe. See Doe v. Bolton, 410 U.S. 179 (1973).\nThe court below found that {page}.\n"
    + "We affirm, Roe v. Wade, 410 U.S. 113 (1973), and add a word.\n"
    + "The facts are told once more.\n" * (3 if at % 3 else 700)
    for at, (_, _, page) in enumerate(SUBJECTS)
}


def encode(texts):
    vectors = np.zeros((len(texts), 24), dtype=np.float32)
    for at, text in enumerate(texts):
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
            vectors[at] += np.random.default_rng(seed).standard_normal(24).astype(np.float32)
    return vectors


def construct(rows, network, counter, seed):
    """The steps in the order of the paper; returns the finished rows and the funnel."""
    counts = [("entailed", len(rows))]
    labels = assign_labels(rows, seed)
    rows = [labelled(row, labels[row["example_id"]]) for row in rows]
    rows = [row for row in rows if difficulty_fault(row["hypothesis"], row["short_premise"]) is None]
    counts.append(("difficulty", len(rows)))
    pairings = neutral_premises(rows, network, encode)
    chosen = chosen_premises(rows, pairings)
    premises = {row["example_id"]: row for row in rows if row["example_id"] in chosen}
    rows = list(neutralized(rows, pairings, premises, FIELDS))
    counts.append(("neutralized", len(rows)))
    bare = {
        case_id: remove_citations(LONG_PREMISES[case_id]) for case_id in {r["cited_case_id"] for r in rows}
    }
    rows = [{**row, "long_premise": bare[row["cited_case_id"]]} for row in rows]
    rows = [{**row, "analysis": in_analysis(counter.sequence_length(row["long_premise"]))} for row in rows]
    rows = list(balanced(rows, balance(rows, seed)))
    counts.append(("balanced", len(rows)))
    rows = sorted(twinned(rows), key=lambda row: (row["example_id"], row["is_twin"]))
    counts.append(("twinned", len(rows)))
    return rows, funnel(counts)


@pytest.fixture(scope="module")
def counter():
    return TokenCounter()


@pytest.fixture(scope="module")
def network():
    rows = examples()
    return CitationNetwork((row["citing_case_id"], row["cited_case_id"]) for row in rows)


@pytest.fixture(scope="module")
def built(network, counter):
    return construct(examples(), network, counter, seed=7)


@pytest.mark.parametrize("shuffle", range(3))
def test_the_order_of_the_input_does_not_matter(built, network, counter, shuffle):
    rows = examples()
    shuffled = random.Random(shuffle).sample(rows, len(rows))
    assert construct(shuffled, network, counter, seed=7) == built


def test_another_seed_gives_another_data_set(built, network, counter):
    assert construct(examples(), network, counter, seed=8) != built


def test_the_funnel(built):
    rows, steps = built
    left = {step.step: step.left for step in steps}
    assert left["entailed"] == 42
    assert left["difficulty"] <= 40
    assert left["neutralized"] == left["difficulty"]
    assert left["twinned"] == 2 * left["balanced"] == len(rows) > 0


def test_labels_and_negation_are_balanced_in_each_subset(built):
    rows, _ = built
    for analysis in (True, False):
        inside = [row for row in rows if row["analysis"] is analysis]
        assert inside
        # Neutral hypotheses are balanced with their twins, the others over the two groups.
        assert Counter(row["label"] for row in inside) == dict.fromkeys(LABELS, len(inside) // 3)
        negated = Counter(row["label"] for row in inside if row["negated"])
        assert negated == dict.fromkeys(LABELS, len(inside) // 6)
        groups = Counter(closed_group(row["label"], row["negated"]) for row in inside)
        assert len(set(groups.values())) == 1


def test_neutral_premises_come_from_elsewhere_in_the_same_jurisdiction(built, network):
    originals = {row["example_id"]: row for row in examples()}
    neutrals = [row for row in built[0] if row["label"] == "neutral"]
    assert neutrals
    for row in neutrals:
        before = originals[row["example_id"]]
        assert row["cited_case_id"] != before["cited_case_id"]
        assert row["cited_case_id"] not in network.neighbours(row["citing_case_id"])
        assert row["cited_jurisdiction"] == before["cited_jurisdiction"]
        assert row["short_premise"] == originals[row["premise_example_id"]]["short_premise"]
        if not row["is_twin"]:
            assert bigram_overlap(row["hypothesis"], row["short_premise"]) < 0.5


def test_the_others_keep_their_premise(built):
    originals = {row["example_id"]: row for row in examples()}
    for row in built[0]:
        if row["label"] != "neutral":
            before = originals[row["example_id"]]
            assert row["short_premise"] == before["short_premise"]
            stays = row["hypothesis"] == before["hypothesis"]
            assert stays == (row["label"] == "entail")


def test_long_premises(built, counter):
    for row in built[0]:
        assert "U.S." not in row["long_premise"]
        assert row["long_premise"].startswith("Poe sued Roe.\n")
        assert (counter.sequence_length(row["long_premise"]) <= 4096) is row["analysis"]


def test_table2(built, counter):
    found = table2(built[0], counter.sequence_length)
    full, inside = found["long", "full"], found["long", "analysis"]
    assert full.examples == sum(row["split"] == "train" for row in built[0])
    assert max(inside.premise_length) <= 4096 < full.premise_length[-1]
    # Each example comes with its twin, and one of the two says "no", "not" or "cannot".
    assert sum(full.hypothesis_negation.values()) / 3 == pytest.approx(0.5)
