"""Make the sample of the public NLI data sets: ``python resources/sample/make_nli.py``.

It writes ``snli/snli_1.0.zip``, ``multinli/multinli_1.0.zip``,
``nli_fever/nli_fever.zip``, ``anli/anli_v1.0.zip``, ``control/{train,dev,test}.jsonl``,
``docnli/DocNLI_dataset.zip`` and ``contract_nli/contract-nli.zip`` from
``anli/premises.toml``, in the raw formats of the releases; every sentence is made up.
The bytes depend on that file and this one alone.
"""

import argparse
import hashlib
import io
import json
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WRITTEN = (2025, 1, 15, 0, 0, 0)

KINDS = ("e", "n", "c")
WORDS = {"e": "entailment", "n": "neutral", "c": "contradiction"}
CLAIMS = {"e": "SUPPORTS", "n": "NOT ENOUGH INFO", "c": "REFUTES"}

Premise = Mapping[str, str]
Pair = tuple[str, str, str]  # premise, hypothesis, kind
Record = Mapping[str, Any]


def _pairs(premises: Iterable[Premise]) -> list[Pair]:
    """The pairs (premise, hypothesis, kind) of some premises."""
    pairs = []
    for one in premises:
        pairs += [(one["text"], one[kind], kind) for kind in KINDS]
    return pairs


def _dealt(premises: Sequence[Premise]) -> dict[str, Sequence[Premise]]:
    """{split: its premises}: one each for dev and test."""
    return {"train": premises[:-2], "dev": premises[-2:-1], "test": premises[-1:]}


def _gold(premises: Sequence[Premise], source: str, **more: str) -> list[Record]:
    """Records of SNLI and MultiNLI, the last of which no two annotators agreed
    about.
    """
    found = []
    for number, (premise, hypothesis, kind) in enumerate(_pairs(premises)):
        record = {
            **more,
            "annotator_labels": [WORDS[kind]],
            "gold_label": WORDS[kind],
            "pairID": f"{source}#{number}r1{kind}",
            "sentence1": premise,
            "sentence2": hypothesis,
        }
        found.append(record)
    undecided = {
        **found[-1],
        "annotator_labels": ["neutral", "contradiction"],
        "gold_label": "-",
        "pairID": f"{source}#{len(found)}r1x",
    }
    return [*found, undecided]


