"""Make the sample of the privacy policy corpus: ``python
resources/sample/make_privacy.py``.

It writes ``privacy/questions.ndjson``, ``coding_values.ndjson`` and
``privacy_policies.ndjson`` from ``privacy/clauses.toml``, in the release's form; every
sentence is made up.  The bytes depend on that file and this one alone.
"""

import argparse
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MARK = "* "  # before a sentence that a coder marks

Record = Mapping[str, Any]
Place = tuple[int, int]  # a document and a paragraph in it


def _drawn(most: int, *about: Any) -> int:
    """A number below ``most`` that hangs on ``about`` alone."""
    digest = hashlib.sha256("/".join(map(str, about)).encode())
    return int(digest.hexdigest(), 16) % most


def _holds(site: str, question: Record) -> list[int]:
    """The places of the options that a site's policy says, or keeps silent of."""
    options = len(question["options"])
    first = _drawn(options, site, question["label"])
    if not question.get("several") or not first:
        return [first]
    second = 1 + _drawn(options - 1, site, question["label"], "second")
    return sorted({first, second})


def _policy(
    texts: Record, site: Record
) -> tuple[Record, dict[tuple[str, int], tuple[Place, list[int]]]]:
    """A site's policy, and {(question, option): where that stands and which sentences
    of it are marked}.
    """
    documents = [list(opening) for opening in texts["opening"]]
    marked = {}
    for question in texts["questions"]:
        into = documents[question["document"]]
        for option in _holds(site["site"], question):
            ways = question["options"][option]["clauses"]
            if not ways:
                continue
            about = (site["site"], question["label"])
            other = texts["other"]
            into.append(other[_drawn(len(other), *about, "other")])
            sentences = ways[_drawn(len(ways), *about, "way")]
            plain, marks = [], []
            for number, sentence in enumerate(sentences):
                plain.append(sentence.removeprefix(MARK))
                if sentence.startswith(MARK):
                    marks.append(number)
            place = (question["document"], len(into))
            marked[question["label"], option] = (place, marks)
            into.append(" ".join(plain))
    names = {"name": site["name"], "site": site["site"]}
    filled = []
    for number, paragraphs in enumerate(documents):
        document = {
            "label": str(number),
            "name": texts["documents"][number],
            "format": "markdown",
            "paragraphs": [text.format(**names) for text in paragraphs],
        }
        filled.append(document)
    return {"url": site["site"], "policy_documents": filled}, marked


def _responses(
    site: str, question: Record, marked: Mapping[Any, tuple[Place, list[int]]]
) -> list[Record]:
    """What two coders say, sometimes three: the second may see it otherwise, and is
    less sure of it then.
    """
    label, options = question["label"], question["options"]
    about = (site, label)
    found = []
    for coder in range(3 if _drawn(5, *about, "third") == 0 else 2):
        chosen, sure = _holds(site, question), 4 + _drawn(2, *about, coder)
        if coder == 1 and _drawn(4, *about, "doubt") == 0:
            chosen = [(chosen[0] + 1) % len(options)]
            sure = 2 + _drawn(2, *about, "doubt", coder)
        if _drawn(9, *about, coder, "silent") == 0:
            sure = None
        highlights = []
        for option in chosen:
            place, sentences = marked.get((label, option), ((), ()))
            highlights += [[*place, sentence] for sentence in sentences]
        response = {
            "coder_id": 1 + _drawn(4, *about, "coder"),
            "selected_option_labels": [options[option]["label"] for option in chosen],
            "reported_likert_confidence": sure,
            "highlighted_sentences": highlights,
        }
        found.append(response)
    return found


def _lines(records: Iterable[Record]) -> bytes:
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    return "".join(f"{line}\n" for line in lines).encode()


def build() -> dict[str, bytes]:
    """Return {path below resources/sample: content}."""
    texts = tomllib.loads((HERE / "privacy/clauses.toml").read_text(encoding="utf-8"))
    questions, codings, policies = _questions(texts["questions"]), [], []
    for site in texts["sites"]:
        policy, marked = _policy(texts, site)
        if site.get("policy", True):
            policies.append(policy)
        for question in texts["questions"]:
            coding = {
                "url": site["site"],
                "question": question["label"],
                "responses": _responses(site["site"], question, marked),
            }
            codings.append(coding)
    _oddities(codings)
    return {
        "privacy/questions.ndjson": _lines(questions),
        "privacy/coding_values.ndjson": _lines(
            sorted(codings, key=lambda one: one["question"])
        ),
        "privacy/privacy_policies.ndjson": _lines(policies),
    }


def _questions(questions: Sequence[Record]) -> list[Record]:
    records = []
    for one in questions:
        options = []
        for option in one["options"]:
            options.append({"label": option["label"], "text": option["text"]})
        record = {
            "label": one["label"],
            "category": one["category"],
            "allow_multiselect": one.get("several", False),
            "question": one["question"],
            "options": options,
        }
        records.append(record)
    return records


def _oddities(codings: list[dict[str, Any]]) -> None:
    """What the release has too: a response without an option, one option too many, a
    pair missing.
    """
    codings[0]["responses"][0] |= {
        "selected_option_labels": [],
        "highlighted_sentences": [],
    }
    codings[1]["responses"][1]["selected_option_labels"] = ["0", "1"]
    del codings[11]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--to", type=Path, default=HERE, help="the folder to write into"
    )
    into = parser.parse_args().to
    for name, content in build().items():
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(
            f"{path}: {len(content):,} bytes, sha256:{hashlib.sha256(content).hexdigest()}"
        )
