"""Trained weights, with a model card, a program that loads them without lextables, and examples to check it.

    weights/<run>/README.md, load.py, examples.json     the card, the program, test examples with predictions
    weights/<run>/...                                   the files of the training

Nothing is pickled: arrays are in npz or safetensors files, texts in JSON or as UTF-8 in arrays.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import yaml

from lextables.models.linear import BUCKETS, WORD
from lextables.papers.trained_on import FACTS, measured
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.files import damage_named, read_json
from lextables.pipeline.run import RunSettings
from lextables.publish.card import TEMPLATES
from lextables.publish.export import Export, Format, PublishedSet, PublishedWeights, licences_of, link
from lextables.tables.cells import Line, from_csv
from lextables.tasks.classification import linear as classification
from lextables.tasks.classification.examples import PLAIN, key_of
from lextables.tasks.retrieval import collection
from lextables.tasks.spans import linear as spans
from lextables.tasks.spans import units

EXAMPLES = 5
CONSTANTS = {
    "word": WORD,
    "buckets": BUCKETS,
    "pair_buckets": classification.WORDS,
    "negation": classification.NEGATION.pattern,
    "units": units,
}
# The library that loads each kind of model.
LIBRARIES = {
    "linear classification": "scikit-learn",
    "linear spans": "scikit-learn",
    "classification": "transformers",
    "spans": "transformers",
    "bi-encoder": "sentence-transformers",
    "cross-encoder": "sentence-transformers",
}


def write(export: Export, data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write the weights trained on a data set to its folder; return the description of the files."""
    for weights in data_set.weights:
        settings = read_json(weights.folder / "run.json", RunSettings)["settings"]
        kind = settings.get("kind") or data_set.task["task"]
        kind = f"{kind} {data_set.task['task']}" if kind == "linear" else kind
        files, place = weights.folder / "weights", folder / "weights" / weights.name
        for path in sorted(path for path in files.rglob("[!.]*") if path.is_file()):
            link(path, place / path.relative_to(files))
        if kind == "classification":
            _save_tokenizer(settings["tokenizer"], place)
        examples = [*FIND_EXAMPLES[data_set.task["task"]](data_set, weights, settings)]
        (place / "examples.json").write_bytes(orjson.dumps(examples))
        context = {
            "export": export,
            "data_set": data_set,
            "weights": weights,
            "settings": settings,
            "kind": kind,
        }
        context |= {"pairs": "second" in examples[0], "own": (place / "heads.safetensors").is_file()}
        program = TEMPLATES.get_template("load_weights.py.j2").render(CONSTANTS | context).lstrip()
        (place / "load.py").write_text(program, encoding="utf-8", newline="\n")
        context |= {"program": program, "examples": examples, "up": "../" * (3 if data_set.folder else 2)}
        (place / "README.md").write_text(_card(export, weights, context), encoding="utf-8", newline="\n")
    description = "trained weights with a model card and a program that loads them without lextables."
    return [Format("weights/<run>/", description)] if data_set.weights else []


def _card(export: Export, weights: PublishedWeights, context: Mapping[str, Any]) -> str:
    scores = [*_scores(weights)]
    licences = licences_of(export.sources)
    hub_ids = sorted({licence.hub for licence in licences})
    fields = {
        "license": hub_ids if len(hub_ids) > 1 else hub_ids[0],
        "language": ["en"],
        "library_name": LIBRARIES[context["kind"]],
        "base_model": weights.base.get("hub"),
        "tags": ["legal", "lextables", *["sample"] * export.sample],
    }
    fields = {name: value for name, value in fields.items() if value}
    about = {
        "library": LIBRARIES[context["kind"]],
        "scores": scores,
        "seeds": max((len(line.runs.split()) for _, line in scores), default=1),
        "overlaps": [*_overlaps(export, weights)],
        "record": read_json(weights.folder / "run.json", RunSettings),
        "licences": licences,
        "other": [source for source in export.sources if not source["comparable"]],
    }
    front_matter = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)
    return f"---\n{front_matter}---\n\n{TEMPLATES.get_template('model_card.md.j2').render(context | about)}"


def _scores(weights: PublishedWeights) -> Iterator[tuple[str, Line]]:
    """Yield the headline scores of the predictions, each once, with the title of its first table."""
    shown = set()
    for path, title, headline in weights.tables:
        with damage_named(path):
            lines = from_csv(Path(path).read_text(encoding="utf-8"))
        for line in lines:
            runs = line.runs.split()
            known = (line.row, line.column) in shown or headline not in (line.row, line.column)
            if not known and any(weights.predicted.match(run) for run in runs):
                shown.add((line.row, line.column))
                yield title, line


