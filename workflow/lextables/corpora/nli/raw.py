"""Labelled pairs from the published files of the public NLI data sets.

SNLI (Bowman et al. 2015), MultiNLI (Williams et al. 2018), FEVER-NLI (Nie et al. 2019),
ANLI (Nie et al. 2020) and ConTRoL (Liu et al. 2021) are JSON lines, DocNLI (Yin et al.
2021) is an array, ContractNLI (Koreeda and Manning 2021) has the same hypotheses for
every document.

The data set `anli` is SNLI, MultiNLI, FEVER-NLI and ANLI's three rounds, which are
repeated in training. ANLI's authors train on this mix, and so does LawngNLI (Appendix
A.2.2).
"""

import hashlib
import json
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from lextables.models.token_count import TokenCounter
from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.sources.archives import member, opened
from lextables.sources.records import (
    RESTORE,
    Record,
    json_array,
    json_lines,
    json_object,
    value,
)

ENTAIL = "entail"
NEUTRAL = "neutral"
CONTRADICT = "contradict"
NOT_ENTAIL = "not entail"
# The labels of a data set, in order.
THREE = (ENTAIL, NEUTRAL, CONTRADICT)
TWO = (ENTAIL, NOT_ENTAIL)
SPLITS = TRAIN, DEV, TEST = ("train", "dev", "test")
ROUNDS = ("R1", "R2", "R3")
# The rows of the table of heads.
NLI = {"head_id": "nli", "answers": list(THREE)}
ENTAILMENT = {"head_id": "entailment", "answers": list(TWO)}
HEX = 16  # digits of an id
FILES = 256  # texts are distributed over the files by the first two digits of their id

# Yields (place for messages, record) of an open file with this name.
Records = Callable[[IO[bytes], str], Iterator[tuple[str, Record]]]


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis; ``label`` is None where the publisher gives none."""

    premise: str
    hypothesis: str
    label: str | None


@dataclass(frozen=True)
class Form:
    """The form of a published file: the keys of a pair's record, and how to read it."""

    premise: str
    hypothesis: str
    label: str
    spelt: Mapping[str, str | None]
    """{published label: ours, or None for no label}."""
    records: Records = json_lines

    def pairs(self, stream: IO[bytes], name: str) -> Iterator[Pair]:
        """Yield the pairs of a file.

        Raises `BadInput` with the place of the first fault.
        """
        for where, record in self.records(stream, name):
            premise = value(record, self.premise, str, where)
            hypothesis = value(record, self.hypothesis, str, where)
            label = value(record, self.label, str, where)
            if label not in self.spelt:
                allowed = ", ".join(map(repr, self.spelt))
                what = f"{self.label!r} is {label!r}, not one of {allowed}"
                raise BadInput(what, where=where, do=RESTORE)
            yield Pair(premise, hypothesis, self.spelt[label])


def of_documents(stream: IO[bytes], name: str) -> Iterator[tuple[str, Record]]:
    """Yield (place, record) for each document and hypothesis of a file of ContractNLI.

    The records have the keys text, hypothesis and choice. Only a document's first
    annotation set is used, as in the authors' code; the published files have one each.
    """
    content = json_object(stream, name)
    hypotheses = {}
    for key, label in value(content, "labels", dict, name).items():
        where = f"{name}, label {key}"
        hypotheses[key] = value(label, "hypothesis", str, where)
    for number, document in enumerate(value(content, "documents", list, name), 1):
        where = f"{name}, document {number}"
        text = value(document, "text", str, where)
        sets = value(document, "annotation_sets", list, where)
        if not sets:
            raise BadInput("has no annotation set", where=where, do=RESTORE)
        chosen = value(sets[0], "annotations", dict, where)
        for key, hypothesis in hypotheses.items():
            annotation = value(chosen, key, dict, where)
            yield (
                f"{where}, {key}",
                annotation | {"text": text, "hypothesis": hypothesis},
            )


