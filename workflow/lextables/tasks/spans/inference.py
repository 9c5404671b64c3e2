"""Prediction of spans with the n-best rule of the released CUAD code (utils.py,
compute_predictions_logits).

The model may be any question-answering model of transformers.

CUAD's and MAUD's utils.py (get_final_text, also in transformers 4) join the tokens of a
span to a text, search it in the span's words as BERT's basic tokenizer writes them, and
return the original characters.  If the text is not found, they return the whole words.
With RoBERTa's tokenizer this happens wherever punctuation touches a word, since the
basic tokenizer separates the two.  Spans that differ only within a word then have the
same text, and the release keeps each text once.
"""

import copy
import itertools
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lextables.models import loading
from lextables.models.device import tf32
from lextables.models.in_parts import in_parts_that_fit
from lextables.models.tokenizers import load_tokenizer
from lextables.pipeline.dataset import Row, write
from lextables.pipeline.files import write_result
from lextables.pipeline.finite import finite
from lextables.tasks.spans import window_ranking
from lextables.tasks.spans.schema import NBEST, NOTHING_ELSE, PredictedSpan, span_rows
from lextables.tasks.spans.settings import NbestSettings
from lextables.tasks.spans.squad import collapsed, contract_texts, stripped
from lextables.tasks.spans.tokens import Tokens, Words, backend, codes_of
from lextables.tasks.spans.windows import (
    Collator,
    WindowDataset,
    WindowFiles,
    max_context,
    question_texts,
)

READ_AT_ONCE = 32  # windows
RECORD = "reading.json"
RANKER = "window_ranking.npz"
# Blocks of Chinese characters, each of which is a word to the basic tokenizer.
_CHINESE = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f])"
)
_ASCII_MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
# Prefix of a token that continues a word.
_CONTINUES = "##"


# The text of a span.


def basic_words(word: str, lower: bool) -> list[str]:
    """Return the words of BERT's basic tokenizer for a word without separators.

    As transformers 4.57, it removes control characters, splits at other white space and
    around Chinese characters and punctuation, and composes accents; with ``lower`` it
    lower-cases and removes accents.
    """
    if word.isascii() and word.isalnum():
        return [word.lower() if lower else word]
    cleaned_word = "".join(filter(_is_kept, word))
    spaced = _CHINESE.sub(r" \1 ", cleaned_word)
    words = []
    for part in unicodedata.normalize("NFC", spaced).split():
        if lower:
            letters = unicodedata.normalize("NFD", part.lower())
            part = "".join(filter(_is_no_accent, letters))
        characters = []
        for character in part:
            if _is_mark(character):
                character = f" {character} "
            characters.append(character)
        words += "".join(characters).split()
    return words


def _is_kept(character: str) -> bool:
    return character != "\ufffd" and not unicodedata.category(character).startswith("C")


def _is_no_accent(character: str) -> bool:
    return unicodedata.category(character) != "Mn"


def _is_mark(character: str) -> bool:
    return character in _ASCII_MARKS or unicodedata.category(character).startswith("P")


def _byte_alphabet() -> dict[str, bytes]:
    """Return {character: byte} of byte-level vocabularies (GPT-2).

    Bytes that Latin-1 shows stand for themselves; the others, in order, are the
    characters from U+0100.
    """
    shown: set[int] = set()
    for first, last in ("!~", "¡¬", "®ÿ"):
        shown.update(range(ord(first), ord(last) + 1))
    alphabet: dict[str, bytes] = {}
    hidden = 0
    for byte in range(256):
        character = chr(byte)
        if byte not in shown:
            character = chr(256 + hidden)
            hidden += 1
        alphabet[character] = bytes([byte])
    return alphabet


