"""Make a MAUD of the release's size, of made-up texts: ``python bench/make_maud.py <folder>``.

It writes ``maud_v1.zip`` and ``maud_squad_{train,dev,test}.json`` with as many examples, by category, data
set and split, as the paper's Tables 1 and 2 print, as many different texts as Section 3 says (8,226), as many
long ones as Table 9 and Section 4.1 say (50.0 % of examples and 27.6 % of texts over 512 tokens, none over
4,096), 152 contracts of the release's length, and Table 12's spans.  A word is one token of common
tokenizers.  What is drawn is drawn with a fixed seed.
"""

import argparse
import csv
import io
import json
import math
import random
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from lextables.papers.maud.catalogue import Catalogue, Head, read_recorded
from lextables.papers.maud.raw import COLUMNS, DATA_TYPES, QUESTION, SPLITS
from lextables.tables.published import load

ROOT = Path(__file__).resolve().parents[1]
TEXTS, LONG_SHARE, CONTRACTS, CONTRACT_WORDS = 8226, 0.276, 152, 60_000
LIMIT, LONGEST = 512, 4096
DATA_SETS = {"main": "Main Dataset", "abridged": "Abridged Dataset", "rare_answers": "Rare Answers Dataset"}
VOCABULARY = """
the of and to in a that is for on as with by this be or are from at which an not have any all such other
shall may will under agreement company parent party parties merger board stock share shares offer date time
closing effect material change law state court notice written consent approval right rights terms section
article business day days period fee tax plan plans employee employees financial statement statements report
officer director directors holder holders person persons interest interests property security contract order
act acts event events prior following including without respect each its their no more less than if unless
until after before during between through make made take taken give given hold held set forth same part
whole number
""".split()


def recorded_questions() -> Catalogue:
    """The questions on record."""
    path = ROOT / "resources/facts/maud_questions.yaml"
    return read_recorded(path.read_bytes(), path.name, 92, 144)


def published() -> dict[tuple[str, str, str], float]:
    """The printed numbers by table, row and column."""
    cells = load(ROOT / "resources/published/maud.csv")
    return {(cell.table, cell.row, cell.column): cell.number for cell in cells}


def dealt(total: int, weights: dict[str, float]) -> dict[str, int]:
    """``total`` dealt by weight, each at least one where its weight is more than zero."""
    whole = sum(weights.values())
    shares = {name: total * weight / whole for name, weight in weights.items()}
    found = {name: max(math.floor(share), share > 0) for name, share in shares.items()}
    for name in sorted(shares, key=lambda name: found[name] - shares[name])[: total - sum(found.values())]:
        found[name] += 1
    return found


