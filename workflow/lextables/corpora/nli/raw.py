"""Labelled pairs from the published files of the public NLI data sets.

The data set `anli` is SNLI, MultiNLI, FEVER-NLI and ANLI's three rounds, which are repeated in training.
ANLI's authors train on this mix, and so does LawngNLI (Appendix A.2.2).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lextables.corpora.nli import formats
from lextables.corpora.nli.formats import Form, stream_of
from lextables.corpora.nli.spool import Spool
from lextables.models.token_count import TokenCounter
from lextables.pipeline.dataset import Published, Row, Rows

SPLITS = TRAIN, DEV, TEST = ("train", "dev", "test")
ROUNDS = ("R1", "R2", "R3")
NLI = {"head_id": "nli", "answers": list(formats.THREE)}
ENTAILMENT = {"head_id": "entailment", "answers": list(formats.TWO)}


@dataclass(frozen=True)
class Part:
    """One published file of pairs: ``file`` is its registry name, ``inside`` the member of a zip.

    Its pairs are repeated ``times`` times. Example ids start with the ``source``, the split and ``suffix``,
    which distinguishes two files of a split.
    """

    source: str
    split: str
    form: Form
    file: str
    inside: str = ""
    times: int = 1
    suffix: str = ""

    @property
    def name(self) -> str:
        return f"{self.source}-{self.split}{self.suffix}"


def read(name: str, published: Published) -> Rows:
    """Return the data set ``name``: `anli`, `control`, `docnli` or `contractnli`.

    Pairs without a label are dropped and counted in the notes; empty premises and hypotheses are kept and
    counted. All files are read completely before the first row; the rows are then streamed from disk. Raises
    `BadInput` for the first fault.
    """
    parts, head = PARTS[name](published.given), ENTAILMENT if name == "docnli" else NLI
    spool, notes = Spool(), Counter[str]()
    # Examples are sorted by their ids, which begin with the part's name.
    ordered = sorted(parts, key=lambda part: part.name)
    spool.fill(example for part in ordered for example in _examples(part, published, head, notes))
    texts = spool.texts(TokenCounter().sequence_length)
    return Rows({"examples": spool.examples(), "heads": [head], "texts": texts}, notes)


def _examples(
    part: Part, published: Published, head: Row, notes: Counter[str]
) -> Iterator[tuple[Row, str, str, int]]:
    with stream_of(published.file(part.file), part.inside) as (stream, name):
        for number, pair in enumerate(part.form.pairs(stream, name), 1):
            if pair.label is None:
                notes[f"pairs without a label in {part.name}"] += 1
                continue
            for kind, text in (("premises", pair.premise), ("hypotheses", pair.hypothesis)):
                if not text.strip():
                    notes[f"{kind} without a word in {part.name}"] += 1
            row = {
                "example_id": f"{part.name}-{number:07d}",
                "split": part.split,
                "head_id": head["head_id"],
                "label": head["answers"].index(pair.label),
            }
            yield row, pair.premise, pair.hypothesis, part.times


def _anli(settings: Mapping[str, Mapping[str, int]]) -> Iterator[Part]:
    for split in SPLITS:
        yield Part("snli", split, formats.SNLI, "snli", f"snli_1.0_{split}.jsonl")
        yield Part("fever", split, formats.FEVER_NLI, "fever", f"{split}_fitems.jsonl")
        for name in ROUNDS:
            source, inside = f"anli_{name.lower()}", f"{name}/{split}.jsonl"
            times = settings["anli_repeats"][name] if split == TRAIN else 1
            yield Part(source, split, formats.ANLI, "anli", inside, times)
    # MultiNLI's labelled test set was never published; its two development sets are.
    yield Part("mnli", TRAIN, formats.SNLI, "mnli", "multinli_1.0_train.jsonl")
    for genres in ("matched", "mismatched"):
        file = f"multinli_1.0_dev_{genres}.jsonl"
        yield Part("mnli", DEV, formats.SNLI, "mnli", file, suffix=f"_{genres}")


def _control(settings: Mapping[str, object]) -> Iterator[Part]:
    return (Part("control", split, formats.CONTROL, split) for split in SPLITS)


def _docnli(settings: Mapping[str, object]) -> Iterator[Part]:
    return (Part("docnli", split, formats.DOCNLI, "docnli", f"{split}.json") for split in SPLITS)


def _contract_nli(settings: Mapping[str, object]) -> Iterator[Part]:
    file = "contractnli"
    return (Part(file, split, formats.CONTRACT_NLI, file, f"{split}.json") for split in SPLITS)


PARTS = {"anli": _anli, "contractnli": _contract_nli, "control": _control, "docnli": _docnli}
