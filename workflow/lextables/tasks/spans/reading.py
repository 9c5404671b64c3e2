"""Prediction of spans with the n-best rule of the released CUAD code (utils.py, compute_predictions_logits).

Works with every question-answering model of transformers.

CUAD's and MAUD's utils.py (get_final_text, also in transformers 4) join the tokens of a span to a text,
search it in the span's words as BERT's basic tokenizer writes them, and return the original characters.  If
the text is not found, they return the whole words.  With RoBERTa's tokenizer this happens wherever
punctuation touches a word, since the basic tokenizer separates the two.  Spans that differ only within a word
then have the same text, and the release keeps each text once.
"""

import copy
import itertools
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lextables.models import loading
from lextables.models.in_parts import in_parts_that_fit
from lextables.models.loading import load_tokenizer
from lextables.models.precision import tf32
from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import window_ranking
from lextables.tasks.spans.schema import NBEST, NOTHING_ELSE
from lextables.tasks.spans.settings import NbestSettings
from lextables.tasks.spans.squad import collapsed, contract_texts
from lextables.tasks.spans.tokens import Tokens, Words, backend
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
    """Return the words of BERT's basic tokenizer (transformers 4.57) for a word without separators.

    It removes control characters, splits at other white space and around Chinese characters and punctuation,
    and composes accents; with ``lower`` it lower-cases and removes accents.
    """
    if word.isascii() and word.isalnum():
        return [word.lower() if lower else word]
    kept = (
        each
        for each in word
        if each != "\ufffd" and not unicodedata.category(each).startswith("C")
    )
    parts = unicodedata.normalize("NFC", _CHINESE.sub(r" \1 ", "".join(kept))).split()
    if lower:
        apart = (unicodedata.normalize("NFD", part.lower()) for part in parts)
        parts = [
            "".join(each for each in part if unicodedata.category(each) != "Mn")
            for part in apart
        ]
    spaced = (
        f" {each} " if _is_mark(each) else each
        for part in parts
        for each in [*part, " "]
    )
    return "".join(spaced).split()


def _is_mark(character: str) -> bool:
    return character in _ASCII_MARKS or unicodedata.category(character).startswith("P")


def _byte_alphabet() -> dict[str, int]:
    """Return {character: byte} of byte-level vocabularies (GPT-2)."""
    shown = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {
        chr(256 + at): byte for at, byte in enumerate(hidden)
    }


