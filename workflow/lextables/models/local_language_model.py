"""Language models with weights on this machine.

The beginning that consecutive prompts share is evaluated once: the keys and values of
the last prompt are kept.  Models for which that would give other values than one
evaluation of the whole prompt evaluate each prompt as a whole (`evaluates_parts`).
Only the log-probabilities after the last token are kept, so memory is little more than
the keys and values.
"""

import inspect
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jinja2 import TemplateError
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DynamicCache,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from lextables.models import loading
from lextables.models.files import gguf_file
from lextables.models.language_model import (
    Choice,
    Message,
    Prompt,
    Request,
    Weighed,
    Written,
    plain,
    without_system,
)
from lextables.models.positions import positions
from lextables.models.reasoning import answer_of, closed
from lextables.models.tokenizers import load_tokenizer
from lextables.pipeline.errors import BadInput, first_line, loading_weights
from lextables.pipeline.finite import finite
from lextables.pipeline.run import note_once

# Characters before a continuation that determine its tokens: more than a word.
SEAM = 64
NO_TEMPLATE = "the model has no chat template: prompts are plain text"
NO_SYSTEM = "the chat template has no system role: its text is in the user's turn"
NO_REASONING = (
    "the chat template opens the model's reasoning, which is ended without a text"
)
# The date in every prompt of a template that states today's: Llama 3.1's own default.
DATE = date(2024, 7, 26)
FIXED_DATE = f"the chat template states a date: it is {DATE} in all prompts"
_TODAY = "strftime_now"  # the function of templates that formats today's date
# What chat templates, which are programs, raise.
_REFUSALS = (TemplateError, TypeError, ValueError, LookupError)
# Tokens evaluated at once.  Attention of these to a long prompt needs the most memory.
AT_ONCE = 512
# Kinds of rotary positions whose frequencies depend on the length of the whole text.
LONGROPE = "longrope"
DYNAMIC = "dynamic"