_LETTERS = {"e": ENTAIL, "n": NEUTRAL, "c": CONTRADICT}
SNLI = Form(
    premise="sentence1",
    hypothesis="sentence2",
    label="gold_label",
    # A dash means that the annotators had no majority.
    spelt={
        "entailment": ENTAIL,
        "neutral": NEUTRAL,
        "contradiction": CONTRADICT,
        "-": None,
    },
)
FEVER_NLI = Form(
    # The readme exchanges query and context; ANLI's code reads them as here.
    premise="context",
    hypothesis="query",
    label="label",
    spelt={
        "SUPPORTS": ENTAIL,
        "NOT ENOUGH INFO": NEUTRAL,
        "REFUTES": CONTRADICT,
        "hidden": None,
    },
)
ANLI = Form(premise="context", hypothesis="hypothesis", label="label", spelt=_LETTERS)
CONTROL = Form(
    premise="premise", hypothesis="hypothesis", label="label", spelt=_LETTERS
)
DOCNLI = Form(
    premise="premise",
    hypothesis="hypothesis",
    label="label",
    spelt={"entailment": ENTAIL, "not_entailment": NOT_ENTAIL},
    records=json_array,
)
CONTRACT_NLI = Form(
    premise="text",
    hypothesis="hypothesis",
    label="choice",
    spelt={"Entailment": ENTAIL, "NotMentioned": NEUTRAL, "Contradiction": CONTRADICT},
    records=of_documents,
)


@contextmanager
def stream_of(path: Path, inside: str) -> Iterator[tuple[IO[bytes], str]]:
    """Open a published file, or the member ``inside`` a zip; yield it with its name for
    messages.
    """
    if not inside:
        with path.open("rb") as stream:
            yield stream, path.name
        return
    with opened(path) as archive, archive.open(member(archive, inside)) as stream:
        yield stream, f"{path.name}, {inside}"


def text_id(text: str) -> str:
    """The id of a text: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:HEX]


class Spool:
    """Examples in their order of arrival, and their texts sorted by id.

    They are stored in a temporary folder (``TMPDIR``), which is removed with the spool.
    It is as large as the uncompressed texts of all pairs: a premise of several pairs is
    stored with each of them.
    """

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="lextables-"))
        self._remove = weakref.finalize(self, shutil.rmtree, folder)
        self._texts = [folder / f"{number:02x}" for number in range(FILES)]
        self._examples = folder / "examples"

    def fill(self, examples: Iterable[tuple[Row, str, str, int]]) -> None:
        """Store examples: (row without text ids, premise, hypothesis, number of
        repeats).

        Call it once, before reading.
        """
        with ExitStack() as opened_files:
            text_files: list[IO[str]] = []
            for path in self._texts:
                file = path.open("w", encoding="utf-8")
                text_files.append(opened_files.enter_context(file))
            example_file = self._examples.open("w", encoding="utf-8")
            opened_files.enter_context(example_file)
            for row, premise, hypothesis, times in examples:
                example = {
                    **row,
                    "text_id": _write_text(text_files, premise),
                    "pair_id": _write_text(text_files, hypothesis),
                }
                example_file.write(f"{json.dumps([example, times])}\n")

    def examples(self) -> Iterator[Row]:
        """Yield the examples; repeats get a number after their id."""
        with self._examples.open(encoding="utf-8") as lines:
            for line in lines:
                row, times = json.loads(line)
                suffixes = [""]
                if times > 1:
                    suffixes = [f".{repeat:02d}" for repeat in range(times)]
                for suffix in suffixes:
                    yield row | {"example_id": row["example_id"] + suffix}

    def texts(self, length: Callable[[str], int]) -> Iterator[Row]:
        """Yield the distinct texts sorted by id; ``length`` counts the tokens of a
        text.
        """
        for path in self._texts:
            with path.open(encoding="utf-8") as lines:
                texts = dict(json.loads(line) for line in lines)
            for name, text in sorted(texts.items()):
                yield {"text_id": name, "text": text, "tokens": length(text)}


def _write_text(files: list[IO[str]], text: str) -> str:
    """Write a text to the file of its id, one of `FILES`; return the id."""
    name = text_id(text)
    files[int(name[:2], 16)].write(f"{json.dumps([name, text])}\n")
    return name


@dataclass(frozen=True)
class Part:
    """One published file of pairs."""

    source: str
    """The data set that it belongs to."""
    split: str
    form: Form
    file: str
    """Its name in the registry of sources."""
    inside: str = ""
    """Its member of pairs, if it is a zip."""
    times: int = 1
    """How often each of its pairs is in our data set."""
    suffix: str = ""
    """Distinguishes two files of a split."""

    @property
    def name(self) -> str:
        """The beginning of its examples' ids."""
        return f"{self.source}-{self.split}{self.suffix}"


