"""Checks across MAUD's rows: the constraints of Appendix A.3, answers without test examples, split overlap.

No check stops a run; the results are tables.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lextables.papers.maud.catalogue import (
    DATA_TYPES,
    SPLITS,
    Catalogue,
    collapse_space,
)
from lextables.pipeline.dataset import Row

PRINTED_TYPES = tuple(DATA_TYPES.values())
NONE_OF_THE_ABOVE, CONDITIONAL = "none of the above", "conditional question"


@dataclass(frozen=True)
class Condition:
    """A question that may be asked only if the question ``needs`` has one of ``answers``."""

    question: str
    needs: str
    answers: tuple[str, ...]


def constraint_violations(
    examples: Sequence[Row],
    none_of_the_above: Mapping[str, str],
    conditions: Sequence[Condition],
) -> list[Row]:
    """Return the examples that break a constraint of Appendix A.3, sorted by example.

    ``none_of_the_above`` maps a multilabel question to the answer that excludes the others.  A condition is
    checked against the contract's answer in the main data, if there is one.  Case is ignored, because A.3 has
    "Constructive Knowledge" and the data "Constructive knowledge".
    """
    alone = {
        _plain(question): _plain(answer)
        for question, answer in none_of_the_above.items()
    }
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
        answers = [_plain(answer) for answer in example["answer"].split(", ")]
        if alone.get(question) in answers and len(answers) > 1:
            rows.append(
                row | {"constraint": NONE_OF_THE_ABOVE, "needs": None, "found": None}
            )
        if (condition := by_question.get(question)) and example["contract"] is not None:
            other = main.get((example["contract"], _plain(condition.needs)))
            if other is not None and _plain(other) not in map(
                _plain, condition.answers
            ):
                rows.append(
                    row
                    | {
                        "constraint": CONDITIONAL,
                        "needs": condition.needs,
                        "found": other,
                    }
                )
    return sorted(rows, key=lambda row: (row["example_id"], row["constraint"]))


def _plain(text: str) -> str:
    return collapse_space(text).casefold()


def unchecked(catalogue: Catalogue, conditions: Sequence[Condition]) -> list[str]:
    """Return the questions of ``conditions`` that are not in the catalogue and so not checked."""
    return [each.question for each in conditions if not catalogue.has(each.question)]


def answer_counts(examples: Iterable[Row], catalogue: Catalogue) -> list[Row]:
    """Return the rows of `answer_counts`: all answers of all heads that have examples, zeros included."""
    counts = Counter(
        (e["head_id"], e["split"], e["label"], e["data_type"]) for e in examples
    )
    head_ids = {head_id for head_id, *_ in counts}
    return [
        {"head_id": head.head_id, "split": split, "label": label, "answer": answer}
        | {
            data_type: counts[head.head_id, split, label, data_type]
            for data_type in PRINTED_TYPES
        }
        for head in catalogue.heads
        if head.head_id in head_ids
        for split in sorted(SPLITS)
        for label, answer in enumerate(head.answers)
    ]


@dataclass(frozen=True)
class Undefined:
    """The answers of a head whose AUPR is undefined on the test split.

    The area under an answer's curve (Appendix A.5) needs examples with and without the answer.  An answer
    without a test example has no curve.  If all test examples have the same answer, the head has no score.
    The released code raises an error for both.
    """

    head_id: str
    only_answer: str | None
    absent: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What is undefined and why."""
        if self.only_answer is not None:
            return f"{self.head_id}: all of test answers {self.only_answer!r}, so its AUPR is not defined"
        listed = ", ".join(map(repr, self.absent))
        return f"{self.head_id}: no example of test answers {listed}, so those have no AUPR"


def undefined_in_test(counts: Iterable[Row]) -> list[Undefined]:
    """Return the heads with an answer that no test example has, in the order of ``counts``."""
    test: dict[str, dict[str, int]] = defaultdict(dict)
    for row in counts:
        if row["split"] == "test":
            test[row["head_id"]][row["answer"]] = sum(
                row[data_type] for data_type in PRINTED_TYPES
            )
    undefined = []
    for head_id, answers in test.items():
        present = [answer for answer, examples in answers.items() if examples]
        absent = tuple(answer for answer, examples in answers.items() if not examples)
        if absent:
            undefined.append(
                Undefined(head_id, present[0] if len(present) == 1 else None, absent)
            )
    return undefined


def split_overlap(examples: Iterable[Row]) -> list[Row]:
    """Return the contracts and texts that occur in more than one split, sorted by kind and key.

    ``heads`` counts the heads whose own examples have the contract or text in several splits: only their
    single-task models are trained and tested on it.
    """
    seen: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    of_head: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(
        lambda: defaultdict(set)
    )
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
    """Return how many contracts and texts occur in each pair of splits, and in two splits of one head."""
    notes = Counter(
        {
            f"{kind}s_in_{a}_and_{b}": 0
            for kind in ("contract", "text")
            for a, b in (*pairwise(SPLITS), (SPLITS[0], SPLITS[2]))
        }
    )
    notes.update(
        {"contracts_in_two_splits_of_one_head": 0, "texts_in_two_splits_of_one_head": 0}
    )
    for row in rows:
        for a, b in (*pairwise(SPLITS), (SPLITS[0], SPLITS[2])):
            notes[f"{row['kind']}s_in_{a}_and_{b}"] += bool(row[a] and row[b])
        notes[f"{row['kind']}s_in_two_splits_of_one_head"] += bool(row["heads"])
    return dict(sorted(notes.items()))