class Spelling:
    """How the tokens of a tokenizer are written as text.

    WordPiece separates tokens by blanks unless they continue a word; byte-level
    vocabularies encode bytes as characters; SentencePiece writes a blank as U+2581.
    ``lower``: the tokenizer lower-cases its text (the released scripts then need
    ``--do_lower_case``).
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        fast = backend(tokenizer)
        state = json.loads(fast.to_str())
        self.wordpiece = state["model"].get("type") == "WordPiece"
        steps = json.dumps([state["pre_tokenizer"], state["decoder"]])
        self._bytes = {}
        if '"ByteLevel"' in steps:
            self._bytes = _byte_alphabet()
        normalised = "A"
        if fast.normalizer is not None:
            normalised = fast.normalizer.normalize_str("A")
        self.lower = normalised == "a"

    def pieces(self, ids: np.ndarray) -> tuple[list[bytes], np.ndarray]:
        """Return the UTF-8 of each token, and whether it continues a word (bool)."""
        distinct, which = np.unique(ids, return_inverse=True)
        names = self._tokenizer.convert_ids_to_tokens(distinct.tolist())
        pieces = list(map(self._piece, names))
        continues = np.zeros(len(names), dtype=bool)
        if self.wordpiece:
            continues[:] = [name.startswith(_CONTINUES) for name in names]
        return [pieces[at] for at in which.tolist()], continues[which]

    def _piece(self, name: str) -> bytes:
        """Return the UTF-8 of a token with this name."""
        if self.wordpiece:
            text = f" {name}"
            if name.startswith(_CONTINUES):
                text = name.removeprefix(_CONTINUES)
            return text.encode()
        if self._bytes:
            return b"".join(self._bytes.get(each, each.encode()) for each in name)
        return name.replace("\u2581", " ").encode()


class FinalText:
    """The released texts of the spans of one contract.

    The contract is written a second time, as the basic tokenizer does: its *basic
    text*.  The text of a span's tokens is searched there, and the place is mapped to
    the contract by counting the characters of words, without blanks, in both texts.
    """

    def __init__(self, spelling: Spelling, text: str, tokens: Tokens) -> None:
        self.text = text
        self.tokens = tokens
        self._words = words = Words.of(text, tokens)
        # The tokens as text, one after another, and where each of them begins.
        pieces, self._continues = spelling.pieces(tokens.ids)
        self._spelt = b"".join(pieces)
        self._piece_from = [0, *accumulate(map(len, pieces))]
        # The word of each token.
        numbers = np.arange(len(tokens))
        word_after = np.searchsorted(words.token_from, numbers, side="right")
        self._word = word_after - 1

        # The basic text.  A word of which nothing is left is dropped with its blank.
        written = self._written(spelling.lower)
        self._basic = " ".join(filter(None, written))
        # Where each word begins and ends in it.
        sizes = np.array(list(map(len, written)), dtype=np.int64)
        spaced = sizes + (sizes > 0)
        after = np.cumsum(spaced)
        self._basic_from = after - spaced
        # A dropped word ends with the last word before it that is not dropped.
        self._basic_to = after - 1
        # The number of characters, without blanks, before each character of the basic
        # text, before each word of the contract, and before each of the basic text.
        is_solid = codes_of(self._basic) != ord(" ")
        self._solid = _sums_before(is_solid)
        lengths = words.ends - words.starts
        self._length_from = _sums_before(lengths)
        basic_lengths = [len(word) - word.count(" ") for word in written]
        self._basic_length_from = _sums_before(basic_lengths)
        # The position in the contract of each character of its words.
        shifts = words.starts - self._length_from[:-1]
        shift = np.repeat(shifts, lengths)
        self._character = np.arange(len(shift)) + shift

    def _written(self, lower: bool) -> list[str]:
        """Return each word as the basic tokenizer writes it."""
        cache: dict[str, str] = {}
        written = []
        places = zip(
            self._words.starts.tolist(), self._words.ends.tolist(), strict=True
        )
        for start, end in places:
            word = self.text[start:end]
            if word not in cache:
                cache[word] = " ".join(basic_words(word, lower))
            written.append(cache[word])
        return written

    def place(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters [start, end) of the released text, before `collapsed`.

        ``first`` and ``last`` are the first and the last token of the span.
        """
        word = self._word[first]
        last_word = self._word[last]
        whole = int(self._words.starts[word]), int(self._words.ends[last_word])
        # A span that cannot be found, or not be mapped, becomes its whole words.  One
        # that begins within a word begins with ## in the release, and is never found.
        spelt = self._spelt[self._piece_from[first] : self._piece_from[last + 1]]
        text = spelt.decode(errors="replace")
        span_text = " ".join(text.split())
        if not span_text or self._continues[first]:
            return whole
        low = int(self._basic_from[word])
        high = int(self._basic_to[last_word])
        at = self._basic.find(span_text, low, max(low, high))
        if at < 0:
            return whole
        words = [word, last_word + 1]
        length_before, length_to = self._length_from[words]
        basic_before, basic_to = self._basic_length_from[words]
        # Characters can be counted only if the basic tokenizer kept the number of them.
        if length_to - length_before != basic_to - basic_before:
            return whole
        before = length_before - self._solid[low]
        last_at = at + len(span_text) - 1
        start = self._character[before + self._solid[at]]
        end = self._character[before + self._solid[last_at]]
        return int(start), int(end) + 1

    def marked(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters [start, end) from the first to the last token.

        White space around them is left out.  If the tokens have no characters, the
        result is that of `place`.
        """
        start = int(self.tokens.starts[first])
        end = int(self.tokens.ends[last])
        start, end = stripped(self.text, start, end)
        if start >= end:
            return self.place(first, last)
        return start, end


def _sums_before(values: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the sum of the values before each one, and of all, int64 (values + 1,)."""
    sums = np.cumsum(values, dtype=np.int64)
    return np.append(0, sums)


# The n-best rule.


@dataclass(frozen=True)
class Best:
    """The best positions in the sequence of each window, and the logits of no answer.

    ``start_at``, ``end_at`` (int64) and ``start_logits``, ``end_logits`` (float64) are
    (windows, n_best), best first; ``null_starts`` and ``null_ends`` (float64) are the
    classification token's logits, (windows,).
    """

    start_at: np.ndarray
    start_logits: np.ndarray
    end_at: np.ndarray
    end_logits: np.ndarray
    null_starts: np.ndarray
    null_ends: np.ndarray

    def of(self, windows: slice) -> "Best":
        """Return the positions of some of the windows."""
        columns = [column[windows] for column in vars(self).values()]
        return Best(*columns)


def top(
    logits: torch.Tensor, mask: torch.Tensor, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions and values of the ``count`` greatest logits of each row.

    Both are (rows, count).  Ties go to lower positions.  Padding (0 in ``mask``) is
    excluded, while the released code, which pads to full length, may include it; rows
    with fewer positions are filled with minus infinity at position 0.
    """
    # The order of ties is undefined in topk, but not in a stable sort.
    masked = logits.float().masked_fill(mask == 0, -torch.inf)
    ranked = torch.sort(masked, dim=1, descending=True, stable=True)
    values = ranked.values[:, :count].cpu().numpy().astype(np.float64)
    positions = ranked.indices[:, :count].cpu().numpy()
    # A batch may have fewer positions than ``count``.
    missing = ((0, 0), (0, count - values.shape[1]))
    values = np.pad(values, missing, constant_values=-np.inf)
    positions = np.pad(positions, missing)
    return np.where(np.isfinite(values), positions, 0), values


def nbest(
    best: Best,
    token_from: np.ndarray,
    token_to: np.ndarray,
    contract_from: np.ndarray,
    contract: FinalText,
    n_best: int,
    max_answer_length: int,
) -> list[PredictedSpan]:
    """Return the spans of one question, best first, by the released n-best rule.

    Windows are in order; each has the contract's tokens [token_from, token_to), the
    first of them at position ``contract_from`` of its sequence.  Spans are ranked by
    the sum of their logits, each released text once (`FinalText.place`), and with them
    the empty prediction, which has the lowest score of no answer of all windows.  The
    ``n_best`` best predictions are kept, and the empty one in any case, so that there
    may be ``n_best`` + 1.  If it is the only one, the prediction `NOTHING_ELSE` comes
    before it, which the released evaluator treats as a span.
    """
    # Positions in the sequence become tokens of the contract.
    moved = (token_from - contract_from)[:, None]
    starts = best.start_at + moved
    ends = best.end_at + moved
    fits = _fitting(starts, ends, token_from, token_to, max_answer_length)
    windows, firsts, lasts = np.nonzero(fits)
    start_logits = best.start_logits[windows, firsts]
    end_logits = best.end_logits[windows, lasts]
    scores = start_logits + end_logits
    first_tokens = starts[windows, firsts]
    last_tokens = ends[windows, lasts]

    null_window = int(np.argmin(best.null_starts + best.null_ends))
    null_start = float(best.null_starts[null_window])
    null_end = float(best.null_ends[null_window])
    empty = PredictedSpan("", "", -1, -1, null_start, null_end)

    by_text: dict[str, PredictedSpan] = {}
    for at in np.argsort(-scores, kind="stable"):
        better = len(by_text)
        if empty.score > scores[at]:
            better += 1
        if better >= n_best:
            break
        tokens = first_tokens[at], last_tokens[at]
        start, end = contract.place(*tokens)
        released = collapsed(contract.text[start:end])
        if released not in by_text:
            start, end = contract.marked(*tokens)
            text = contract.text[start:end]
            logits = float(start_logits[at]), float(end_logits[at])
            by_text[released] = PredictedSpan(released, text, start, end, *logits)
    spans = list(by_text.values())
    rank_of_empty = sum(span.score >= empty.score for span in spans)
    if not spans:
        spans = [PredictedSpan(NOTHING_ELSE, "", -1, -1, 0.0, 0.0)]
        rank_of_empty = 1
    spans.insert(rank_of_empty, empty)

    sums = np.array([span.score for span in spans])
    odds = np.exp(sums - sums.max())
    shares = odds / odds.sum()
    return list(map(PredictedSpan.with_probability, spans, shares.tolist()))


def _fitting(
    starts: np.ndarray,
    ends: np.ndarray,
    token_from: np.ndarray,
    token_to: np.ndarray,
    max_answer_length: int,
) -> np.ndarray:
    """Return which starts and ends make a span, bool (windows, n_best, n_best).

    ``starts`` and ``ends`` are tokens of the contract, (windows, n_best).  Both must be
    in the window, the window must have the most context for the start, and the span may
    have ``max_answer_length`` tokens.
    """
    low = token_from[:, None]
    high = token_to[:, None]
    home = max_context(token_from, token_to)
    windows = np.arange(len(token_from))[:, None]
    home_of_start = home[np.clip(starts, 0, len(home) - 1)]
    may_start = (starts >= low) & (starts < high) & (home_of_start == windows)
    may_end = (ends >= low) & (ends < high)
    # Starts are rows, ends are columns.
    starts = starts[:, :, None]
    may_start = may_start[:, :, None]
    ends = ends[:, None, :]
    may_end = may_end[:, None, :]
    length = ends - starts + 1
    fits = (length >= 1) & (length <= max_answer_length)
    return fits & may_start & may_end


def predict(
    model: PreTrainedModel,
    dataset: WindowDataset,
    texts: Mapping[str, str],
    settings: NbestSettings,
    batch_size: int = READ_AT_ONCE,
) -> Iterator[Row]:
    """Yield the rows of `NBEST` of the questions, sorted by question and rank.

    ``texts`` maps contracts to texts.  Only the windows of ``dataset``, which may be a
    selection, count for a token's context and for the score of no answer.  Memory holds
    the windows of one contract, and spans of questions that come later in the order.
    Raises `BadInput` if logits are not finite.
    """
    reader = _Reader(
        _cast(model) if settings.bf16 else model,
        dataset,
        Collator.of(dataset.tokenizer),
        Spelling(dataset.tokenizer),
        settings,
        batch_size,
    )
    reader.model.eval()
    windows = dataset.windows
    rows = dataset.rows
    # Windows are read contract by contract, and rows are yielded question by question.
    # Indices of examples are in the order of their ids.
    example = windows.example[rows]
    contract = windows.contract[rows]
    order = np.lexsort((windows.window[rows], example, contract))
    bounds = np.flatnonzero(np.diff(contract[order])) + 1
    groups = np.split(order, bounds)
    groups.sort(key=lambda items: int(example[items[0]]))
    waiting: dict[int, list[PredictedSpan]] = {}
    with tqdm(total=len(rows), unit="window", desc="predict") as progress:
        for items in groups:
            first = int(example[items[0]])
            yield from _finished(waiting, windows.examples, first)
            best = reader.best(items, progress)
            waiting.update(reader.spans(items, best, texts))
    yield from _finished(waiting, windows.examples, len(windows.examples))


def _finished(
    waiting: dict[int, list[PredictedSpan]], examples: tuple[str, ...], before: int
) -> Iterator[Row]:
    """Remove questions below ``before`` from ``waiting``; yield their rows in order."""
    for example in sorted(index for index in waiting if index < before):
        yield from span_rows(examples[example], waiting.pop(example))


@dataclass(frozen=True)
class _Reader:
    """A model that reads the windows of one contract at a time."""

    model: PreTrainedModel
    dataset: WindowDataset
    collator: Collator
    spelling: Spelling
    settings: NbestSettings
    batch_size: int

    @torch.inference_mode()
    def best(self, items: np.ndarray, progress: tqdm) -> Best:
        """Return the best positions of windows, in the order of ``items``, which are
        their indices in ``dataset``.

        Batches have windows of similar length.
        """
        windows = self.dataset.windows
        rows = self.dataset.rows[items]
        sizes = windows.token_to[rows] - windows.token_from[rows]
        lengths = sizes + self._contract_from(items)
        by_length = np.argsort(-lengths, kind="stable")
        parts = []

        def read_part(part: Sequence[int]) -> tuple[np.ndarray, ...]:
            return self._positions(items[part])

        with tf32(self.model.device):
            for positions in in_parts_that_fit(
                by_length.tolist(), self.batch_size, read_part
            ):
                parts.append(positions)
                progress.update(len(positions[0]))
        back = np.argsort(by_length)
        columns = []
        for column in zip(*parts, strict=True):
            joined = np.concatenate(column)
            columns.append(joined[back])
        return Best(*columns)

    def _positions(self, items: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the arrays of `Best`, in its order, for one batch of items."""
        batch = self.collator([self.dataset[int(item)] for item in items])
        del batch["start_positions"], batch["end_positions"]
        inputs = {name: part.to(self.model.device) for name, part in batch.items()}
        outputs = self.model(**inputs)
        starts = outputs.start_logits
        ends = outputs.end_logits
        no_answer = torch.stack((starts[:, 0], ends[:, 0]))
        null = no_answer.double().cpu().numpy()
        mask = inputs["attention_mask"]
        n_best = self.settings.n_best
        for logits in (starts, ends):
            largest = logits.float().abs().masked_fill(mask == 0, 0).amax().cpu()
            finite(largest.numpy(), "the logits of the model", where="prediction")
        best_starts = top(starts, mask, n_best)
        best_ends = top(ends, mask, n_best)
        return (*best_starts, *best_ends, *null)

    def _contract_from(self, items: np.ndarray) -> np.ndarray:
        """Return the position of the first contract token of each item (int64)."""
        return np.array([self.dataset.contract_from(int(item)) for item in items])

    def spans(
        self, items: np.ndarray, best: Best, texts: Mapping[str, str]
    ) -> dict[int, list[PredictedSpan]]:
        """Return {index of a question among the examples: its spans} of one contract.

        ``items`` are the windows of the contract, sorted by question, and ``best``
        their best positions.
        """
        windows = self.dataset.windows
        rows = self.dataset.rows[items]
        name = windows.contracts[windows.contract[rows[0]]]
        contract = FinalText(self.spelling, texts[name], self.dataset.tokens[name])
        examples = windows.example[rows]
        token_from = windows.token_from[rows].astype(np.int64)
        token_to = windows.token_to[rows].astype(np.int64)
        contract_from = self._contract_from(items)
        edges = np.flatnonzero(np.diff(examples, prepend=-1, append=-1))
        spans = {}
        for low, high in itertools.pairwise(edges.tolist()):
            own = slice(low, high)
            spans[int(examples[low])] = nbest(
                best.of(own),
                token_from=token_from[own],
                token_to=token_to[own],
                contract_from=contract_from[own],
                contract=contract,
                n_best=self.settings.n_best,
                max_answer_length=self.settings.max_answer_length,
            )
        return spans


def _cast(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy in bfloat16 with a float32 span head.

    In bfloat16, close logits would become equal.
    """
    copied = copy.deepcopy(model).bfloat16()
    head = copied.get_submodule("qa_outputs").float()
    head.register_forward_pre_hook(_as_float)
    return copied


def _as_float(_: Any, states: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return tuple(state.float() for state in states)


def fit_ranker(
    train: Path, texts: Mapping[str, str], unseen: frozenset[str]
) -> window_ranking.Ranker:
    """Return the model that selects windows.

    It is trained without the windows of the contracts ``unseen``.  ``train`` is the
    folder of the training windows, ``texts`` maps contracts to texts.
    """
    passages = window_ranking.passages(train, texts)
    windows = passages.windows
    contract = np.zeros(len(passages.texts), dtype=np.int64)
    contract[passages.passage] = windows.contract
    left_out = [at for at, name in enumerate(windows.contracts) if name in unseen]
    is_seen = ~np.isin(contract, left_out)
    labels = {}
    for category, answered in window_ranking.answered(passages).items():
        labels[category] = answered[is_seen]
    seen_texts = list(itertools.compress(passages.texts, is_seen))
    return window_ranking.fit(seen_texts, labels)


@dataclass(frozen=True)
class InferenceFiles(WindowFiles):
    """The files of an inference, and the folder of the training windows."""

    training_windows: Path


def read_contracts(
    files: InferenceFiles,
    settings: NbestSettings,
    weights: str | Path,
    device: torch.device,
    output: str | Path,
    beside: str | Path,
    unseen: frozenset[str] = frozenset(),
) -> dict[str, int]:
    """Predict spans with the model in ``weights`` and write them; return counts.

    The folder ``beside`` gets `reading.json` with the `NbestSettings` and, if these
    limit the windows per question, the model that selects them, trained on the training
    windows.  ``unseen`` are the held-out contracts of a search, which are not used for
    training it.
    """
    texts = contract_texts(files.contracts)
    chosen = None
    beside = Path(beside)
    if settings.windows_per_question:
        ranker = fit_ranker(files.training_windows, texts, unseen)
        window_ranking.save(ranker, beside / RANKER)
        chosen = window_ranking.choose(
            ranker, files.windows, texts, settings.windows_per_question
        )
    dataset = WindowDataset(
        files.windows,
        load_tokenizer(weights),
        settings,
        question_texts(files.questions),
        chosen,
    )
    write(NBEST, read_windows(dataset, texts, settings, weights, device), output)
    recorded = settings.model_dump(include=set(NbestSettings.model_fields))
    write_result(beside / RECORD, json.dumps(recorded, indent=2, sort_keys=True) + "\n")
    return {"windows_read": len(dataset), "windows": len(dataset.windows)}


def read_windows(
    dataset: WindowDataset,
    texts: Mapping[str, str],
    settings: NbestSettings,
    weights: str | Path,
    device: torch.device,
) -> Iterator[Row]:
    """Yield the rows of `NBEST` of the model in ``weights``."""
    model = loading.load_span_model(str(weights), device, trained=True)
    return predict(model, dataset, texts, settings)
