"""Evaluates a causal language model by transformers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache
from transformers.cache_utils import DynamicLayer

from lextables.models import loading
from lextables.models.files import gguf_file
from lextables.models.language_model import Prompt
from lextables.models.tokenizer import load_tokenizer
from lextables.pipeline.errors import loading_weights

# Tokens evaluated at once: their attention to a long prompt is what takes memory.
AT_ONCE = 512


class CausalModel:
    """The engine of weights that transformers reads: a folder, or a GGUF file, whose numbers become float32.

    On a GPU the numbers are of the weights' own type; probabilities are taken in float32.
    """

    @loading_weights()
    def __init__(self, place: str | Path, device: torch.device) -> None:
        file = gguf_file(place)
        named: dict[str, Any] = {"trust_remote_code": False} | ({"gguf_file": file.name} if file else {})
        folder = file.parent if file else Path(place)
        whole = device.type == "cpu" or file is not None
        with loading.quiet():
            self._tokenizer = (
                AutoTokenizer.from_pretrained(folder, **named) if file else load_tokenizer(folder)
            )
            self._model = AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.float32 if whole else "auto", **named
            )
        self._model.to(device).eval()
        self._device = device
        self.window = loading.positions(self._model.config)
        self.ends = _ends(self._model, self._tokenizer)
        beginning = self._tokenizer("a").input_ids
        self._begin = beginning[:1] if beginning[:1] == [self._tokenizer.bos_token_id] else []
        self._cache = self._empty()

    def template(self, prompt: Prompt) -> str | None:
        """As `Engine` says; a last turn of the assistant's is gone on with."""
        if not self._tokenizer.chat_template:
            return None
        begun = prompt[-1].role == "assistant"
        return self._tokenizer.apply_chat_template(
            [message._asdict() for message in prompt],
            tokenize=False,
            add_generation_prompt=not begun,
            continue_final_message=begun,
        )

    def ids(self, text: str, begins: bool) -> list[int]:
        """As `Engine` says."""
        # A text that is longer than the window is counted, without a note of the library's.
        ids = self._tokenizer(text, add_special_tokens=False, verbose=False).input_ids
        return [*self._begin, *ids] if begins else ids

    def text(self, ids: Sequence[int]) -> str:
        """As `Engine` says."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=True)

    @torch.inference_mode()
    def after(self, ids: Sequence[int], held: int) -> np.ndarray:
        """As `Engine` says."""
        held = self._keep(held)
        for start in range(held, len(ids), AT_ONCE):
            part = torch.tensor([list(ids[start : start + AT_ONCE])], device=self._device)
            logits = self._model(
                input_ids=part, past_key_values=self._cache, use_cache=True, logits_to_keep=1
            ).logits
        return torch.log_softmax(logits[0, -1].float(), dim=-1).cpu().numpy()

    def _keep(self, held: int) -> int:
        """Keep the first ``held`` tokens and return their number; layers of a sliding window keep none."""
        if held and all(type(layer) is DynamicLayer for layer in self._cache.layers):
            self._cache.crop(held - self._cache.get_seq_length())
            return held
        self._cache = self._empty()
        return 0

    def _empty(self) -> DynamicCache:
        return DynamicCache(config=self._model.config)


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end an answer, as the model's settings of generation and its tokenizer have them."""
    told = model.generation_config.eos_token_id
    ends = [*told] if isinstance(told, list) else [told]
    return frozenset(end for end in (*ends, tokenizer.eos_token_id) if end is not None)
