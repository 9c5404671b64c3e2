"""What is checked of MAUD's rows beside each other: Appendix A.3's constraints, answers, and the splits.

None of it stops a run: the release is as it is, and a table says what was found.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lextables.papers.maud.catalogue import Catalogue, blanks
from lextables.papers.maud.release import DATA_TYPES, SPLITS
from lextables.pipeline.dataset import Row

PRINTED_TYPES = tuple(DATA_TYPES.values())
NONE_OF_THE_ABOVE, CONDITIONAL = "none of the above", "conditional question"


@dataclass(frozen=True)
class Condition:
    """A question that is asked only where the question ``needs`` has one of ``answers``."""

    question: str
    needs: str
    answers: tuple[str, ...]


def constraint_violations(
    examples: Sequence[Row], none_of_the_above: Mapping[str, str], conditions: Sequence[Condition]
) -> list[Row]:
    """Return the examples that break a constraint of Appendix A.3, sorted by example.

    ``none_of_the_above`` maps a multilabel question to the answer that stands alone.  A condition is
    checked against the contract's answer in the main data; where that is missing, or the example is of no
    contract, nothing is said.  Answers are compared without regard to case, because A.3 writes
    "Constructive Knowledge" where the data have "Constructive knowledge".
    """
    alone = {_plain(question): _plain(answer) for question, answer in none_of_the_above.items()}
    needed = {_plain(condition.needs) for condition in conditions}
    by_question = {_plain(condition.question): condition for condition in conditions}
    main = {
        (example["contract"], _plain(example["question"])): example["answer"]
        for example in examples
        if example["data_type"] == "main" and _plain(example["question"]) in needed
    }
    rows: list[Row] = []
    for example in examples:
        question = _plain(example["question"])
        row = {
            "example_id": example["example_id"],
            "contract": example["contract"],
            "question": example["question"],
            "answer": example["answer"],
        }
        given = [_plain(answer) for answer in example["answer"].split(", ")]
        if alone.get(question) in given and len(given) > 1:
            rows.append(row | {"constraint": NONE_OF_THE_ABOVE, "needs": None, "found": None})
        if (condition := by_question.get(question)) and example["contract"] is not None:
            found = main.get((example["contract"], _plain(condition.needs)))
            if found is not None and _plain(found) not in map(_plain, condition.answers):
                rows.append(row | {"constraint": CONDITIONAL, "needs": condition.needs, "found": found})
    return sorted(rows, key=lambda row: (row["example_id"], row["constraint"]))


def _plain(text: str) -> str:
    return blanks(text).casefold()


def unchecked(catalogue: Catalogue, conditions: Sequence[Condition]) -> list[str]:
    """Return the questions of ``conditions`` that are not in the catalogue: nothing is checked of them."""
    return [one.question for one in conditions if catalogue.question(one.question) is None]


def answer_counts(examples: Iterable[Row], catalogue: Catalogue) -> list[Row]:
    """Return the rows of `answer_counts`: all answers of all heads that have any example, zeros included."""
    counts = Counter((e["head_id"], e["split"], e["label"], e["data_type"]) for e in examples)
    asked = {head_id for head_id, *_ in counts}
    return [
        {"head_id": head.head_id, "split": split, "label": label, "answer": answer}
        | {data_type: counts[head.head_id, split, label, data_type] for data_type in PRINTED_TYPES}
        for head in catalogue.heads
        if head.head_id in asked
        for split in sorted(SPLITS)
        for label, answer in enumerate(head.answers)
    ]


@dataclass(frozen=True)
class Undefined:
    """The answers of a head whose AUPR is not defined in test.

    The area under an answer's curve (Appendix A.5) takes examples with the answer and examples without it.
    An answer of which test has no example has no curve; where all of test has one answer, no answer of the
    head has, and the head has no score.  The released code refuses both.
    """

    head_id: str
    only_answer: str | None
    absent: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What is undefined and why, for a log and a table's reader."""
        if self.only_answer is not None:
            return f"{self.head_id}: all of test answers {self.only_answer!r}, so its AUPR is not defined"
        listed = ", ".join(map(repr, self.absent))
        return f"{self.head_id}: no example of test answers {listed}, so those have no AUPR"


def undefined_in_test(counts: Iterable[Row]) -> list[Undefined]:
    """Return the heads of which test lacks an answer, in the order of the rows, those of `answer_counts`."""
    test: dict[str, dict[str, int]] = defaultdict(dict)
    for row in counts:
        if row["split"] == "test":
            test[row["head_id"]][row["answer"]] = sum(row[data_type] for data_type in PRINTED_TYPES)
    found = []
    for head_id, answers in test.items():
        present = [answer for answer, examples in answers.items() if examples]
        absent = tuple(answer for answer, examples in answers.items() if not examples)
        if absent:
            found.append(Undefined(head_id, present[0] if len(present) == 1 else None, absent))
    return found


def split_overlap(examples: Iterable[Row]) -> list[Row]:
    """Return the contracts and texts that stand in more than one split, sorted by kind and key.

    ``heads`` counts those whose own examples have the contract or text on both sides: a model of one head
    is trained and tested on the same contract only there.
    """
    seen: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    of_head: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for example in examples:
        for key in (("contract", example["contract"]), ("text", example["text_id"])):
            if key[1] is not None:
                seen[key][example["split"]] += 1
                of_head[key][example["head_id"]].add(example["split"])
    return [
        {"kind": kind, "key": key}
        | {split: splits[split] for split in SPLITS}
        | {"heads": sum(len(places) > 1 for places in of_head[kind, key].values())}
        for (kind, key), splits in sorted(seen.items())
        if len(splits) > 1
    ]


def overlap_notes(rows: Iterable[Row]) -> dict[str, int]:
    """Return how many contracts and texts stand in each two splits, and in how many for one head."""
    notes = Counter(
        {
            f"{kind}s_in_{a}_and_{b}": 0
            for kind in ("contract", "text")
            for a, b in (*pairwise(SPLITS), (SPLITS[0], SPLITS[2]))
        }
    )
    notes.update({"contracts_in_two_splits_of_one_head": 0, "texts_in_two_splits_of_one_head": 0})
    for row in rows:
        for a, b in (*pairwise(SPLITS), (SPLITS[0], SPLITS[2])):
            notes[f"{row['kind']}s_in_{a}_and_{b}"] += bool(row[a] and row[b])
        notes[f"{row['kind']}s_in_two_splits_of_one_head"] += bool(row["heads"])
    return dict(sorted(notes.items()))
