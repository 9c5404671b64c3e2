"""The language model of the sample: that it is what its script makes, and that it weighs and writes."""

import runpy
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from lextables.models import loading
from lextables.models.causal_model import CausalModel
from lextables.models.language_model import Choice, Message, Request
from lextables.models.local_language_model import LocalLanguageModel
from lextables.models.resolve import load_models

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "resources/sample/models/sample-language-model"


def test_it_is_what_its_script_makes():
    made = runpy.run_path(str(ROOT / "resources/sample/make_language_model.py"))["build"]()
    kept = {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in FOLDER.rglob("*.*")}
    assert made.keys() == kept.keys()
    assert not [name for name in made if made[name] != kept[name]]
    assert sum(map(len, made.values())) < 200_000


def test_it_loads_whole_and_is_as_large_as_the_registry_says():
    loaded, report = AutoModelForCausalLM.from_pretrained(FOLDER, output_loading_info=True)
    assert not loading.fresh(report)
    entry = load_models(ROOT / "resources/models.yaml")["sample-language-model"]
    assert sum(part.numel() for part in loaded.parameters()) == entry.parameters
    assert loading.positions(loaded.config) == entry.max_length


def test_it_reads_turns_and_tells_answers_apart():
    model = LocalLanguageModel("sample", CausalModel(FOLDER, torch.device("cpu")))
    prompt = (Message("system", "Read."), Message("user", "Is the Agreement in force? A, B or C?"))
    (weighed,) = model.weigh([Choice(prompt, ("A", "B", "C"))])
    assert len(set(weighed.log_probabilities)) == 3
    assert max(weighed.log_probabilities) < 0
    (written,) = model.write([Request(prompt, 5)])
    assert written.text and written.cut
