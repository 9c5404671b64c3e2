"""Models as they are saved: whole or not at all, and read again as they were."""

import pytest
import torch
from transformers import BertForQuestionAnswering
from transformers.utils import logging

import marked_contracts
from lextables.models import loading
from lextables.models.loading import quiet, save
from marked_contracts import equal, weights


def test_saving_replaces_a_folder_whole_or_not_at_all(tmp_path):
    tokenizer = marked_contracts.tokenizer()
    model = BertForQuestionAnswering(marked_contracts.config(tokenizer))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "old").touch()
    save(model, tokenizer, folder)
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert "old" not in names
    assert equal(
        weights(loading.load_span_model(str(folder), torch.device("cpu"), trained=True)), weights(model)
    )
    content = (folder / "model.safetensors").read_bytes()

    class Broken:
        def save_pretrained(self, path):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save(model, Broken(), folder)
    assert (folder / "model.safetensors").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_transformers_speaks_again_after_a_quiet_block_that_fails():
    def state():
        return logging.get_verbosity(), logging.is_progress_bar_enabled()

    def fails():
        with quiet():
            during.append(state())
            raise KeyError

    before, during = state(), []
    with pytest.raises(KeyError):
        fails()
    assert during == [(logging.ERROR, False)]
    assert state() == before