class Spelling:
    """How the tokens of a tokenizer are written as text.

    WordPiece separates tokens by blanks unless they continue a word; byte-level vocabularies encode bytes as
    characters; SentencePiece writes a blank as U+2581.  ``lower``: the tokenizer lower-cases its text (the
    released scripts then need ``--do_lower_case``).
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        fast = backend(tokenizer)
        parts = [
            part.__getstate__()
            for part in (fast.pre_tokenizer, fast.decoder)
            if part is not None
        ]
        self.wordpiece = type(fast.model).__name__ == "WordPiece"
        self._bytes = (
            _byte_alphabet() if any(b'"ByteLevel"' in part for part in parts) else None
        )
        self.lower = (
            fast.normalizer is not None and fast.normalizer.normalize_str("A") == "a"
        )

    def pieces(self, ids: np.ndarray) -> tuple[list[bytes], np.ndarray]:
        """Return the UTF-8 of each token of ``ids``, and whether it continues a word (bool)."""
        distinct, which = np.unique(ids, return_inverse=True)
        names = self._tokenizer.convert_ids_to_tokens(distinct.tolist())
        within = np.array(
            [self.wordpiece and name.startswith(_CONTINUES) for name in names],
            dtype=bool,
        )
        spelt = [self._piece(name) for name in names]
        return [spelt[at] for at in which.tolist()], within[which]

    def _piece(self, name: str) -> bytes:
        if self.wordpiece:
            return (
                name.removeprefix(_CONTINUES)
                if name.startswith(_CONTINUES)
                else f" {name}"
            ).encode()
        if self._bytes:
            return b"".join(
                bytes([self._bytes[each]]) if each in self._bytes else each.encode()
                for each in name
            )
        return name.replace("\u2581", " ").encode()


class FinalText:
    """The released texts of the spans of one contract."""

    def __init__(self, spelling: Spelling, text: str, tokens: Tokens) -> None:
        self.text, self.tokens = text, tokens
        self._words = Words.of(text, tokens)
        pieces, self._within = spelling.pieces(tokens.ids)
        self._spelt, self._piece_from = (
            b"".join(pieces),
            [0, *accumulate(map(len, pieces))],
        )
        self._word = (
            np.searchsorted(
                self._words.token_from, np.arange(len(tokens)), side="right"
            )
            - 1
        )
        self._lay_out(spelling.lower)

    def _lay_out(self, lower: bool) -> None:
        """Write the words as the basic tokenizer does, and index their characters in both texts."""
        cache: dict[str, str] = {}
        written = []
        for start, end in zip(
            self._words.starts.tolist(), self._words.ends.tolist(), strict=True
        ):
            word = self.text[start:end]
            if word not in cache:
                cache[word] = " ".join(basic_words(word, lower))
            written.append(cache[word])
        # A word of which nothing is left is dropped with its blank.
        self._basic = " ".join(filter(None, written))
        sizes = np.array([len(word) for word in written], dtype=np.int64)
        after = np.cumsum(sizes + (sizes > 0))
        self._basic_from = after - sizes - (sizes > 0)
        # The end of the word, or of the last word before it that is not dropped.
        self._basic_to = after - 1
        blanks = np.frombuffer(
            self._basic.encode("utf-32-le", "surrogatepass"), dtype="<u4"
        ) == ord(" ")
        self._solid = np.append(0, np.cumsum(~blanks))
        lengths = self._words.ends - self._words.starts
        self._length_from = np.append(0, np.cumsum(lengths))
        self._basic_length_from = np.append(
            0,
            np.cumsum(
                [len(word) - word.count(" ") for word in written], dtype=np.int64
            ),
        )
        shift = np.repeat(self._words.starts - self._length_from[:-1], lengths)
        self._character = np.arange(len(shift)) + shift

    def place(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters [start, end) of the released text of a span, before `collapsed`.

        ``first`` and ``last`` are its first and last token.
        """
        word, last_word = self._word[first], self._word[last]
        whole = int(self._words.starts[word]), int(self._words.ends[last_word])
        spelt = self._spelt[self._piece_from[first] : self._piece_from[last + 1]]
        wanted = " ".join(spelt.decode(errors="replace").split())
        if not wanted or self._within[first]:
            return whole
        low = int(self._basic_from[word])
        at = self._basic.find(wanted, low, max(low, int(self._basic_to[last_word])))
        if at < 0:
            return whole
        length = self._length_from[last_word + 1] - self._length_from[word]
        if (
            length
            != self._basic_length_from[last_word + 1] - self._basic_length_from[word]
        ):
            return whole
        before = self._length_from[word] - self._solid[low]
        start = self._character[before + self._solid[at]]
        end = self._character[before + self._solid[at + len(wanted) - 1]]
        return int(start), int(end) + 1

    def marked(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters [start, end) from the first to the last token, without surrounding white
        space.

        If the tokens have no characters, the result is that of `place`.
        """
        start, end = int(self.tokens.starts[first]), int(self.tokens.ends[last])
        span = self.text[start:end]
        start, end = end - len(span.lstrip()), start + len(span.rstrip())
        return (start, end) if start < end else self.place(first, last)


# The n-best rule.


@dataclass(frozen=True)
class Best:
    """The best positions in the sequence of each window, best first, and the logits of no answer.

    ``start_at``, ``end_at`` (int64) and ``start_logits``, ``end_logits`` (float64) are (windows, n_best);
    ``null_starts`` and ``null_ends`` (float64) are the classification token's logits, (windows,).
    """

    start_at: np.ndarray
    start_logits: np.ndarray
    end_at: np.ndarray
    end_logits: np.ndarray
    null_starts: np.ndarray
    null_ends: np.ndarray

    def of(self, windows: slice) -> "Best":
        """Return the positions of some of the windows."""
        return Best(
            self.start_at[windows],
            self.start_logits[windows],
            self.end_at[windows],
            self.end_logits[windows],
            self.null_starts[windows],
            self.null_ends[windows],
        )


@dataclass(frozen=True)
class Span:
    """A prediction: characters [start, end) of the contract, or -1 and -1 for the empty one (`NBEST`)."""

    released_text: str
    text: str
    start: int
    end: int
    probability: float
    start_logit: float
    end_logit: float


def top(
    logits: torch.Tensor, mask: torch.Tensor, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions and values of the ``count`` greatest logits of each row, (rows, count) each.

    Ties go to lower positions.  Padding (0 in ``mask``) is excluded, while the released code, which pads to
    full length, may include it; rows with fewer positions are filled with minus infinity at position 0.
    """
    # The order of ties is undefined in topk, but not in a stable sort.
    masked = logits.float().masked_fill(mask == 0, -torch.inf)
    values, positions = torch.sort(masked, dim=1, descending=True, stable=True)
    values, positions = (part[:, :count].cpu().numpy() for part in (values, positions))
    missing = ((0, 0), (0, count - values.shape[1]))
    values = np.pad(values.astype(np.float64), missing, constant_values=-np.inf)
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
) -> list[Span]:
    """Return the spans of one question, best first, by the released n-best rule.

    Windows are in order; each has the contract's tokens [token_from, token_to), the first of them at position
    ``contract_from`` of its sequence.  In each window all best starts are combined with all best ends, if the
    window has the most context for the start and the span has at most ``max_answer_length`` tokens.  The
    ``n_best`` spans of all windows with the highest sums of logits are kept, each released text once
    (`FinalText.place`).  The empty prediction has the lowest score of no answer of all windows and is always
    kept, so that there may be ``n_best`` + 1 predictions.  If it is the only one, the prediction
    `NOTHING_ELSE` comes before it, which the released evaluator treats as a span.
    """
    number = np.arange(len(token_from))[:, None]
    low, high = token_from[:, None], token_to[:, None]
    starts = low + best.start_at - contract_from[:, None]
    ends = low + best.end_at - contract_from[:, None]
    home = max_context(token_from, token_to)
    may_start = (starts >= low) & (starts < high)
    may_start &= home[np.clip(starts, 0, len(home) - 1)] == number
    may_end = (ends >= low) & (ends < high)
    length = ends[:, None, :] - starts[:, :, None] + 1
    fits = (
        may_start[:, :, None]
        & may_end[:, None, :]
        & (length >= 1)
        & (length <= max_answer_length)
    )
    window, first, last = np.nonzero(fits)
    scores = best.start_logits[window, first] + best.end_logits[window, last]

    null_scores = best.null_starts + best.null_ends
    null_window = int(np.argmin(null_scores))
    null_score = float(null_scores[null_window])
    kept: list[tuple[str, str, int, int, float, float]] = []
    seen: set[str] = set()
    for at in np.argsort(-scores, kind="stable"):
        # The empty prediction counts if it is better.
        if len(kept) + (null_score > scores[at]) >= n_best:
            break
        w, i, j = window[at], first[at], last[at]
        begin, stop = contract.place(starts[w, i], ends[w, j])
        released = collapsed(contract.text[begin:stop])
        if released not in seen:
            seen.add(released)
            begin, stop = contract.marked(starts[w, i], ends[w, j])
            logits = float(best.start_logits[w, i]), float(best.end_logits[w, j])
            kept.append((released, contract.text[begin:stop], begin, stop, *logits))
    place = sum(start + end >= null_score for *_, start, end in kept)
    if not kept:
        kept, place = [(NOTHING_ELSE, "", -1, -1, 0.0, 0.0)], 1
    null = float(best.null_starts[null_window]), float(best.null_ends[null_window])
    kept.insert(place, ("", "", -1, -1, *null))
    sums = np.array([start + end for *_, start, end in kept])
    odds = np.exp(sums - sums.max())
    return [
        Span(released, span, start, end, float(probability), start_logit, end_logit)
        for (released, span, start, end, start_logit, end_logit), probability in zip(
            kept, odds / odds.sum(), strict=True
        )
    ]


