"""Checks across MAUD's rows: the constraints of Appendix A.3, answers without test examples, split overlap.

No check stops a run; the results are tables.
"""

from collections import (
    Counter,
    defaultdict,
)
from collections.abc import (
    Iterable,
    Mapping,
    Sequence,
)
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
    alone = {_plain(key): _plain(answer) for key, answer in none_of_the_above.items()}
    condition_of = {_plain(condition.question): condition for condition in conditions}
    main = _main_answers(examples)
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
            broken = {
                "constraint": NONE_OF_THE_ABOVE,
                "needs": None,
                "found": None,
            }
            rows.append(row | broken)
        condition = condition_of.get(question)
        if condition is None or example["contract"] is None:
            continue
        other = main.get((example["contract"], _plain(condition.needs)))
        allowed = [_plain(answer) for answer in condition.answers]
        if other is not None and _plain(other) not in allowed:
            broken = {"constraint": CONDITIONAL, "needs": condition.needs}
            rows.append(row | broken | {"found": other})
    return sorted(rows, key=lambda row: (row["example_id"], row["constraint"]))


def _main_answers(examples: Iterable[Row]) -> dict[tuple[str | None, str], str]:
    """Return {(contract, question): answer} of the main data."""
    answers = {}
    for example in examples:
        if example["data_type"] == "main":
            key = example["contract"], _plain(example["question"])
            answers[key] = example["answer"]
    return answers


def _plain(text: str) -> str:
    return collapse_space(text).casefold()


def unchecked(catalogue: Catalogue, conditions: Sequence[Condition]) -> list[str]:
    """Return the questions of ``conditions`` that are not in the catalogue and so not checked."""
    return [each.question for each in conditions if not catalogue.has(each.question)]


def answer_counts(examples: Iterable[Row], catalogue: Catalogue) -> list[Row]:
    """Return the rows of `answer_counts`: all answers of all heads that have examples, zeros included."""
    counts: Counter[tuple[str, str, int, str]] = Counter()
    head_ids = set()
    for example in examples:
        head_id, split = example["head_id"], example["split"]
        counts[head_id, split, example["label"], example["data_type"]] += 1
        head_ids.add(head_id)
    rows = []
    for head in catalogue.heads:
        if head.head_id not in head_ids:
            continue
        for split in sorted(SPLITS):
            for label, answer in enumerate(head.answers):
                row = {"head_id": head.head_id, "split": split}
                row |= {"label": label, "answer": answer}
                for data_type in PRINTED_TYPES:
                    row[data_type] = counts[head.head_id, split, label, data_type]
                rows.append(row)
    return rows


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
            number = sum(row[data_type] for data_type in PRINTED_TYPES)
            test[row["head_id"]][row["answer"]] = number
    undefined = []
    for head_id, answers in test.items():
        present = [answer for answer, number in answers.items() if number]
        absent = tuple(answer for answer in answers if answer not in present)
        only_answer = present[0] if len(present) == 1 else None
        if absent:
            undefined.append(Undefined(head_id, only_answer, absent))
    return undefined


def split_overlap(examples: Iterable[Row]) -> list[Row]:
    """Return the contracts and texts that occur in more than one split, sorted by kind and key.

    ``heads`` counts the heads whose own examples have the contract or text in several splits: only their
    single-task models are trained and tested on it.
    """
    seen: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    # {(kind, key): {head: the splits of its examples}}
    splits_of: dict[tuple[str, str], dict[str, set[str]]] = {}
    for example in examples:
        for key in (("contract", example["contract"]), ("text", example["text_id"])):
            if key[1] is not None:
                seen[key][example["split"]] += 1
                heads = splits_of.setdefault(key, defaultdict(set))
                heads[example["head_id"]].add(example["split"])
    rows = []
    for (kind, key), numbers in sorted(seen.items()):
        if len(numbers) > 1:
            row: dict[str, str | int] = {"kind": kind, "key": key}
            for split in SPLITS:
                row[split] = numbers[split]
            heads = splits_of[kind, key].values()
            row["heads"] = sum(len(splits) > 1 for splits in heads)
            rows.append(row)
    return rows


def overlap_notes(rows: Iterable[Row]) -> dict[str, int]:
    """Return how many contracts and texts occur in each pair of splits, and in two splits of one head."""
    notes: Counter[str] = Counter()
    pairs = (*pairwise(SPLITS), (SPLITS[0], SPLITS[2]))
    for kind in ("contract", "text"):
        notes[f"{kind}s_in_two_splits_of_one_head"] = 0
        for one, other in pairs:
            notes[f"{kind}s_in_{one}_and_{other}"] = 0
    for row in rows:
        kind = row["kind"]
        notes[f"{kind}s_in_two_splits_of_one_head"] += bool(row["heads"])
        for one, other in pairs:
            notes[f"{kind}s_in_{one}_and_{other}"] += bool(row[one] and row[other])
    return dict(sorted(notes.items()))
