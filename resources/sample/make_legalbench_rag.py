"""Make the sample of LegalBench-RAG's queries: ``python resources/sample/make_legalbench_rag.py``.

It writes ``legalbench_rag/maud.json`` in the released form, from the sample's agreements with their marked
spans (``maud_extraction``).  The bytes depend on those files and this one alone.
"""

import json
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
ASKED = 3  # queries an agreement


def tests(entry):
    """The queries about one agreement: those questions whose answers stand apart from one another."""
    (paragraph,) = entry["paragraphs"]
    text = paragraph["context"]
    buyer, target = (line for line in text.splitlines()[4:9:4])
    title = f'Acquisition Agreement between Parent "{buyer}" and Target "{target}"'
    for asked in paragraph["qas"]:
        starts = {answer["answer_start"]: answer["text"] for answer in asked["answers"]}
        spans = sorted((start, start + len(answer)) for start, answer in starts.items())
        if spans and all(one[1] < other[0] for one, other in pairwise(spans)):
            yield {
                "query": f"Consider the {title}; {asked['id'].partition('__')[2]}",
                "snippets": [
                    {"file_path": f"maud/{target}.txt", "span": span, "answer": text[slice(*span)]}
                    for span in spans
                ],
            }


def build():
    """The bytes of ``legalbench_rag/maud.json``."""
    found = []
    for split in ("train", "dev", "test"):
        path = HERE / f"maud_extraction/maud_squad_{split}.json"
        for entry in json.loads(path.read_text(encoding="utf-8"))["data"]:
            found += [*tests(entry)][:ASKED]
    return (json.dumps({"tests": found}, indent=1, ensure_ascii=False) + "\n").encode()


if __name__ == "__main__":
    out = HERE / "legalbench_rag/maud.json"
    out.parent.mkdir(exist_ok=True)
    out.write_bytes(build())
