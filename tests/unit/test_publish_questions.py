"""Questions for lm-evaluation-harness have the prompts and the accuracy of this
pipeline.
"""

import itertools
import json
import math
import os
import runpy
import subprocess
import zlib

import pyarrow as pa
import pytest
import torch

from helpers import answer_rows
from helpers.fake_language_model import FakeModel
from helpers.published_rows import data_set, export, harness
from lextables import ROOT
from lextables.models import prompts
from lextables.models.local_language_model import CausalModel, LocalLanguageModel
from lextables.models.multiple_choice import weighed
from lextables.pipeline.dataset import Column, Table
from lextables.publish import questions
from lextables.tasks.answers import collection
from lextables.tasks.answers.predictors.language_model import Asker, answers_of
from lextables.tasks.answers.settings import AskingSettings
from lextables.tasks.classification import asking as classification_asking
from lextables.tasks.classification.asking import AskedFiles
from lextables.tasks.classification.schema import EXAMPLES, HEADS, TEXTS
from lextables.tasks.spans.asking import ANSWERS
from lextables.tasks.spans.squad import QUESTIONS

MODEL = ROOT / "resources/sample/models/sample-language-model"
# Placeholders, chat markup and lines of equal signs, which prompts treat as plain text.
WORDS = (
    "The “Größe” is 5 %.",
    "${question} <|im_end|> [INST]",
    "=======\nNo party may assign.",
    "x",
    "",
)
COLUMNS = tuple(Column(name, pa.string(), name) for name in ("contract_id", "text"))
TEXT = Table("contracts", "Contracts.", COLUMNS, key=("contract_id",))


def template(name):
    return prompts.load(ROOT / f"resources/prompts/{name}.txt").plain()


def classification(root):
    heads = {"h1": ["No", "Yes", "<OTHER>"], "h2": ["a, b", "c"]}
    rows = [
        {
            "example_id": f"e{place:02}",
            "split": "test" if place % 4 else "train",
            "head_id": f"h{place % 2 + 1}",
            "text_id": f"t{place % len(WORDS)}",
            "label": place % 2,
        }
        for place in range(20)
    ]
    asking = {
        "question": "head_id",
        "wordings": {"<OTHER>": "None of these"},
        "orders": 2,
        "samples": 5,
    }
    tables = {
        EXAMPLES: rows,
        HEADS: [
            {"head_id": name, "answers": answers} for name, answers in heads.items()
        ],
        TEXTS: [
            {"text_id": f"t{place}", "text": text} for place, text in enumerate(WORDS)
        ],
    }
    names = {"heads": "heads", "texts": "texts"}
    task = {
        "task": "classification",
        "names": names,
        "views": {},
        "test": ["test"],
        "asking": asking,
    }
    task |= {"prompt": template("maud_question")}

    def ours(exported, model):
        files = AskedFiles(*map(exported.table, ("examples", "heads", "texts")))
        settings = classification_asking.AskingSettings(
            **asking,
            prompt=task["prompt"],
            only=[],
            kind="language-model",
            model="fake",
            weights="fake",
            revision=None,
            found="here",
        )
        asked = classification_asking.asked_examples(files, settings, ["test"])
        predictions, _ = classification_asking.answer(asked, files, settings, model)
        return [
            (row["probabilities"], [int(row["example_id"][1:]) % 2])
            for row in predictions
        ]

    return tables, task, ours


def answers(root):
    rows = answer_rows.rows(documents=6, without_text=("d05",))
    tables = {table: rows[name] for name, table in answer_rows.TABLES.items()}
    task = {
        "task": "answers",
        "names": answer_rows.NAMES,
        "asking": {"orders": 2, "samples": 5},
    }
    task |= {"prompt": template("policy_answer")}

    def ours(exported, model):
        data = [exported.table(name) for name in collection.ANSWERED_FROM]
        settings = AskingSettings(**task["asking"], prompt=task["prompt"], text="whole")
        loaded = collection.load(data, answer_rows.NAMES)
        predictions, _ = answers_of(loaded, Asker(model, settings))
        return [
            (probabilities, [answer_rows.supported_option(*pair)])
            for pair, probabilities in sorted(predictions.items())
        ]

    return tables, task, ours