def snli(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """SNLI's files: captions."""
    files = {}
    for split, dealt in _dealt(premises).items():
        picture = f"{split}.jpg"
        records = _gold(dealt, picture, captionID=f"{picture}#0")
        files[f"snli_1.0/snli_1.0_{split}.jsonl"] = records
    return files


def multinli(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """MultiNLI's files: two development sets and no test."""
    names = {"train": "train", "dev": "dev_matched", "test": "dev_mismatched"}
    files = {}
    for split, dealt in _dealt(premises).items():
        records = _gold(dealt, split, genre="letters", promptID=split)
        files[f"multinli_1.0/multinli_1.0_{names[split]}.jsonl"] = records
    return files


def fever(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """FEVER-NLI's files, with the labels of dev and test hidden."""
    parts = {"train": premises, "dev": premises[:1], "test": premises[-1:]}
    files = {}
    for split, part in parts.items():
        records = []
        for number, (premise, hypothesis, kind) in enumerate(_pairs(part)):
            record = {
                "cid": str(number),
                "fid": f"{split}{number}",
                "query": hypothesis,
                "context": premise,
                "label": CLAIMS[kind] if split == "train" else "hidden",
            }
            records.append(record)
        files[f"nli_fever/{split}_fitems.jsonl"] = records
    return files


def anli(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """ANLI's three rounds: two premises each in training, one kind of pair each in dev
    and test.
    """
    *train, dev, test = premises
    files = {}
    for place, kind in enumerate(KINDS):
        pairs = {
            "train": _pairs(train[2 * place : 2 * place + 2]),
            "dev": [(dev["text"], dev[kind], kind)],
            "test": [(test["text"], test[kind], kind)],
        }
        for split, several in pairs.items():
            records = []
            for number, (premise, hypothesis, label) in enumerate(several):
                record = {
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
                records.append(record)
            files[f"anli_v1.0/R{place + 1}/{split}.jsonl"] = records
    return files


def _passages(premises: Sequence[Premise], size: int) -> list[Sequence[Premise]]:
    return [premises[start : start + size] for start in range(0, len(premises), size)]


def _text(passage: Iterable[Premise]) -> str:
    return " ".join(one["text"] for one in passage)


def _pairs_of_passages(passages: Iterable[Sequence[Premise]]) -> list[Pair]:
    """The pairs of whole passages, each with the hypotheses of its premises."""
    pairs = []
    for passage in passages:
        text = _text(passage)
        for one in passage:
            pairs += [(text, one[kind], kind) for kind in KINDS]
    return pairs


def control(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """ConTRoL's files: passages of three premises."""
    files = {}
    for split, dealt in _dealt(_passages(premises, 3)).items():
        records = []
        for number, (passage, hypothesis, kind) in enumerate(_pairs_of_passages(dealt)):
            record = {
                "uid": f"id_{number}",
                "premise": passage,
                "hypothesis": hypothesis,
                "label": kind,
            }
            records.append(record)
        files[f"{split}.jsonl"] = records
    return files


def docnli(premises: Sequence[Premise]) -> dict[str, list[Record]]:
    """DocNLI's files: documents of six premises, asked about by sentences and by
    summaries.
    """
    files = {}
    for split, documents in _dealt(_passages(premises, 6)).items():
        pairs = _pairs_of_passages(documents)
        for six in documents:
            right = " ".join(one["e"] for one in six[:3])
            wrong = f"{right} {six[3]['c']}"
            pairs.append((_text(six), right, "e"))
            pairs.append((_text(six), wrong, "c"))
        records = []
        for text, hypothesis, kind in pairs:
            record = {
                "premise": text,
                "hypothesis": hypothesis,
                "label": "entailment" if kind == "e" else "not_entailment",
            }
            records.append(record)
        files[f"DocNLI_dataset/{split}.json"] = records
    return files


def contract_nli(
    agreements: Sequence[Mapping[str, Any]], hypotheses: Sequence[Mapping[str, str]]
) -> dict[str, Record]:
    """ContractNLI's files: a document is its opening and a clause for each hypothesis
    that it speaks of.
    """
    labels = {}
    for one in hypotheses:
        labels[one["key"]] = {
            "short_description": one["short"],
            "hypothesis": one["text"],
        }
    files = {}
    for split, dealt in _dealt(agreements).items():
        documents = []
        for agreement in dealt:
            text, spans, annotations = _annotated(agreement, hypotheses)
            document = {
                "id": agreements.index(agreement),
                "file_name": agreement["name"],
                "text": text,
                "spans": spans,
                "annotation_sets": [{"annotations": annotations}],
                "document_type": "sec-text",
                "url": f"https://example.org/{agreement['name']}",
            }
            documents.append(document)
        files[f"contract-nli/{split}.json"] = {"documents": documents, "labels": labels}
    return files


def _annotated(
    agreement: Mapping[str, Any], hypotheses: Sequence[Mapping[str, str]]
) -> tuple[str, list[list[int]], dict[str, Record]]:
    """The text of an agreement, its spans, and {hypothesis: its annotation}."""
    choices = {"entailed": "Entailment", "contradicted": "Contradiction"}
    text = agreement["opening"]
    spans = [[0, len(text)]]
    annotations = {}
    for one in hypotheses:
        effect = agreement["clauses"].get(one["key"])
        places = []
        if effect:
            places.append(len(spans))
            start = len(text) + 1
            text += f"\n{one[effect]}"
            spans.append([start, len(text)])
        annotations[one["key"]] = {
            "choice": choices.get(effect, "NotMentioned"),
            "spans": places,
        }
    return text, spans, annotations


def _lines(records: Iterable[Record]) -> bytes:
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    return "".join(f"{line}\n" for line in lines).encode()


def _whole(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()


def _zip(members: Mapping[str, Any], encode: Callable[[Any], bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, encode(content))
    return packed.getvalue()


def build() -> dict[str, bytes]:
    """Return every file of the sample by its path below this folder."""
    written = tomllib.loads((HERE / "anli/premises.toml").read_text("utf-8"))
    premises = written["premise"]
    agreements = contract_nli(written["agreement"], written["hypothesis"])
    files = {
        "snli/snli_1.0.zip": _zip(snli(premises[:5]), _lines),
        "multinli/multinli_1.0.zip": _zip(multinli(premises[5:10]), _lines),
        "nli_fever/nli_fever.zip": _zip(fever(premises[10:15]), _lines),
        "anli/anli_v1.0.zip": _zip(anli(premises[15:23]), _lines),
        "docnli/DocNLI_dataset.zip": _zip(docnli(premises), _whole),
        "contract_nli/contract-nli.zip": _zip(agreements, _whole),
    }
    for name, records in control(premises).items():
        files[f"control/{name}"] = _lines(records)
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
