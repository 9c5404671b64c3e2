"""Make the sample of the public NLI data sets: ``python resources/sample/make_nli.py``.

It writes ``snli/snli_1.0.zip``, ``multinli/multinli_1.0.zip``, ``nli_fever/nli_fever.zip``,
``anli/anli_v1.0.zip``, ``control/{train,dev,test}.jsonl``, ``docnli/DocNLI_dataset.zip`` and
``contract_nli/contract-nli.zip`` from ``anli/premises.toml``, in the raw formats of the releases; every
sentence is made up.  The bytes depend on that file and this one alone.
"""

import argparse
import hashlib
import io
import json
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WRITTEN = (2025, 1, 15, 0, 0, 0)
SPLITS = ("train", "dev", "test")
KINDS = ("e", "n", "c")
WORDS = {"e": "entailment", "n": "neutral", "c": "contradiction"}
CLAIMS = {"e": "SUPPORTS", "n": "NOT ENOUGH INFO", "c": "REFUTES"}

Premise = Mapping[str, str]
Record = Mapping[str, Any]


def _pairs(premises: Iterable[Premise]) -> list[tuple[str, str, str]]:
    """The pairs (premise, hypothesis, kind) of some premises."""
    return [(one["text"], one[kind], kind) for one in premises for kind in KINDS]


def _dealt(premises: Sequence[Premise]) -> dict[str, Sequence[Premise]]:
    """{split: its premises}: one each for dev and test."""
    return dict(
        zip(SPLITS, (premises[:-2], premises[-2:-1], premises[-1:]), strict=True)
    )


def _gold(premises: Sequence[Premise], source: str, **more: str) -> list[Record]:
    """Records of SNLI and MultiNLI, the last of which no two annotators agreed about."""
    found = [
        more
        | {
            "annotator_labels": [WORDS[kind]],
            "gold_label": WORDS[kind],
            "pairID": f"{source}#{number}r1{kind}",
            "sentence1": premise,
            "sentence2": hypothesis,
        }
        for number, (premise, hypothesis, kind) in enumerate(_pairs(premises))
    ]
    undecided = {"annotator_labels": ["neutral", "contradiction"], "gold_label": "-"}
    return [*found, found[-1] | undecided | {"pairID": f"{source}#{len(found)}r1x"}]


