"""The file formats of the public NLI data sets: keys of premise, hypothesis and label, and label spellings.

SNLI (Bowman et al. 2015), MultiNLI (Williams et al. 2018), FEVER-NLI (Nie et al. 2019), ANLI (Nie et al.
2020) and ConTRoL (Liu et al. 2021) are JSON lines, DocNLI (Yin et al. 2021) is an array, ContractNLI (Koreeda
and Manning 2021) has the same hypotheses for every document.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lextables.pipeline.errors import BadInput
from lextables.sources.archives import member, opened
from lextables.sources.records import RESTORE, Record, json_array, json_lines, json_object, value

ENTAIL, NEUTRAL, CONTRADICT, NOT_ENTAIL = "entail", "neutral", "contradict", "not entail"
# The labels of a data set, in order.
THREE, TWO = (ENTAIL, NEUTRAL, CONTRADICT), (ENTAIL, NOT_ENTAIL)

Records = Callable[[IO[bytes], str], Iterator[tuple[str, Record]]]


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis; ``label`` is None where the publisher gives none."""

    premise: str
    hypothesis: str
    label: str | None


@dataclass(frozen=True)
class Form:
    """The keys of a pair's record; ``spelt`` maps published labels to ours, None for no label."""

    premise: str
    hypothesis: str
    label: str
    spelt: Mapping[str, str | None]
    records: Records = json_lines

    def pairs(self, stream: IO[bytes], name: str) -> Iterator[Pair]:
        """Yield the pairs of a file. Raises `BadInput` with the place of the first fault."""
        for where, record in self.records(stream, name):
            premise, hypothesis, label = (
                value(record, key, str, where) for key in (self.premise, self.hypothesis, self.label)
            )
            if label not in self.spelt:
                raise BadInput(
                    f"{self.label!r} is {label!r}, not one of {', '.join(map(repr, self.spelt))}",
                    where=where,
                    do=RESTORE,
                )
            yield Pair(premise, hypothesis, self.spelt[label])


def of_documents(stream: IO[bytes], name: str) -> Iterator[tuple[str, Record]]:
    """Yield (place, record) for each document and hypothesis of a file of ContractNLI.

    The records have the keys text, hypothesis and choice. Only a document's first annotation set is used, as
    in the authors' code; the published files have one each.
    """
    content = json_object(stream, name)
    hypotheses = {
        key: value(label, "hypothesis", str, f"{name}, label {key}")
        for key, label in value(content, "labels", dict, name).items()
    }
    for number, document in enumerate(value(content, "documents", list, name), 1):
        where = f"{name}, document {number}"
        text = value(document, "text", str, where)
        if not (sets := value(document, "annotation_sets", list, where)):
            raise BadInput("has no annotation set", where=where, do=RESTORE)
        chosen = value(sets[0], "annotations", dict, where)
        for key, hypothesis in hypotheses.items():
            annotation = value(chosen, key, dict, where)
            yield f"{where}, {key}", annotation | {"text": text, "hypothesis": hypothesis}


_LETTERS = {"e": ENTAIL, "n": NEUTRAL, "c": CONTRADICT}
SNLI = Form(
    premise="sentence1",
    hypothesis="sentence2",
    label="gold_label",
    # A dash means that the annotators had no majority.
    spelt={"entailment": ENTAIL, "neutral": NEUTRAL, "contradiction": CONTRADICT, "-": None},
)
FEVER_NLI = Form(
    # The readme exchanges query and context; ANLI's code reads them as here.
    premise="context",
    hypothesis="query",
    label="label",
    spelt={"SUPPORTS": ENTAIL, "NOT ENOUGH INFO": NEUTRAL, "REFUTES": CONTRADICT, "hidden": None},
)
ANLI = Form(premise="context", hypothesis="hypothesis", label="label", spelt=_LETTERS)
CONTROL = Form(premise="premise", hypothesis="hypothesis", label="label", spelt=_LETTERS)
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
    """Open a published file, or the member ``inside`` a zip; yield it with its name for messages."""
    if not inside:
        with path.open("rb") as stream:
            yield stream, path.name
        return
    with opened(path) as archive, archive.open(member(archive, inside)) as stream:
        yield stream, f"{path.name}, {inside}"
