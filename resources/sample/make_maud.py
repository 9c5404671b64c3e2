"""Make the sample of the MAUD release: ``python resources/sample/make_maud.py``.

It writes ``maud/maud_v1.zip``, ``maud/best_found_hps/`` and
``maud_extraction/maud_squad_{train,dev,test}.json`` from ``maud/deal_points.toml``, in
the raw formats of the release.  The questions and their answers are named as in the
release; every text, score and setting is made up.  The bytes depend on that file and
this one alone.
"""

import argparse
import csv
import hashlib
import io
import json
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WRITTEN = (2025, 1, 15, 0, 0, 0)
SPLITS = ("train", "dev", "test")
COLUMNS = (
    "data_type",
    "contract_name",
    "text",
    "answer",
    "label",
    "question",
    "subquestion",
    "text_type",
)
COLUMNS += ("id", "category")
MARK = "[MULTILABEL]"

# Contracts whose long deal points run over a model's 512 tokens, and those with
# abridged texts.
LONG, ABRIDGED = (2, 5), (0, 2, 3, 5, 6)
# Contracts of the extraction task's dev and test splits; contracts are split there, and
# rows elsewhere.
EXTRACTION_SPLIT = {4: "dev", 7: "test"}
# As Table 12 of the paper writes three of the deal point types.
TABLE_12 = {
    "Fiduciary exception:  Board determination (no-shop)": (
        "Fiduciary exception: Board determination (no-shop)"
    ),
    "Fiduciary exception to COR covenant": "Fiduciary exception to COR convent",
    "Negative interim operating covenant": "Negative interim operating convenant",
}
NO_RARE_ANSWERS = "Remedies"  # the one category without rare answers (Table 1)