def snli(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """SNLI's files: captions."""
    return {
        f"snli_1.0/snli_1.0_{split}.jsonl": _gold(
            dealt, f"{split}.jpg", captionID=f"{split}.jpg#0"
        )
        for split, dealt in _dealt(premises).items()
    }


def multinli(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """MultiNLI's files: two development sets and no test."""
    names = dict(zip(SPLITS, ("train", "dev_matched", "dev_mismatched"), strict=True))
    return {
        f"multinli_1.0/multinli_1.0_{names[split]}.jsonl": _gold(
            dealt, split, genre="letters", promptID=split
        )
        for split, dealt in _dealt(premises).items()
    }


def fever(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """FEVER-NLI's files, with the labels of dev and test hidden."""
    parts = dict(zip(SPLITS, (premises, premises[:1], premises[-1:]), strict=True))
    return {
        f"nli_fever/{split}_fitems.jsonl": [
            {
                "cid": str(number),
                "fid": f"{split}{number}",
                "query": hypothesis,
                "context": premise,
                "label": CLAIMS[kind] if split == "train" else "hidden",
            }
            for number, (premise, hypothesis, kind) in enumerate(_pairs(parts[split]))
        ]
        for split in SPLITS
    }


def anli(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """ANLI's three rounds: two premises each in training, one kind of pair each in dev and test."""
    *train, dev, test = premises
    found = {}
    for place, kind in enumerate(KINDS):
        pairs = {
            "train": _pairs(train[2 * place : 2 * place + 2]),
            "dev": [(dev["text"], dev[kind], kind)],
            "test": [(test["text"], test[kind], kind)],
        }
        for split, several in pairs.items():
            found[f"anli_v1.0/R{place + 1}/{split}.jsonl"] = [
                {
                    "uid": f"R{place + 1}-{split}-{number}",
                    "context": premise,
                    "hypothesis": hypothesis,
                    "label": label,
                    "model_label": "n",
                    "emturk": split != "train",
                    "genre": "news",
                    "reason": "",
                    "tag": f"r{place + 1}_{split}",
                }
                for number, (premise, hypothesis, label) in enumerate(several)
            ]
    return found


def _passages(premises: Sequence[Premise], size: int) -> list[Sequence[Premise]]:
    return [premises[start : start + size] for start in range(0, len(premises), size)]


def _text(passage: Iterable[Premise]) -> str:
    return " ".join(one["text"] for one in passage)


def control(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """ConTRoL's files: passages of three premises."""
    return {
        f"{split}.jsonl": [
            {
                "uid": f"id_{number}",
                "premise": passage,
                "hypothesis": hypothesis,
                "label": kind,
            }
            for number, (passage, hypothesis, kind) in enumerate(
                (_text(passage), one[kind], kind)
                for passage in dealt
                for one in passage
                for kind in KINDS
            )
        ]
        for split, dealt in _dealt(_passages(premises, 3)).items()
    }


def docnli(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """DocNLI's files: documents of six premises, asked about by sentences and by summaries."""
    found = {}
    for split, documents in _dealt(_passages(premises, 6)).items():
        pairs = [
            (_text(six), one[kind], kind)
            for six in documents
            for one in six
            for kind in KINDS
        ]
        for six in documents:
            right = " ".join(one["e"] for one in six[:3])
            pairs += [
                (_text(six), right, "e"),
                (_text(six), f"{right} {six[3]['c']}", "c"),
            ]
        found[f"DocNLI_dataset/{split}.json"] = [
            {
                "premise": text,
                "hypothesis": said,
                "label": "entailment" if kind == "e" else "not_entailment",
            }
            for text, said, kind in pairs
        ]
    return found


def contract_nli(
    agreements: Sequence[Mapping[str, Any]], hypotheses: Sequence[Mapping[str, str]]
) -> dict[str, Record]:
    """ContractNLI's files: a document is its opening and a clause for each hypothesis that it speaks of."""
    labels = {
        one["key"]: {"short_description": one["short"], "hypothesis": one["text"]}
        for one in hypotheses
    }
    choices = {"entailed": "Entailment", "contradicted": "Contradiction"}
    found = {}
    for split, dealt in _dealt(agreements).items():
        documents = []
        for agreement in dealt:
            spoken = [
                (one["key"], one[effect])
                for one in hypotheses
                if (effect := agreement["clauses"].get(one["key"]))
            ]
            lines = [agreement["opening"], *(clause for _, clause in spoken)]
            ends = [len("\n".join(lines[: place + 1])) for place in range(len(lines))]
            places = {key: place for place, (key, _) in enumerate(spoken, 1)}
            documents.append(
                {
                    "id": agreements.index(agreement),
                    "file_name": agreement["name"],
                    "text": "\n".join(lines),
                    "spans": [
                        [end - len(line), end]
                        for end, line in zip(ends, lines, strict=True)
                    ],
                    "annotation_sets": [
                        {
                            "annotations": {
                                key: {
                                    "choice": choices.get(
                                        agreement["clauses"].get(key), "NotMentioned"
                                    ),
                                    "spans": [places[key]] if key in places else [],
                                }
                                for key in labels
                            }
                        }
                    ],
                    "document_type": "sec-text",
                    "url": f"https://example.org/{agreement['name']}",
                }
            )
        found[f"contract-nli/{split}.json"] = {"documents": documents, "labels": labels}
    return found


def _lines(records: Iterable[Record]) -> bytes:
    return "".join(
        f"{json.dumps(record, ensure_ascii=False)}\n" for record in records
    ).encode()


def _whole(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()


def _zip(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return packed.getvalue()


def build() -> dict[str, bytes]:
    """Return every file of the sample by its path below this folder."""
    written = tomllib.loads((HERE / "anli/premises.toml").read_text("utf-8"))
    premises = written["premise"]
    lines = {
        "snli/snli_1.0.zip": snli(premises[:5]),
        "multinli/multinli_1.0.zip": multinli(premises[5:10]),
        "nli_fever/nli_fever.zip": fever(premises[10:15]),
        "anli/anli_v1.0.zip": anli(premises[15:23]),
    }
    wholes = {
        "docnli/DocNLI_dataset.zip": docnli(premises),
        "contract_nli/contract-nli.zip": contract_nli(
            written["agreement"], written["hypothesis"]
        ),
    }
    found = {
        file: _zip({name: write(content) for name, content in members.items()})
        for write, files in ((_lines, lines), (_whole, wholes))
        for file, members in files.items()
    }
    return found | {
        f"control/{name}": _lines(records)
        for name, records in control(premises).items()
    }


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
