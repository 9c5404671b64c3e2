"""Pretraining of an encoder on contracts: masked language modelling.

CUAD, Section 4.2 ("Contracts Pretraining"): RoBERTa-base was pretrained further on
about 8 GB of contracts from EDGAR.  The paper gives neither the number of updates nor
the learning rate.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    AutoModelForMaskedLM,
    DataCollatorForLanguageModeling,
    PreTrainedTokenizerBase,
    TrainingArguments,
    set_seed,
)

from lextables.models.checkpoints import arguments, train
from lextables.models.device import mixed
from lextables.models.in_parts import Batch, InParts
from lextables.models.loading import (
    check_complete,
    check_finite,
    fresh_encoder,
    quiet,
    save,
)
from lextables.models.tokenizers import load_tokenizer
from lextables.pipeline.atomic import replacing
from lextables.pipeline.errors import BadInput, loading_weights
from lextables.tasks.spans.settings import Pretraining

Block = dict[str, np.ndarray | int]  # its index, and its token ids (`input_ids`)
MASKED = 0.15  # share of the tokens
TEXTS_AT_ONCE = 16  # texts that are tokenised in one call
CHECKPOINTS = 20  # in the course of a training


class _Trainer(InParts):
    """A trainer whose loss is the mean over the masked tokens of a batch."""

    def terms(self, batch: Batch) -> list[int]:
        """Return the number of masked tokens of each block; other labels are -100."""
        return (batch["labels"] != -100).sum(1).tolist()


def pretrain(
    folder: str,
    texts: Iterable[str],
    settings: Pretraining,
    *,
    seed: int,
    work: Path,
    device: torch.device,
    output: str | Path,
) -> int:
    """Pretrain the encoder in ``folder``; save it and its tokenizer to ``output``.

    15 % of the tokens are masked, differently in each pass (RoBERTa's dynamic masking).
    ``texts`` are read once, in order, until they fill the blocks of all updates; fewer
    blocks are used repeatedly.  Blocks and checkpoints are in ``work``; a run that
    finds them there resumes and ends with the weights of an uninterrupted run.  Returns
    the update from which it resumed (0 for a fresh start).  Raises `BadInput` if the
    texts do not fill one block.
    """
    # An encoder saved without a language-model head gets a random one.
    set_seed(seed)
    with quiet(), loading_weights():
        tokenizer = load_tokenizer(folder)
        model, report = AutoModelForMaskedLM.from_pretrained(
            folder,
            dtype=torch.float32,
            output_loading_info=True,
            trust_remote_code=False,
        )
    check_complete(folder, fresh_encoder(model, report))
    check_finite(folder, model)
    packed = work / "blocks.bin"
    if not packed.exists():
        count = settings.updates * settings.batch_size
        pack(tokenizer, texts, packed, settings.max_length, count)
    common = arguments(
        work,
        settings.updates,
        seed=seed,
        save_every=max(1, settings.updates // CHECKPOINTS),
        device=device,
    )
    trainer = _Trainer(
        model=model,
        args=TrainingArguments(
            **common,
            **settings.optimiser.arguments(settings.learning_rate),
            per_device_train_batch_size=settings.batch_size,
            remove_unused_columns=False,
        ),
        train_dataset=Blocks(packed, tokenizer, settings.max_length),
        data_collator=Masking(tokenizer, seed),
        mixed=mixed(settings.bf16, device),
        optimiser=settings.optimiser,
    )
    resumed = train(trainer, work)
    save(model, tokenizer, output)
    return resumed


def pack(
    tokenizer: PreTrainedTokenizerBase,
    texts: Iterable[str],
    path: Path,
    max_length: int,
    most: int,
) -> int:
    """Write at most ``most`` blocks of token ids to ``path`` and return their number.

    A block has ``max_length`` tokens minus the two special tokens around it.  Texts are
    concatenated with a separator, as in RoBERTa, Section 4.2 (full sentences).  The
    rest after the last full block is dropped.
    """
    size = max_length - 2
    count = 0
    rest = np.empty(0, dtype=_integer(tokenizer))
    with replacing(path) as temporary, temporary.open("wb") as out:
        for ids in _encoded(tokenizer, texts):
            rest = np.concatenate([rest, np.asarray(ids, dtype=rest.dtype)])
            full = min(len(rest) // size, most - count)
            rest[: full * size].tofile(out)
            rest = rest[full * size :]
            count += full
            if count == most:
                break
        out.flush()
        if not count:
            raise BadInput(
                f"the texts have {len(rest)} tokens, less than one block of {size}",
                where="pretraining texts",
                do="use more text or a smaller max_length",
            )
    return count


def _encoded(
    tokenizer: PreTrainedTokenizerBase, texts: Iterable[str]
) -> Iterator[list[int]]:
    """Yield the token ids of each text that is not empty, with a separator at the
    end.
    """
    iterator = iter(texts)
    while batch := list(itertools.islice(iterator, TEXTS_AT_ONCE)):
        with quiet():
            encoded = tokenizer(
                batch, add_special_tokens=False, return_attention_mask=False
            )
        for ids in encoded["input_ids"]:
            if ids:
                yield [*ids, tokenizer.sep_token_id]


def _integer(tokenizer: PreTrainedTokenizerBase) -> type[np.unsignedinteger]:
    """Return the type of token ids on disk."""
    return np.uint16 if len(tokenizer) <= 1 << 16 else np.uint32


class Blocks(Dataset):
    """The blocks that `pack` wrote, each between its special tokens.

    They are read from disk one at a time.
    """

    def __init__(
        self, path: Path, tokenizer: PreTrainedTokenizerBase, max_length: int
    ) -> None:
        ids = np.memmap(path, dtype=_integer(tokenizer), mode="r")
        self.ids = ids.reshape(-1, max_length - 2)
        self.first = [tokenizer.cls_token_id]
        self.last = [tokenizer.sep_token_id]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> Block:
        ids = np.concatenate([self.first, self.ids[index], self.last])
        return {"index": index, "input_ids": ids}


class Masking:
    """Mask a batch by a generator seeded with ``seed`` and the indices of its blocks.

    The trainer prefetches a batch, so masks from the common generator would differ
    after a resumption.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, seed: int) -> None:
        self.collator = DataCollatorForLanguageModeling(
            tokenizer, mlm_probability=MASKED
        )
        self.seed = seed

    def __call__(self, blocks: Sequence[Block]) -> dict[str, torch.Tensor]:
        indices = [int(block["index"]) for block in blocks]
        key = np.random.SeedSequence([self.seed, *indices])
        sequences = [{"input_ids": block["input_ids"]} for block in blocks]
        (seed_of_batch,) = key.generate_state(1).tolist()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of_batch)
            return dict(self.collator(sequences))