def _key(*parts: object) -> str:
    """A hash to sort or to choose by, the same on every machine."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def _draw(n: int, *parts: object) -> int:
    return int(_key(*parts)[:8], 16) % n


@dataclass(frozen=True)
class Question:
    """One question of ``deal_points.toml``, with its 1-based number."""

    number: int
    written: dict[str, Any]
    category: str
    text_type: str

    @property
    def name(self) -> str:
        return self.written["question"].removesuffix(MARK).rstrip()

    @property
    def multilabel(self) -> bool:
        return self.written["question"].endswith(MARK)

    @property
    def answers(self) -> list[str]:
        return self.written.get("answers", ["No", "Yes"])

    @property
    def author_number(self) -> int:
        """A column of the authors' annotations: they rise with the questions, with
        gaps.
        """
        return 2 * self.number + 1

    def says(self, labels: tuple[int, ...]) -> str:
        """What a deal point text says for these answers; nothing for an answer by
        silence.
        """
        phrases = [self.written["say"][label] for label in labels]
        if not any(phrases):
            return ""
        return " ".join(filter(None, [self.written.get("lead", ""), *phrases]))


class Sample:
    """The contracts and what they answer."""

    def __init__(self) -> None:
        written = tomllib.loads((HERE / "maud/deal_points.toml").read_text("utf-8"))
        self.contracts: list[dict[str, str]] = written["contract"]
        self.fillers: list[str] = [filler["text"] for filler in written["filler"]]
        self.types: list[dict[str, Any]] = written["type"]
        self.questions: list[Question] = []
        for of in self.types:
            for asked in of["question"]:
                number = len(self.questions) + 1
                question = Question(number, asked, of["category"], of["name"])
                self.questions.append(question)
        self.labels: dict[str, list[tuple[int, ...] | None]] = {}
        waiting = list(self.questions)
        while waiting:
            question = waiting.pop(0)
            condition = question.written.get("only_with", {})
            first = question.written.get("with") or condition.get("question")
            if first is not None and first not in self.labels:
                waiting.append(question)
            else:
                self.labels[question.name] = self._labels(question)

    def _labels(self, question: Question) -> list[tuple[int, ...] | None]:
        """The labels that each contract has for the question; None where it is not
        asked.
        """
        (of,) = [of for of in self.types if of["name"] == question.text_type]
        numbers = range(len(self.contracts))
        asked = [number for number in numbers if self.has(of, number)]
        written = question.written
        found: dict[int, tuple[int, ...]] = {}
        if "labels" in written:
            for number in asked:
                labels = written["labels"][number]
                if labels != "-":
                    found[number] = tuple(map(int, labels))
            return [found.get(number) for number in numbers]
        if "only_with" in written:
            condition = written["only_with"]
            other = self.labels[condition["question"]]
            also = written.get("also", ())
            label = (condition["label"],)
            asked = [n for n in asked if other[n] == label or n in also]
        choices = list(range(len(question.answers)))
        none = None
        if "No" in question.answers:
            none = question.answers.index("No")
        if "with" in written:
            other = self.labels[written["with"]]
            label = (self._question(written["with"]).answers.index("No"),)
            found = {number: (none,) for number in asked if other[number] == label}
            choices.remove(none)
        rest = [number for number in asked if number not in found]
        rest.sort(key=lambda number: _key(question.name, number))
        if not question.multilabel:
            choices.sort(key=lambda label: _key(question.name, "common", label))
            common = choices[:3]
            for place, number in enumerate(rest):
                found[number] = (common[place % len(common)],)
            return [found.get(number) for number in numbers]
        if none is not None:
            found.update(dict.fromkeys(rest[:2], (none,)))
            choices.remove(none)
            rest = rest[2:]
        for number in rest:
            some = [n for n in choices if _draw(5, question.name, number, n) < 2]
            if not some:
                some = [choices[_draw(len(choices), question.name, number)]]
            found[number] = tuple(some)
        return [found.get(number) for number in numbers]

    def _question(self, name: str) -> Question:
        (found,) = [question for question in self.questions if question.name == name]
        return found

    def has(self, of: dict[str, Any], contract: int) -> bool:
        return contract not in of.get("absent", ())

    def filled(self, text: str, contract: int) -> str:
        """``text`` with the parties of the contract."""
        parties = self.contracts[contract]
        named = text.replace("{T}", parties["target"]).replace("{P}", parties["buyer"])
        return named.replace("..", ".")  # "of Ostrava Medical B.V.."

    def pieces(
        self,
        of: dict[str, Any],
        contract: int,
        instead: tuple[str, tuple[int, ...]] | None = None,
    ) -> list[str]:
        """The deal point text of a contract in the one or two pieces that it stands in.

        ``instead`` gives the labels of one question where they are not the contract's
        own.
        """
        place = self.types.index(of)
        questions = [q for q in self.questions if q.text_type == of["name"]]
        said = []
        for number, question in enumerate(questions):
            labels = self.labels[question.name][contract]
            if instead and instead[0] == question.name:
                labels = instead[1]
            if labels:
                order = question.written.get("said", number)
                said.append((order, question.says(labels)))
        heading = f"Section {place // 4 + 1}.{place % 4 + 1} {of['heading']}."
        # Some headings stand on a line of their own, so that a text may hold a line
        # end.
        blank = " " if _draw(3, of["name"], contract) else "\n"
        phrases = [heading + blank + of["open"]]
        phrases += [phrase for _, phrase in sorted(said) if phrase]
        if of.get("long") and contract in LONG:
            phrases += [*self.fillers, *self.fillers[:4]]
        elif len(phrases) < 19:
            phrases.append(self._filler(place, contract))
        phrases.append(of["close"])
        cut = len(phrases)
        if _draw(2, of["name"], contract, "cut"):
            cut = len(phrases) // 2
        pieces = [" ".join(phrases[:cut]), " ".join(phrases[cut:])]
        return [self.filled(piece, contract) for piece in pieces if piece]

    def text(
        self,
        of: dict[str, Any],
        contract: int,
        instead: tuple[str, tuple[int, ...]] | None = None,
    ) -> str:
        """The deal point text as an annotator takes it down, with its pages."""
        pieces = self.pieces(of, contract, instead)
        page = 9 + 3 * self.types.index(of)
        pages = f"(Page {page})"
        if len(pieces) > 1:
            pages = f"(Pages {page}-{page + 1})"
        return " <omitted> ".join(pieces) + " " + pages

    def abridged(self, of: dict[str, Any], contract: int, question: Question) -> str:
        """What of the deal point text bears on one question."""
        says = question.says(self.labels[question.name][contract] or ()) or of["close"]
        page = 9 + 3 * self.types.index(of)
        return self.filled(f"{of['open']} <omitted> {says} (Page {page})", contract)

    @cached_property
    def agreements(self) -> list[tuple[str, dict[str, list[tuple[int, str]]]]]:
        """Each contract's text, and by deal point type the start and text of its
        pieces.
        """
        made = []
        for contract, parties in enumerate(self.contracts):
            text = f"AGREEMENT AND PLAN OF MERGER\n\nby and between\n\n{parties['buyer']}\n\nand\n\n"
            text += f"{parties['target']}\n\n"
            marks: dict[str, list[tuple[int, str]]] = {}
            for place, of in enumerate(self.types):
                if place % 4 == 0:
                    text += f"ARTICLE {place // 4 + 1}\n\n"
                if self.has(of, contract):
                    for number, piece in enumerate(self.pieces(of, contract)):
                        if number:
                            filler = self._filler(contract, place, number)
                            text += self.filled(filler, contract) + " "
                        marks.setdefault(of["name"], []).append((len(text), piece))
                        text += piece + " "
                    text = text.rstrip() + "\n\n"
                text += self.filled(self._filler(contract, place, 9), contract) + "\n\n"
            made.append((text.rstrip() + "\n", marks))
        return made

    def _filler(self, *where: int) -> str:
        return self.fillers[_draw(len(self.fillers), "filler", *where)]


def heads(sample: Sample) -> Iterator[tuple[Question, int | None]]:
    """Yield the heads: a question, and of a multilabel one the label of the answer that
    it is about.
    """
    for question in sample.questions:
        if not question.multilabel:
            yield question, None
            continue
        for label in range(len(question.answers)):
            yield question, label


def label_of(labels: tuple[int, ...], about: int | None) -> int:
    """The label of a row: the answer's own, or whether the head's answer is among those
    given.
    """
    return labels[0] if about is None else int(about in labels)


def rows(sample: Sample) -> dict[str, list[tuple]]:
    """Return the rows of the csv files by split, heads in order, with main, abridged
    and rare rows of each.

    As in the release each head is split by itself and by answer: main rows at random,
    abridged rows with the main row of their contract, rare rows to train and dev.
    """
    made: dict[str, list[tuple]] = {split: [] for split in SPLITS}
    types = {of["name"]: of for of in sample.types}
    for question, about in heads(sample):
        of, of_contract = types[question.text_type], sample.labels[question.name]
        subquestion, number = "<NONE>", str(question.author_number)
        if about is not None:
            subquestion, number = question.answers[about], f"{number}-{about}"
        label_of_contract = {}
        for contract, labels in enumerate(of_contract):
            if labels:
                label_of_contract[contract] = label_of(labels, about)
        split_of = _splits(label_of_contract, question.name, subquestion)
        found = []
        for contract, split in split_of.items():
            text, labels = sample.text(of, contract), of_contract[contract]
            found.append((split, "main", f"contract_{contract}", text, labels))
        # A definition has dozens of questions; half of them have abridged texts.
        if question.category != "Material Adverse Effect" or question.number % 2:
            for contract, split in split_of.items():
                if contract in ABRIDGED:
                    text = sample.abridged(of, contract, question)
                    labels = of_contract[contract]
                    found.append(
                        (split, "abridged", f"contract_{contract}", text, labels)
                    )
        for split, text, labels in _rare(sample, of, question):
            found.append((split, "rare_answers", "<RARE_ANSWERS>", text, labels))
        for split, kind, contract, text, labels in found:
            row = (
                kind,
                contract,
                text,
                ", ".join(question.answers[label] for label in labels),
                label_of(labels, about),
                question.name,
                subquestion,
                question.text_type,
                number,
                question.category,
            )
            made[split].append(row)
    # The release keeps repeated rows of this kind.
    rare = [row for row in made["train"] if row[0] == "rare_answers"]
    made["train"].append(rare[-1])
    return made


def _splits(labels: dict[int, int], *head: str) -> dict[int, str]:
    """The split of each contract's main row: of each answer a quarter to test, a
    quarter to dev.
    """
    found: dict[int, str] = {}
    for label in sorted(set(labels.values())):
        contracts = [contract for contract in labels if labels[contract] == label]
        contracts.sort(key=lambda contract: _key(*head, contract))
        quarter = max(1, len(contracts) // 4)
        test = quarter if len(contracts) > 1 else 0
        dev = quarter if len(contracts) > 2 else 0
        found.update(dict.fromkeys(contracts, "train"))
        found.update(dict.fromkeys(contracts[:test], "test"))
        found.update(dict.fromkeys(contracts[test : test + dev], "dev"))
    return dict(sorted(found.items()))


def _rare(
    sample: Sample, of: dict[str, Any], question: Question
) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield (split, text, labels) of texts that are edited to have an answer which few
    contracts have.
    """
    if question.category == NO_RARE_ANSWERS:
        return
    labels_of = sample.labels[question.name]
    given: Counter[int] = Counter()
    for labels in labels_of:
        given.update(labels or ())
    rare = [label for label in range(len(question.answers)) if given[label] < 3]
    wanted = []
    if question.multilabel:
        others = [n for n, answer in enumerate(question.answers) if answer != "No"]
        least = rare or others
        wanted = [("train", (others[0], others[-1])), ("dev", (least[0],))]
    else:
        for label in rare:
            wanted += [("train", (label,)), ("dev", (label,))]
    for split, labels in wanted:
        # An edit of another answer, and in dev of another contract than in train.
        edited = []
        for contract, own in enumerate(labels_of):
            if own and own != labels:
                edited.append(contract)
        place = _draw(len(edited), question.name, *labels) + (split == "dev")
        contract = edited[place % len(edited)]
        yield split, sample.text(of, contract, (question.name, labels)), labels