class LocalLanguageModel:
    """A language model on this machine.

    With ``endpoint`` `chat` a prompt is written in the model's own template.  Without a
    template, or with `completions`, it is the text of the messages, separated by blank
    lines.
    """

    def __init__(
        self, name: str, engine: "CausalModel", endpoint: str = "chat"
    ) -> None:
        self.name = name
        self.window = engine.window
        self._engine = engine
        self._chat = endpoint == "chat"
        # The tokens of the last evaluation, whose keys and values the engine has.
        self._last: Sequence[int] = ()

    def tokens(self, prompt: Prompt) -> int:
        """Return the number of tokens of a prompt."""
        return len(self._ids(prompt))

    def weigh(self, choices: Sequence[Choice]) -> list[Weighed]:
        """Return the log-probabilities of each choice's continuations.

        Each is the sum over the continuation's tokens, in float32; the continuation
        need not end there. Raises `BadInput` before any evaluation if a prompt and its
        answer exceed the window.
        """
        return [evaluate() for evaluate in self.weighing(choices)]

    def write(self, requests: Sequence[Request]) -> list[Written]:
        """Return the generated text for each request; `BadInput` as in `weigh`."""
        return [evaluate() for evaluate in self.writing(requests)]

    def weighing(self, choices: Sequence[Choice]) -> Iterator[Callable[[], Weighed]]:
        """Yield functions that return the answers of `weigh` one by one."""
        evaluations = []
        for choice in choices:
            prompt = self._ids(choice.prompt)
            continuations = []
            for text in choice.continuations:
                ids = self._continuation_ids(choice.prompt, text)
                continuations.append(ids)
            longest = max(map(len, continuations), default=1)
            self._check_length(len(prompt) + longest)
            evaluations.append(partial(self._weighed, prompt, continuations))
        yield from evaluations

    def writing(self, requests: Sequence[Request]) -> Iterator[Callable[[], Written]]:
        """Yield functions that return the answers of `write` one by one."""
        evaluations = []
        for request in requests:
            prompt = self._ids(request.prompt)
            self._check_length(len(prompt) + request.max_tokens)
            evaluations.append(partial(self._written, prompt, request))
        yield from evaluations

    def _text(self, prompt: Prompt) -> tuple[str, bool]:
        """Return a prompt as text, and whether the model's initial token must be added.

        A chat template writes that token itself.
        """
        text = self._engine.template(prompt) if self._chat else None
        if text is None:
            return plain(prompt), True
        return text, False

    def _ids(self, prompt: Prompt) -> array:
        """Return the tokens of a prompt."""
        text, begins = self._text(prompt)
        return array("i", self._engine.ids(text, begins))

    def _continuation_ids(self, prompt: Prompt, continuation: str) -> list[int]:
        """Return the tokens of a continuation that follow unchanged tokens of the
        prompt.
        """
        text, _ = self._text(prompt)
        for before in (text[-SEAM:], "\n", ""):
            start = self._engine.ids(before, False)
            full = self._engine.ids(before + continuation, False)
            added = full[len(start) :]
            if added and full[: len(start)] == start:
                return added
        what = f"{continuation!r} has no token"
        do = "use a non-empty continuation"
        raise BadInput(what, where=self.name, do=do)

    def _check_length(self, tokens: int) -> None:
        """Raise `BadInput` if a prompt and its answer exceed the window."""
        if self.window is not None and tokens > self.window:
            reads = f"and the model reads {self.window:,}"
            raise BadInput(
                f"a prompt and its answer have {tokens:,} tokens, {reads}",
                where=self.name,
                do="use a model with a larger window, or shorter texts",
            )

    def _after(self, ids: Sequence[int]) -> np.ndarray:
        """Return the log-probabilities of the token after ``ids``, (vocabulary,)."""
        shared = 0
        for token, last in zip(ids, self._last, strict=False):
            if token != last:
                break
            shared += 1
        # If the evaluation fails, the engine's state is unknown.
        self._last = ()
        log_probabilities = self._engine.after(ids, min(shared, len(ids) - 1))
        self._last = ids
        return log_probabilities

    def _weighed(
        self, prompt: Sequence[int], continuations: Sequence[Sequence[int]]
    ) -> Weighed:
        """Return the sums of the log-probabilities of each continuation's tokens."""
        sums = np.zeros(len(continuations), dtype=np.float32)
        # {beginning: the continuation and the token that follow it}
        following: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
        for place, ids in enumerate(continuations):
            for end, token in enumerate(ids):
                following[tuple(ids[:end])].append((place, token))
        # Sorted, each beginning shares as much as possible with the previous one.
        for before, tokens in sorted(following.items()):
            log_probabilities = self._after([*prompt, *before])
            for place, token in tokens:
                sums[place] += log_probabilities[token]
        return Weighed(tuple(sums.tolist()))

    def _written(self, prompt: Sequence[int], request: Request) -> Written:
        """Return the text that follows a prompt, up to the token that ends an
        answer.
        """
        generator = np.random.default_rng(request.seed)
        answer: list[int] = []
        while len(answer) < request.max_tokens:
            log_probabilities = self._after([*prompt, *answer])
            token = _sample(log_probabilities, request.temperature, generator)
            if token in self._engine.ends:
                return Written(self._engine.text(answer))
            answer.append(token)
        return Written(self._engine.text(answer), cut=True)


def _of_one_date(template: str) -> str:
    """Return a chat template in which today is `DATE`: its own macro replaces the
    library's function.
    """
    if _TODAY not in template:
        return template
    steps = []
    for code in "%Y %y %B %b %m %-m %d %-d %e %A %a %j %H %M %S".split():
        steps.append(f" | replace('{code}', '{DATE.strftime(code)}')")
    macro = f"{{% macro {_TODAY}(format) %}}{{{{ format{''.join(steps)} }}}}"
    return f"{macro}{{% endmacro +%}}{template}"