def _overlaps(export: Export, weights: PublishedWeights) -> Iterator[tuple[str, str, float]]:
    """Yield (test split, training split, share of the test split's words that are in the other)."""
    for (split, training), share in measured(FACTS).items():
        if training in weights.texts and split.endswith(("/test", "/all")) and not export.sample:
            yield split, training, share


def _save_tokenizer(settings: Mapping[str, Any], folder: Path) -> None:
    """Write the tokenizer of the base model, which classifiers are saved without."""
    from lextables.models.loading import load_tokenizer  # slow to import
    from lextables.models.weights import weights_folder

    load_tokenizer(weights_folder(settings)).save_pretrained(folder)


# Test examples with their predictions


def _evenly(rows: list[Row]) -> list[Row]:
    return rows[:: max(1, len(rows) // EXAMPLES)][:EXAMPLES]


Examples = Iterator[dict[str, Any]]
Settings = Mapping[str, Any]


def _of_classification(data_set: PublishedSet, weights: PublishedWeights, settings: Settings) -> Examples:
    condition, names = weights.reading["condition"] or "", data_set.task["names"]
    rows = [row for row in read(weights.predictions) if row.get("condition", "") == condition]
    chosen = {row["example_id"]: row for row in _evenly(rows)}
    examples = {
        row["example_id"]: row for row in read(data_set.table("examples")) if row["example_id"] in chosen
    }
    keys = {name: key_of(row, weights.reading["view"] or PLAIN) for name, row in examples.items()}
    ids = {text_id for key in keys.values() for text_id in key}
    table = data_set.table(names["texts"])
    texts = {row["text_id"]: row["text"] for row in read(table, ["text_id", "text"]) if row["text_id"] in ids}
    answers = {row["head_id"]: row["answers"] for row in read(data_set.table(names["heads"]))}
    sides = settings.get("sides", "both")
    for name, row in chosen.items():
        first, second = (texts.get(text_id, "") for text_id in keys[name])
        example = {"head": row["head_id"], "answers": answers[row["head_id"]]}
        example["text"] = second if sides == "second" else first
        # A model of pairs reads an empty second text with a single one.
        if sides == "both" and any(pair_id for _, pair_id in keys.values()):
            example["second"] = second
        yield example | {"example_id": name, "prediction": row["probabilities"]}


def _of_retrieval(data_set: PublishedSet, weights: PublishedWeights, settings: Settings) -> Examples:
    task = data_set.task
    data = collection.load([data_set.table(name) for name in collection.files(task)], task)
    for row in _evenly([*read(weights.predictions)]):
        query, document = row["query_id"], row["document_id"]
        texts = {"query": data.queries[query][task["forms"][0]], "document": data.documents[document]}
        yield {"query_id": query, "document_id": document} | texts | {"prediction": row["score"]}


def _of_spans(data_set: PublishedSet, weights: PublishedWeights, settings: Settings) -> Examples:
    texts = {
        row["contract_id"]: row["text"] for row in read(data_set.table("contracts")) if row["split"] == "test"
    }
    if settings.get("kind") != "linear":
        # A span near the beginning, which is in the first window.
        questions = {row["question_id"]: row for row in read(data_set.table("questions"))}
        marked = (row for row in read(weights.predictions) if row["start"] >= 0)
        row = min(marked, key=lambda row: (row["end"], len(questions[row["question_id"]]["question"])))
        question = questions[row["question_id"]]
        logits = [row["start_logit"], row["end_logit"]]
        names = {"question_id": row["question_id"], "question": question["question"]}
        span = {"text": texts[question["contract_id"]], "start": row["start"], "end": row["end"]}
        yield names | span | {"prediction": logits}
        return
    name = min(texts, key=lambda name: (len(texts[name]), name))
    contract = units.units_of([texts[name]])
    vectors = units.read_vectors(weights.vectors, [name]) if weights.vectors else None
    model = spans.load(weights.folder / "weights" / spans.WEIGHTS)
    logits = np.round(model.units.logits(contract, vectors).astype(float), 5)
    yield {
        "contract_id": name,
        "units": contract.words(),
        "starts": contract.start.tolist(),
        "prediction": logits.tolist(),
    }


FIND_EXAMPLES: Mapping[str, Callable[[PublishedSet, PublishedWeights, Settings], Examples]] = {
    "classification": _of_classification,
    "retrieval": _of_retrieval,
    "spans": _of_spans,
}