def settings(sample: Sample) -> dict[str, bytes]:
    """Best settings of no search: numbers drawn, in the layout of the released
    files.
    """
    numbers = []
    for question, about in heads(sample):
        number = str(question.author_number)
        if about is not None:
            number += f".{about}"
        numbers.append((question, number))
    rates = ("1e-05", "3e-05", "0.0001")

    def drawn(
        model: str, share: float, number: str, updates: tuple[int, ...]
    ) -> dict[str, Any]:
        return {
            "model_name": model,
            "partial": share,
            "spec_id": number,
            "lr": rates[_draw(3, model, share, number, "rate")],
            "update_num": updates[_draw(len(updates), model, share, number, "updates")],
            "aupr": round(0.2 + 0.6 * _draw(1000, model, share, number) / 1000, 4),
        }

    short, long = (100, 200, 300, 400), (200, 400, 600, 800)
    files = {
        "basic_post_contract_v1": (
            [
                ("bert-base-cased", 1.0),
                ("microsoft/deberta-v3-base", 1.0),
                ("roberta-base", 1.0),
            ],
            short,
            (
                "partial",
                "model_name",
                "spec_id",
                "update_num",
                "lr",
                "aupr",
                "category",
            ),
        ),
        "basic_legal_berts_v1": (
            [("nlpaueb/legal-bert-base-uncased", 1.0)],
            short,
            (
                "partial",
                "model_name",
                "spec_id",
                "update_num",
                "lr",
                "aupr",
                "category",
            ),
        ),
        "basic_bb_post_contract_800_v0": (
            [("google/bigbird-roberta-base", 1.0)],
            long,
            ("spec_id", "partial", "model_name", "lr", "update_num", "aupr"),
        ),
        "basic_partial_post_contract_v1": (
            [("roberta-base", share) for share in (0.05, 0.1, 0.25, 0.5)],
            short,
            (
                "model_name",
                "partial",
                "spec_id",
                "lr",
                "update_num",
                "aupr",
                "category",
            ),
        ),
    }
    made = {}
    numbers.sort(key=lambda pair: pair[1])
    for folder, (models, updates, columns) in files.items():
        lines = []
        for model, share in models:
            for question, number in numbers:
                record = drawn(model, share, number, updates)
                record["category"] = question.category
                lines.append((len(lines), *map(record.get, columns)))
        name = f"best_found_hps/{folder}/df_best_hps_spec_id.csv"
        made[name] = _csv(("", *columns), lines)
    panel = [
        "microsoft/deberta-v3-base",
        "nlpaueb/legal-bert-base-uncased",
        "roberta-base",
    ]
    made["best_found_hps/multi_task.md"] = _grid(panel, "# lr = {}")
    made["best_found_hps/multi_task_no_abridged.md"] = _grid(panel[-1:], "## {}")
    return made