class Maker:
    """Draws the texts and rows."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.catalogue, self.printed = recorded_questions(), published()
        self.categories = list(dict.fromkeys(q.category for q in self.catalogue.questions))
        shares = {c: self.printed["table9", c, "Percent Long Texts"] / 100 for c in self.categories}
        examples = {c: self.printed["table1", c, "All Datasets"] for c in self.categories}
        long = round(TEXTS * LONG_SHARE)
        self.long_share = shares
        self.pools = {}
        for kind, count, weights in (
            ("long", long, {c: shares[c] * examples[c] for c in self.categories}),
            ("short", TEXTS - long, {c: (1 - shares[c]) * examples[c] for c in self.categories}),
        ):
            for category, size in dealt(count, weights).items():
                self.pools[category, kind] = [self.text(kind) for _ in range(size)]
        self.next_text = dict.fromkeys(self.pools, 0)

    def words(self, count: int) -> str:
        return " ".join(self.random.choices(VOCABULARY, k=count))

    def text(self, kind: str) -> str:
        """A text on one side of the limit, with its page behind it and a quote or the like in it."""
        if kind == "long":
            count = min(LONGEST - 100, LIMIT + 20 + int(self.random.lognormvariate(5.6, 0.9)))
        else:
            count = min(LIMIT - 40, 20 + int(self.random.lognormvariate(4.8, 0.7)))
        mark = self.random.choice(('"Offer"', "\n", "<omitted>", ","))
        return f"{self.words(count // 2)} {mark} {self.words(count - count // 2)} (Page {count % 90 + 1})"

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows of all splits; main rows are each of another contract or head."""
        for data_type, column in DATA_SETS.items():
            for category in self.categories:
                heads = [head for head in self.catalogue.heads if head.question.category == category]
                total = int(self.printed["table1", category, column])
                long = round(total * self.long_share[category])
                kinds = ["long"] * long + ["short"] * (total - long)
                self.random.shuffle(kinds)
                for place, kind in enumerate(kinds):
                    head, contract = heads[place % len(heads)], place // len(heads) % CONTRACTS
                    name = "<RARE_ANSWERS>" if data_type == "rare_answers" else f"contract_{contract}"
                    yield [data_type, name, self.next(category, kind), *self.answer(head, contract)]

    def next(self, category: str, kind: str) -> str:
        pool = self.pools[category, kind]
        self.next_text[category, kind] += 1
        return pool[self.next_text[category, kind] % len(pool)]

    def answer(self, head: Head, contract: int) -> list[str]:
        """The cells behind the text, in the order of the release."""
        question = head.question
        draw = random.Random(f"{question.number} {contract}")
        if head.subquestion is None:
            weights = [1 / (place + 1) for place in range(len(question.answers))]
            answer = draw.choices(question.answers, weights)[0]
            label = question.answers.index(answer)
        else:
            given = [one for one in question.answers if draw.random() < 0.3] or [
                draw.choice(question.answers)
            ]
            answer, label = ", ".join(given), int(head.subquestion in given)
        subquestion = head.subquestion or "<NONE>"
        return [
            answer,
            str(label),
            question.question,
            subquestion,
            question.text_type,
            question.category,
            "0",
        ]

    def split(self) -> dict[str, list[list[str]]]:
        """The rows by split, as many of each data type as Table 2 has."""
        by_type: dict[str, list[list[str]]] = {data_type: [] for data_type in DATA_SETS}
        for row in self.rows():
            by_type[row[0]].append(row)
        found: dict[str, list[list[str]]] = {split: [] for split in SPLITS}
        for data_type, rows in by_type.items():
            self.random.shuffle(rows)
            for split in SPLITS:
                count = int(self.printed["table2", DATA_TYPES[data_type], split])
                found[split] += rows[:count]
                del rows[:count]
            assert not rows
        return found


def make(folder: Path) -> None:
    """Write the files to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    maker = Maker()
    contracts = {f"contract_{n}": maker.words(CONTRACT_WORDS) for n in range(CONTRACTS)}
    with zipfile.ZipFile(folder / "maud_v1.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for split, rows in maker.split().items():
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)
            archive.writestr(f"data/MAUD_{split}.csv", text.getvalue())
        for name, text in contracts.items():
            archive.writestr(f"data/contracts/{name}.txt", text)
    squad(folder, contracts, maker)


def squad(folder: Path, contracts: dict[str, str], maker: Maker) -> None:
    """Write the extraction files: 122, 15 and 15 contracts, with Table 12's spans dealt over them."""
    names = list(contracts)
    columns = {"train": "Train", "dev": "Dev", "test": "Test"}
    parts = {"train": names[:122], "dev": names[122:137], "test": names[137:]}
    for split, part in parts.items():
        spans = {
            row: int(number)
            for (table, row, column), number in maker.printed.items()
            if table == "table12" and column == columns[split] and row != "Overall"
        }
        data = []
        for place, name in enumerate(part):
            text, asked = contracts[name], []
            for text_type, total in spans.items():
                count = total // len(part) + (place < total % len(part))
                marks = sorted(maker.random.sample(range(0, 250_000, 1500), count))
                starts = [text.index(" ", mark) + 1 for mark in marks]
                answers = [{"text": text[at : at + 900].rstrip(), "answer_start": at} for at in starts]
                asked.append(
                    {
                        "id": f"{name}__{text_type}",
                        # The type as the data write it, where Table 12 slips.
                        "question": QUESTION.format(re.sub("conve(na)?nt$", "covenant", text_type)),
                        "answers": answers,
                        "is_impossible": not answers,
                    }
                )
            data.append({"title": name, "paragraphs": [{"context": text, "qas": asked}]})
        path = folder / f"maud_squad_{split}.json"
        path.write_text(json.dumps({"version": "bench", "data": data}), encoding="utf-8")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("folder", type=Path)
    make(arguments.parse_args().folder)
