"""Checks across MAUD's examples: the constraints of Appendix A.3, answers without test
examples, and contracts and texts in several splits.

No check stops a run; the results are tables.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import itemgetter
from typing import Any

from lextables.papers.maud.catalogue import (
    DATA_TYPES,
    SPLITS,
    Catalogue,
    collapse_space,
)
from lextables.pipeline.dataset import Row

PRINTED_TYPES = tuple(DATA_TYPES.values())
NONE_OF_THE_ABOVE = "none of the above"
CONDITIONAL = "conditional question"


@dataclass(frozen=True)
class Condition:
    """A question that may be asked only if the question ``needs`` has one of
    ``answers``.
    """

    question: str
    needs: str
    answers: tuple[str, ...]


def constraint_violations(
    examples: Sequence[Row],
    none_of_the_above: Mapping[str, str],
    conditions: Sequence[Condition],
) -> list[Row]:
    """Return the examples that break a constraint of Appendix A.3, sorted by example.

    ``none_of_the_above`` maps a multilabel question to the answer that excludes the
    others.  A condition is checked against the contract's answer in the main data, if
    there is one.  Case is ignored, because A.3 has "Constructive Knowledge" and the
    data "Constructive knowledge".
    """
    alone = {_plain(key): _plain(answer) for key, answer in none_of_the_above.items()}
    condition_of = {_plain(condition.question): condition for condition in conditions}
    main = _main_answers(examples)
    rows: list[Row] = []
    for example in examples:
        question = _plain(example["question"])
        answers = [_plain(answer) for answer in example["answer"].split(", ")]
        if alone.get(question) in answers and len(answers) > 1:
            rows.append(_violation(example, NONE_OF_THE_ABOVE))
        condition = condition_of.get(question)
        if condition is None:
            continue
        key = (example["contract"], _plain(condition.needs))
        allowed = list(map(_plain, condition.answers))
        if key in main and _plain(main[key]) not in allowed:
            row = _violation(
                example, CONDITIONAL, needs=condition.needs, found=main[key]
            )
            rows.append(row)
    return sorted(rows, key=itemgetter("example_id", "constraint"))


def _violation(
    example: Row, constraint: str, needs: str | None = None, found: str | None = None
) -> Row:
    """Return the row of an example that breaks a constraint."""
    return {
        "example_id": example["example_id"],
        "contract": example["contract"],
        "question": example["question"],
        "answer": example["answer"],
        "constraint": constraint,
        "needs": needs,
        "found": found,
    }


def _main_answers(examples: Iterable[Row]) -> dict[tuple[str, str], str]:
    """Return {(contract, question): answer} of the main data that have a contract."""
    answers = {}
    for example in examples:
        if example["data_type"] == "main" and example["contract"] is not None:
            key = example["contract"], _plain(example["question"])
            answers[key] = example["answer"]
    return answers


def _plain(text: str) -> str:
    return collapse_space(text).casefold()


def unchecked(catalogue: Catalogue, conditions: Sequence[Condition]) -> list[str]:
    """Return the questions of ``conditions`` that are not in the catalogue and so not
    checked.
    """
    return [each.question for each in conditions if not catalogue.has(each.question)]


def answer_counts(examples: Iterable[Row], catalogue: Catalogue) -> list[Row]:
    """Return the number of examples of each answer in each split: all answers of all
    heads that have examples, zeros included.
    """
    counts_of: dict[str, Counter[tuple[str, int, str]]] = defaultdict(Counter)
    for example in examples:
        key = (example["split"], example["label"], example["data_type"])
        counts_of[example["head_id"]][key] += 1
    rows: list[Row] = []
    for head in catalogue.heads:
        if head.head_id not in counts_of:
            continue
        counts = counts_of[head.head_id]
        for split in sorted(SPLITS):
            for label, answer in enumerate(head.answers):
                row: dict[str, Any] = {
                    "head_id": head.head_id,
                    "split": split,
                    "label": label,
                    "answer": answer,
                }
                for data_type in PRINTED_TYPES:
                    row[data_type] = counts[split, label, data_type]
                rows.append(row)
    return rows


@dataclass(frozen=True)
class Undefined:
    """The answers of a head whose AUPR is undefined on the test split.

    The area under an answer's curve (Appendix A.5) needs examples with and without the
    answer.  An answer without a test example has no curve.  If all test examples have
    the same answer, the head has no score.  The released code raises an error for both.
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
    """Return the heads with an answer that no test example has, in the order of
    ``counts``.
    """
    test: dict[str, dict[str, int]] = defaultdict(dict)
    for row in counts:
        if row["split"] == "test":
            answers = test[row["head_id"]]
            answers[row["answer"]] = sum(row[name] for name in PRINTED_TYPES)
    undefined = []
    for head_id, answers in test.items():
        present = [answer for answer, number in answers.items() if number]
        absent = [answer for answer, number in answers.items() if not number]
        if absent:
            head = Undefined(
                head_id, present[0] if len(present) == 1 else None, tuple(absent)
            )
            undefined.append(head)
    return undefined


def split_overlap(examples: Iterable[Row]) -> list[Row]:
    """Return the contracts and texts that occur in more than one split, sorted by kind
    and key.

    ``heads`` counts the heads whose own examples have the contract or text in several
    splits.  A single-task model reads it in several splits only if its head is one of
    these heads; a multi-task model reads the examples of all heads, and so always.
    """
    examples_of: dict[str, dict[str, list[Row]]] = {
        "contract": defaultdict(list),
        "text": defaultdict(list),
    }
    for example in examples:
        examples_of["text"][example["text_id"]].append(example)
        if example["contract"] is not None:
            examples_of["contract"][example["contract"]].append(example)
    rows: list[Row] = []
    for kind, groups in examples_of.items():
        for key, group in sorted(groups.items()):
            numbers = Counter(example["split"] for example in group)
            if len(numbers) > 1:
                rows.append(
                    {
                        "kind": kind,
                        "key": key,
                        "train": numbers["train"],
                        "dev": numbers["dev"],
                        "test": numbers["test"],
                        "heads": _heads_in_several_splits(group),
                    }
                )
    return rows


def _heads_in_several_splits(examples: Iterable[Row]) -> int:
    """Return how many heads have examples in more than one split."""
    splits_of = defaultdict(set)
    for example in examples:
        splits_of[example["head_id"]].add(example["split"])
    several = [head for head, splits in splits_of.items() if len(splits) > 1]
    return len(several)


def overlap_notes(rows: Iterable[Row]) -> dict[str, int]:
    """Return how many contracts and texts occur in each pair of splits, and how many
    occur in several splits of the same head; ``rows`` are those of `split_overlap`.
    """
    rows = list(rows)
    notes = {}
    for kind in ("contract", "text"):
        kind_rows = [row for row in rows if row["kind"] == kind]
        one_head_rows = [row for row in kind_rows if row["heads"]]
        notes[f"{kind}s_in_two_splits_of_one_head"] = len(one_head_rows)
        for one, other in combinations(SPLITS, 2):
            shared = [row for row in kind_rows if row[one] and row[other]]
            name = f"{kind}s_in_{one}_and_{other}"
            notes[name] = len(shared)
    return dict(sorted(notes.items()))