def _grid(models: list[str], heading: str) -> bytes:
    """The tables of a multi-task search, one a learning rate; the first has no row
    numbers.
    """
    lines = ["# multi-task training", ""]
    for place, rate in enumerate(("1e-4", "1e-5", "3e-5")):
        lines += [
            heading.format(rate),
            "",
            "```",
            "  epoch_num  model_name  partial  aupr",
        ]
        number = 0
        for model in models:
            auprs = []
            for epoch in range(1, 7):
                auprs.append(_draw(5000, model, rate, epoch) / 10000 + 0.1)
            for epoch, aupr in enumerate(auprs, 1):
                start = number if place else ""
                is_best = place == 1 and aupr == max(auprs)
                mark = " [**] [BEST]" if is_best else ""
                lines.append(f"{start}  {epoch}  {model}  1.0  {aupr:.4f}{mark}")
                number += 1
        lines += ["```", ""]
    return "\n".join(lines).encode()


def squad(sample: Sample) -> dict[str, bytes]:
    """The extraction task: for each contract and deal point type a question, its pieces
    the answers.
    """
    files: dict[str, list] = {split: [] for split in SPLITS}
    for contract, (text, marks) in enumerate(sample.agreements):
        asked = []
        for of in sample.types:
            name = TABLE_12.get(of["name"], of["name"])
            wording = (
                f'Highlight the parts of the text (if any) related to "{name}"'
                " that should be reviewed by a lawyer."
            )
            answers = []
            for at, piece in marks.get(of["name"], ()):
                answers.append({"text": piece, "answer_start": at})
            question = {
                "id": f"contract_{contract}__{name}",
                "question": wording,
                "answers": answers,
                "is_impossible": not answers,
            }
            asked.append(question)
        entry = {
            "title": f"contract_{contract}",
            "paragraphs": [{"qas": asked, "context": text}],
        }
        files[EXTRACTION_SPLIT.get(contract, "train")].append(entry)
    encoded = {}
    for split, entries in files.items():
        text = json.dumps({"version": "sample", "data": entries})
        encoded[f"maud_squad_{split}.json"] = text.encode()
    return encoded


def _csv(header: Iterable[str], lines: Iterable[tuple]) -> bytes:
    """As pandas writes csv: a cell with a comma, a quote or a line end is quoted, and
    lines end in \\n.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return text.getvalue().encode()


def build() -> dict[str, bytes]:
    """Return the sample's files by their path below ``resources/sample``."""
    sample = Sample()
    members = {}
    for split, lines in rows(sample).items():
        members[f"data/MAUD_{split}.csv"] = _csv(COLUMNS, lines)
    for number, (text, _) in enumerate(sample.agreements):
        members[f"data/contracts/contract_{number}.txt"] = text.encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, members[name])
    files = {"maud/maud_v1.zip": packed.getvalue()}
    for name, content in settings(sample).items():
        files[f"maud/{name}"] = content
    for name, content in squad(sample).items():
        files[f"maud_extraction/{name}"] = content
    return files


def main() -> None:
    """Write the files, and print what the source registry says of each."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument(
        "--to", type=Path, default=HERE, help="the folder to write to"
    )
    to = arguments.parse_args().to
    for name, content in build().items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_bytes(content)
        print(
            f"{name}: {len(content)} bytes, sha256:{hashlib.sha256(content).hexdigest()}"
        )


if __name__ == "__main__":
    main()
