"""From the published file to rows: JSON lines of provision, label and split."""

import json

from lextables.pipeline.dataset import Published, Rows
from lextables.pipeline.errors import BadInput

HEAD = "label"


def read(name: str, published: Published) -> Rows:
    """Return the data set ``name``; `BadInput` names the line of the first fault."""
    path = published.file("provisions")
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        record = json.loads(line)
        if absent := {"provision", "label", "split"} - record.keys():
            raise BadInput(
                f"the key {min(absent)!r} is missing",
                where=f"{path.name}, line {number}",
            )
        records.append(record)
    labels = sorted({record["label"] for record in records})
    ids = [f"{number:06d}" for number in range(1, len(records) + 1)]
    examples = [
        {
            "example_id": example,
            "split": record["split"],
            "head_id": HEAD,
            "text_id": example,
            "label": labels.index(record["label"]),
        }
        for example, record in zip(ids, records, strict=True)
    ]
    texts = [
        {"text_id": i, "text": record["provision"]}
        for i, record in zip(ids, records, strict=True)
    ]
    rows = {
        "examples": examples,
        "heads": [{"head_id": HEAD, "answers": labels}],
        "texts": texts,
    }
    return Rows(rows, {"labels": len(labels)})