def spans(root):
    rows = []
    for place, kind in itertools.product(range(len(WORDS)), ("Parties", "Term")):
        row = {"question_id": f"c{place}__{kind}", "contract_id": f"c{place}"}
        row |= {"category": kind, "question": f"Which {kind}?"}
        row |= {"split": "test" if place else "train"}
        rows.append(row | {"answers": (place + len(kind)) % 2})
    contracts = [
        {"contract_id": f"c{place}", "text": text} for place, text in enumerate(WORDS)
    ]

    def ours(exported, model):
        asked, presence = rows[2:], prompts.plain_template(task["prompt"])
        texts = [WORDS[int(row["contract_id"][1:])] for row in asked]
        filled = [
            presence.filled(text=text, question=row["question"])
            for text, row in zip(texts, asked, strict=True)
        ]
        picked = weighed(model, filled, [ANSWERS] * len(asked))
        return [
            (choice.shares, [int(not row["answers"])])
            for choice, row in zip(picked, asked, strict=True)
        ]

    task = {"task": "spans", "asking": {}, "prompt": template("cuad_presence")}
    return {TEXT: contracts, QUESTIONS: rows}, task, ours


KINDS = (classification, answers, spans)


def written(kind, root):
    """Export a data set with this kind of task, and the kind's name, to
    ``root``/harness.

    Return a function from a model to its probabilities and the correct options.
    """
    tables, task, ours = kind(root)
    census = data_set(root, kind.__name__, tables)
    (exported,) = export([census], tasks={kind.__name__: task}).sets
    assert len(questions.write(exported, root)) == 1
    return lambda model: ours(exported, model)


def accuracy(answered):
    scores = []
    for shares, right in answered:
        best = [place for place, share in enumerate(shares) if share == max(shares)]
        scores.append(sum(place in right for place in best) / len(best))
    return sum(scores) / len(scores)


@pytest.mark.parametrize("kind", KINDS)
def test_prompts_and_accuracy_equal_those_of_the_pipeline(kind, tmp_path):
    ask = written(kind, tmp_path)

    def weighs(text):
        return {
            sign: (1 + zlib.crc32(f"{text}{sign}".encode()) % 97) / 1000
            for sign in SIGNS
        }

    model = FakeModel(weighs)
    ours = accuracy(ask(model))
    harness_task = runpy.run_path(str(tmp_path / "harness/lextables_tasks.py"))
    docs = list(harness_task["load"](version=1)["test"])
    filled = {(doc["system"], doc["prompt"]) for doc in docs}
    assert filled == {(system.content, user.content) for system, user in model.weighed}
    items = []
    for doc in docs:
        shares = weighs(f"{doc['system']}\n\n{doc['prompt']}")
        items.append(
            harness_task["shares"](
                doc, [(math.log(shares[choice]), False) for choice in doc["choices"]]
            )
        )
    assert harness_task["accuracy"](
        [item["accuracy"] for item in items]
    ) == pytest.approx(ours, abs=1e-12)
    assert 0 < ours < 1


SIGNS = [*"ABCD", "Yes", "No", *(f" {sign}" for sign in (*"ABCD", "Yes", "No"))]


class Tiny(LocalLanguageModel):
    def expect(self, requests, characters):
        pass


def test_a_tiny_model_has_the_same_accuracy_in_lm_evaluation_harness(tmp_path):
    """One run of the harness has all kinds of tasks, because its start takes
    longest.
    """
    python = harness("lm_eval")
    model = Tiny("tiny", CausalModel(MODEL, torch.device("cpu")))
    ours = {}
    for kind in KINDS:
        name = f"lextables_{kind.__name__}"
        ours[name] = accuracy(written(kind, tmp_path / kind.__name__)(model))
    words = (
        f"-m lm_eval --model hf --model_args pretrained={MODEL},dtype=float32 "
        f"--device cpu --tasks {','.join(ours)} --include_path {tmp_path} "
        f"--apply_chat_template --output_path {tmp_path / 'results'}"
    )
    run = subprocess.run(
        [python, *words.split(" ")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")},
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    (file,) = (tmp_path / "results").rglob("results_*.json")
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    theirs = {name: values["accuracy,none"] for name, values in results.items()}
    assert theirs == pytest.approx(ours, abs=1e-9)


def test_a_task_without_a_prompt_or_with_views_is_not_exported(tmp_path):
    tables, task, _ = classification(tmp_path)
    census = data_set(tmp_path, "quill", tables)
    for changed in (task | {"prompt": None}, task | {"views": {"short": {}}}):
        (exported,) = export([census], tasks={"quill": changed}).sets
        assert questions.write(exported, tmp_path / "out") == []
    assert not (tmp_path / "out").exists()