def predict(
    model: PreTrainedModel,
    dataset: WindowDataset,
    texts: Mapping[str, str],
    settings: NbestSettings,
    batch_size: int = READ_AT_ONCE,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `NBEST` of the questions, sorted by question and rank.

    ``texts`` maps contracts to texts.  Only the windows of ``dataset`` are used, also for
    a token's context and the score of no answer.  Memory holds the windows of one
    contract, and spans of questions that come later in the order.  Raises `BadInput` if
    logits are not finite.
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
    windows, rows = dataset.windows, dataset.rows
    # Indices of examples are in the order of their ids.
    order = np.lexsort(
        (windows.window[rows], windows.example[rows], windows.contract[rows])
    )
    contract = windows.contract[rows][order]
    groups = np.split(order, np.flatnonzero(np.diff(contract)) + 1)
    groups.sort(key=lambda items: int(windows.example[rows[items[0]]]))
    waiting: dict[int, list[Span]] = {}
    with tqdm(total=len(rows), unit="window", desc="predict") as progress:
        for items in groups:
            first = int(windows.example[rows[items[0]]])
            yield from _finished(waiting, windows.examples, first)
            best = reader.best(items, progress)
            waiting.update(reader.spans(items, best, texts))
    yield from _finished(waiting, windows.examples, len(windows.examples))


def _finished(
    waiting: dict[int, list[Span]], examples: tuple[str, ...], before: int
) -> Iterator[dict[str, Any]]:
    """Remove the questions below ``before`` from ``waiting`` and yield their rows in order."""
    for example in sorted(index for index in waiting if index < before):
        for rank, span in enumerate(waiting.pop(example)):
            yield {"question_id": examples[example], "rank": rank, **vars(span)}


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
        """Return the best positions of ``items``, in order.

        Batches have windows of similar length.
        """
        windows, rows = self.dataset.windows, self.dataset.rows[items]
        sizes = windows.token_to[rows] - windows.token_from[rows]
        by_length = np.argsort(-(sizes + self._contract_from(items)), kind="stable")
        parts = []

        def read_part(part: np.ndarray) -> tuple[np.ndarray, ...]:
            return self._positions(items[part])

        with tf32(self.model.device):
            for found in in_parts_that_fit(by_length, self.batch_size, read_part):
                parts.append(found)
                progress.update(len(found[0]))
        back = np.argsort(by_length)
        columns = zip(*parts, strict=True)
        return Best(*(np.concatenate(column)[back] for column in columns))

    def _positions(self, items: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the arrays of `Best` for one batch of items."""
        batch = self.collator([self.dataset[int(item)] for item in items])
        del batch["start_positions"], batch["end_positions"]
        inputs = {name: part.to(self.model.device) for name, part in batch.items()}
        outputs = self.model(**inputs)
        starts, ends = outputs.start_logits, outputs.end_logits
        null = torch.stack((starts[:, 0], ends[:, 0])).double().cpu().numpy()
        if not np.isfinite(null).all():
            raise BadInput(
                "the model returns logits that are not finite",
                where="prediction",
                do="train it again with a lower learning rate",
            )
        mask, n_best = inputs["attention_mask"], self.settings.n_best
        return (*top(starts, mask, n_best), *top(ends, mask, n_best), *null)

    def _contract_from(self, items: np.ndarray) -> np.ndarray:
        """Return the position of the first contract token of each item (int64)."""
        return np.array([self.dataset.contract_from(int(item)) for item in items])

    def spans(
        self, items: np.ndarray, best: Best, texts: Mapping[str, str]
    ) -> dict[int, list[Span]]:
        """Return {index of a question among the examples: its spans} of one contract.

        ``items`` are the windows of the contract, sorted by question, and ``best`` their
        best positions.
        """
        windows, rows = self.dataset.windows, self.dataset.rows[items]
        name = windows.contracts[windows.contract[rows[0]]]
        contract = FinalText(self.spelling, texts[name], self.dataset.tokens[name])
        examples = windows.example[rows]
        contract_from = self._contract_from(items)
        edges = [0, *(np.flatnonzero(np.diff(examples)) + 1).tolist(), len(items)]
        spans = {}
        for low, high in itertools.pairwise(edges):
            spans[int(examples[low])] = nbest(
                best.of(slice(low, high)),
                windows.token_from[rows[low:high]].astype(np.int64),
                windows.token_to[rows[low:high]].astype(np.int64),
                contract_from[low:high],
                contract,
                self.settings.n_best,
                self.settings.max_answer_length,
            )
        return spans


def _cast(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy in bfloat16 with a float32 span head, so that close logits do not become equal."""
    copied = copy.deepcopy(model).to(torch.bfloat16)
    head = copied.qa_outputs.float()
    head.register_forward_pre_hook(
        lambda _, states: tuple(state.float() for state in states)
    )
    return copied


def fit_ranker(
    train: Path, texts: Mapping[str, str], unseen: frozenset[str]
) -> window_ranking.Ranker:
    """Return the model that selects windows, trained without those of ``unseen``.

    ``train`` is the folder of the training windows, ``texts`` maps contracts to texts.
    """
    passages = window_ranking.passages(train, texts)
    windows = passages.windows
    contract = np.zeros(len(passages.texts), dtype=np.int64)
    contract[passages.passage] = windows.contract
    left_out = [at for at, name in enumerate(windows.contracts) if name in unseen]
    seen = ~np.isin(contract, left_out)
    labels = {}
    for category, answered in window_ranking.answered(passages).items():
        labels[category] = answered[seen]
    return window_ranking.fit(list(itertools.compress(passages.texts, seen)), labels)


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

    The folder ``beside`` gets `reading.json` with the `NbestSettings` and, if these limit
    the windows per question, the model that selects them, trained on the training
    windows.  ``unseen`` are the held-out contracts of a search, which are not used for
    training it.
    """
    texts = contract_texts(files.contracts)
    chosen, beside = None, Path(beside)
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
    write_text(beside / RECORD, json.dumps(recorded, indent=2, sort_keys=True) + "\n")
    return {"windows_read": len(dataset), "windows": len(dataset.windows)}


def read_windows(
    dataset: WindowDataset,
    texts: Mapping[str, str],
    settings: NbestSettings,
    weights: str | Path,
    device: torch.device,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `NBEST` of the model in ``weights``."""
    model = loading.load_span_model(str(weights), device, trained=True)
    return predict(model, dataset, texts, settings)