def read(name: str, published: Published) -> Rows:
    """Return the data set ``name``: `anli`, `control`, `docnli` or `contractnli`.

    Pairs without a label are dropped and counted in the notes; empty premises and
    hypotheses are kept and counted. All files are read completely before the first row;
    the rows are then streamed from disk. Raises `BadInput` for the first fault.
    """
    parts = PARTS[name](published.given)
    head = ENTAILMENT if name == "docnli" else NLI
    spool = Spool()
    notes: Counter[str] = Counter()
    # Examples are sorted by their ids, which begin with the part's name.
    ordered = sorted(parts, key=lambda part: part.name)
    examples = (_examples(part, published, head, notes) for part in ordered)
    spool.fill(chain.from_iterable(examples))
    texts = spool.texts(TokenCounter().sequence_length)
    return Rows({"examples": spool.examples(), "heads": [head], "texts": texts}, notes)


def _examples(
    part: Part, published: Published, head: Row, notes: Counter[str]
) -> Iterator[tuple[Row, str, str, int]]:
    """Yield the examples of a published file as `Spool.fill` takes them; count
    ``notes``.
    """
    with stream_of(published.file(part.file), part.inside) as (stream, name):
        for number, pair in enumerate(part.form.pairs(stream, name), 1):
            if pair.label is None:
                notes[f"pairs without a label in {part.name}"] += 1
                continue
            if not pair.premise.strip():
                notes[f"premises without a word in {part.name}"] += 1
            if not pair.hypothesis.strip():
                notes[f"hypotheses without a word in {part.name}"] += 1
            row = {
                "example_id": f"{part.name}-{number:07d}",
                "split": part.split,
                "head_id": head["head_id"],
                "label": head["answers"].index(pair.label),
            }
            yield row, pair.premise, pair.hypothesis, part.times


def _anli(settings: Mapping[str, Mapping[str, int]]) -> Iterator[Part]:
    """Yield the parts of the data set `anli`; ``settings`` has the repeats of each
    round.
    """
    for split in SPLITS:
        yield Part("snli", split, SNLI, "snli", f"snli_1.0_{split}.jsonl")
        yield Part("fever", split, FEVER_NLI, "fever", f"{split}_fitems.jsonl")
        for name in ROUNDS:
            source = f"anli_{name.lower()}"
            inside = f"{name}/{split}.jsonl"
            times = settings["anli_repeats"][name] if split == TRAIN else 1
            yield Part(source, split, ANLI, "anli", inside, times)
    # MultiNLI's labelled test set was never published; its two development sets are.
    yield Part("mnli", TRAIN, SNLI, "mnli", "multinli_1.0_train.jsonl")
    for genres in ("matched", "mismatched"):
        file = f"multinli_1.0_dev_{genres}.jsonl"
        yield Part("mnli", DEV, SNLI, "mnli", file, suffix=f"_{genres}")


def _splits(source: str, form: Form, file: str, inside: str = "") -> list[Part]:
    """A part for each split, whose name stands for ``{}`` in the name of a file or of a
    zip's member.
    """
    return [
        Part(source, split, form, file.format(split), inside.format(split))
        for split in SPLITS
    ]


PARTS: dict[str, Callable[[Mapping[str, Any]], Iterable[Part]]] = {
    "anli": _anli,
    "contractnli": lambda _: _splits(
        "contractnli", CONTRACT_NLI, "contractnli", "{}.json"
    ),
    "control": lambda _: _splits("control", CONTROL, "{}"),
    "docnli": lambda _: _splits("docnli", DOCNLI, "docnli", "{}.json"),
}