def _sample(
    log_probabilities: np.ndarray, temperature: float, generator: np.random.Generator
) -> int:
    """Return a token drawn at a temperature; at 0 the most likely one."""
    if temperature == 0:
        return int(log_probabilities.argmax())
    scaled = log_probabilities.astype(np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    shares = weights / weights.sum()
    return int(generator.choice(len(shares), p=shares))


def evaluates_parts(model: PreTrainedModel) -> bool:
    """Whether a text that a model evaluates in parts has the same values as in one
    evaluation.

    It has not if the model keeps another state than the keys and values of tokens
    (Mamba, Jamba), if it takes no cache of them, or if its positions depend on the
    length of the whole text (Phi-3).
    """
    if "past_key_values" not in inspect.signature(model.forward).parameters:
        return False
    # A cache without tokens: some layers say only later that they can be cropped.
    if not DynamicCache(config=model.config).is_croppable:
        return False
    return not _rope_types(model.config) & {LONGROPE, DYNAMIC}


def _rope_types(config: PretrainedConfig) -> set[str]:
    """Return the kinds of rotary positions of a model; layers may have different
    ones.
    """
    decoder = config.get_text_config(decoder=True)
    shared = getattr(decoder, "rope_parameters", None) or {}
    of_layers = [value for value in shared.values() if isinstance(value, Mapping)]
    return {str(parameters.get("rope_type")) for parameters in (shared, *of_layers)}


class CausalModel:
    """Evaluates tokens with transformers: a model folder, or a GGUF file, which is
    converted to float32.

    ``window`` is the context length in tokens, None for no limit; ``ends`` are the
    tokens that end an answer.  ``adapted`` are notes on how prompts of the endpoint
    `chat` are adapted to the model's chat template.  A GPU computes in the type of the
    weights; log-probabilities are always float32.
    """

    @loading_weights()
    def __init__(
        self, place: str | Path, device: torch.device, endpoint: str = "chat"
    ) -> None:
        """Load a model from a folder or a GGUF file; `BadInput` if that fails."""
        file = gguf_file(place)
        folder = Path(place)
        options = {}
        dtype = torch.float32 if device.type == "cpu" else "auto"
        with loading.quiet():
            if file:
                folder = file.parent
                dtype = torch.float32
                options["gguf_file"] = file.name
                self._tokenizer: PreTrainedTokenizerBase = (
                    AutoTokenizer.from_pretrained(
                        folder, trust_remote_code=False, **options
                    )
                )
            else:
                self._tokenizer = load_tokenizer(folder)
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=dtype,
                device_map=device,
                output_loading_info=True,
                trust_remote_code=False,
                **options,
            )
        self._model, report = loaded
        loading.check_complete(place, loading.fresh(report))
        loading.check_finite(place, self._model)
        self._model.eval()
        self._device = device
        self.window = positions(self._model.config)
        self.adapted = self._adaptations() if endpoint == "chat" else []
        for note in self.adapted:
            note_once(note)
        ends = self._model.generation_config.eos_token_id
        if not isinstance(ends, list):
            ends = [ends]
        self.ends = frozenset([*ends, self._tokenizer.eos_token_id]) - {None}
        # The model's initial token, if its tokenizer begins texts with it.
        first = self._tokenizer("a").input_ids[:1]
        self._begin = first if first == [self._tokenizer.bos_token_id] else []
        self.evaluates_parts = evaluates_parts(self._model)
        self._has_dynamic_positions = DYNAMIC in _rope_types(self._model.config)
        self._cache = DynamicCache()

    def template(self, prompt: Prompt) -> str | None:
        """Return a prompt in the model's own chat template; None if it has none.

        A final message of the assistant is the beginning of the answer.  A template
        without the system's role gets its text in the user's turn, and one that opens
        the model's reasoning has it ended.  Raises `BadInput` if the template refuses
        the prompt.
        """
        if not self._tokenizer.chat_template:
            return None
        if NO_SYSTEM in self.adapted:
            prompt = without_system(prompt)
        try:
            return closed(self._rendered(prompt))
        except _REFUSALS as error:
            what = f"the chat template refuses the prompt ({first_line(error)})"
            do = "use endpoint completions, or correct the template"
            raise BadInput(what, where=self._tokenizer.name_or_path, do=do) from error

    def _rendered(self, prompt: Prompt) -> str:
        """Return a prompt in the chat template; errors as the template raises them."""
        begun = prompt[-1].role == "assistant"
        text = self._tokenizer.apply_chat_template(
            [message._asdict() for message in prompt],
            chat_template=_of_one_date(self._tokenizer.get_chat_template()),
            tokenize=False,
            add_generation_prompt=not begun,
            continue_final_message=begun,
        )
        return str(text)

    def _adaptations(self) -> list[str]:
        """Return how prompts must be adapted to the chat template, as notes.

        A short prompt with a system's text is written in the template, to see whether
        that text is in it, and whether the template opens the model's reasoning.
        Today's date would change the answers from day to day.
        """
        if not self._tokenizer.chat_template:
            return [NO_TEMPLATE]
        adapted = []
        if _TODAY in str(self._tokenizer.chat_template):
            adapted.append(FIXED_DATE)
        user = Message("user", "Why?")
        prompt: Prompt = (Message("system", "Read the clause."), user)
        try:
            with_system = "Read the clause." in self._rendered(prompt)
        except _REFUSALS:
            with_system = False
        if not with_system:
            adapted.append(NO_SYSTEM)
            prompt = (user,)
        with suppress(*_REFUSALS):
            text = self._rendered(prompt)
            if closed(text) != text:
                adapted.append(NO_REASONING)
        return adapted

    def ids(self, text: str, begins: bool) -> list[int]:
        """Return the tokens of a text, after the model's initial token if the text
        ``begins`` a prompt.
        """
        # verbose=False: texts longer than the window are counted too, without a
        # warning.
        ids = self._tokenizer(text, add_special_tokens=False, verbose=False).input_ids
        return [*self._begin, *ids] if begins else ids

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, without special ones and without reasoning, whose
        marks may be special.
        """
        text = self._decoded(ids, skip_special_tokens=False)
        answer = answer_of(text)
        if answer == text:
            return self._decoded(ids, skip_special_tokens=True)
        for special in self._tokenizer.all_special_tokens:
            answer = answer.replace(special, "")
        return answer

    def _decoded(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        options = {"skip_special_tokens": skip_special_tokens}
        return str(self._tokenizer.decode(list(ids), **options))

    @torch.inference_mode()
    def after(self, ids: Sequence[int], shared: int) -> np.ndarray:
        """Return float32 (vocabulary): log-probabilities of the token after ``ids``,
        which are not empty.

        The first ``shared`` of them, fewer than all, are the same as in the last call.
        """
        if self.evaluates_parts:
            logits = self._logits_in_parts(ids, shared)
        else:
            logits = self._logits_of_whole(ids)
        log_probabilities = torch.log_softmax(logits[0, -1].float(), dim=-1)
        # A token may have the probability 0, and its logarithm is minus infinity.
        probabilities = log_probabilities.exp().cpu().numpy()
        finite(probabilities, "the probabilities of the next token", where="prediction")
        return log_probabilities.cpu().numpy()

    def _logits_in_parts(self, ids: Sequence[int], shared: int) -> torch.Tensor:
        """Return the logits of `after`; the cache has the last call's tokens."""
        # Layers with a sliding window cannot always be cropped, but any cache can be
        # extended: so each token of an answer costs one evaluation of this token.
        croppable = self._cache.is_croppable and not any(self._cache.is_sliding)
        too_many = self._cache.get_seq_length() - shared
        if shared and not too_many:
            pass
        elif shared and croppable:
            self._cache.crop(-too_many)
        else:
            self._cache = DynamicCache(config=self._model.config)
            shared = 0
        for start in range(shared, len(ids), AT_ONCE):
            part = list(ids[start : start + AT_ONCE])
            batch = torch.tensor([part], device=self._device)
            logits = self._model(
                input_ids=batch,
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            ).logits
        return logits

    def _logits_of_whole(self, ids: Sequence[int]) -> torch.Tensor:
        """Return the logits of `after` by one evaluation without a cache."""
        if self._has_dynamic_positions:
            # The frequencies of the last long text are kept until a short one.
            self._evaluated(ids[:1])
        return self._evaluated(ids)

    def _evaluated(self, ids: Sequence[int]) -> torch.Tensor:
        """Return the logits of one evaluation."""
        batch = torch.tensor([list(ids)], device=self._device)
        output = self._model(input_ids=batch, use_cache=False, logits_to_keep=1)
        return output.logits
