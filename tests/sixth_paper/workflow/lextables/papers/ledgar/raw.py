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
        absent = {"provision", "label", "split"} - record.keys()
        if absent:
            what = f"the key {min(absent)!r} is missing"
            raise BadInput(what, where=f"{path.name}, line {number}")
        records.append(record)
    labels = sorted({record["label"] for record in records})
    examples = []
    texts = []
    for number, record in enumerate(records, 1):
        example = f"{number:06d}"
        row = {"example_id": example, "split": record["split"], "head_id": HEAD}
        label = labels.index(record["label"])
        examples.append(row | {"text_id": example, "label": label})
        texts.append({"text_id": example, "text": record["provision"]})
    heads = [{"head_id": HEAD, "answers": labels}]
    rows = {"examples": examples, "heads": heads, "texts": texts}
    return Rows(rows, {"labels": len(labels)})
