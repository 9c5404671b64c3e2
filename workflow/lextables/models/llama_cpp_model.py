"""Evaluates a GGUF file by llama.cpp, where llama-cpp-python is installed (an optional dependency)."""

import atexit
import ctypes
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lextables.models.language_model import Prompt
from lextables.pipeline.errors import loading_weights

# Tokens evaluated at once.
AT_ONCE = 512
_LENGTH = "{}.context_length"
_TEMPLATE = "tokenizer.chat_template"


def installed() -> bool:
    """Whether llama-cpp-python can be imported here."""
    return importlib.util.find_spec("llama_cpp") is not None


class LlamaCppModel:
    """The engine of a GGUF file, in the file's own quantised numbers.

    llama.cpp multiplies these otherwise for one token than for many at once: of a model in four bits a
    log-probability differs by up to 0.5 with how much of the text before was held.  What was asked before so
    matters a little, and what is kept is what was found first.

    It holds ``window`` tokens, or where None is given as many as the file says that the model was trained on.
    """

    @loading_weights()
    def __init__(self, file: str | Path, window: int | None, gpu: bool) -> None:
        import llama_cpp

        self._api = llama_cpp
        self._model = llama_cpp.Llama(
            str(file), n_ctx=window or 0, n_batch=AT_ONCE, n_gpu_layers=-1 if gpu else 0, verbose=False
        )
        # Left to the interpreter's end it finds its library gone.
        atexit.register(self._model.close)
        about = self._model.metadata
        trained = int(about.get(_LENGTH.format(about.get("general.architecture")), 0))
        self.window = min(filter(None, (window, trained, self._model.n_ctx())))
        # A model may end its turn by another token than its text; llama.cpp knows all of them.
        vocabulary = self._model._model.vocab
        self.ends = frozenset(
            token for token in range(self._model.n_vocab()) if llama_cpp.llama_vocab_is_eog(vocabulary, token)
        )
        self._begin = [self._model.token_bos()] if llama_cpp.llama_vocab_get_add_bos(vocabulary) else []
        self._template = about.get(_TEMPLATE)

    def template(self, prompt: Prompt) -> str | None:
        """As `Engine` says; a last turn of the assistant's is gone on with."""
        if not self._template:
            return None
        from transformers.utils.chat_template_utils import render_jinja_template

        begun = prompt[-1].role == "assistant"
        ((written,), _) = render_jinja_template(
            [[message._asdict() for message in prompt]],
            chat_template=self._template,
            add_generation_prompt=not begun,
            continue_final_message=begun,
            bos_token=self._spelled(self._model.token_bos()),
            eos_token=self._spelled(self._model.token_eos()),
        )
        return written

    def _spelled(self, token: int) -> str:
        return self._model._model.token_get_text(token) if token >= 0 else ""

    def ids(self, text: str, begins: bool) -> list[int]:
        """As `Engine` says."""
        ids = self._model.tokenize(text.encode("utf-8"), add_bos=False, special=True)
        return [*self._begin, *ids] if begins else ids

    def text(self, ids: Sequence[int]) -> str:
        """As `Engine` says."""
        return self._model.detokenize(list(ids)).decode("utf-8", errors="replace")

    def after(self, ids: Sequence[int], held: int) -> np.ndarray:
        """As `Engine` says."""
        self._model.n_tokens = min(held, self._model.n_tokens)
        self._model.eval(list(ids[self._model.n_tokens :]))
        row = ctypes.cast(self._model._ctx.get_logits_ith(-1), ctypes.POINTER(ctypes.c_float))
        logits = np.ctypeslib.as_array(row, shape=(self._model.n_vocab(),)).astype(np.float32)
        shifted = logits - logits.max()
        return shifted - np.log(np.exp(shifted).sum(dtype=np.float64)).astype(np.float32)
