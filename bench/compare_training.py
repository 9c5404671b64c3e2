"""Compare trainings with a plain PyTorch loop and with transformers' Trainer, in double
precision.

    PYTHONPATH=workflow python bench/compare_training.py

Tiny random models of six architectures learn the answers in 16 texts of 5 to 100
tokens, without dropout.  The table has the largest difference of a weight from the
loop's after six updates of eight texts.  As in trainings, the loss is computed from
logits in single precision.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch
import transformers
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_, parameters_to_vector
from torch.nn.utils.rnn import pad_sequence

from lextables.models import in_parts
from lextables.models.settings import Optimiser
from lextables.tasks.spans.settings import FineTuning
from lextables.tasks.spans.training import finetune

# The configuration of all models, and additional settings of some architectures.
CONFIGURATION = {
    "vocab_size": 60,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 128,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "pad_token_id": 1,
    "cls_token_id": 2,
    "sep_token_id": 3,
    "bos_token_id": 2,
    "eos_token_id": 3,
}
ARCHITECTURES = ("bert", "roberta", "deberta-v2", "albert", "modernbert", "mpnet")
OWN_SETTINGS = {
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "albert": {"embedding_size": 8},
}
OPTIMISER = Optimiser(
    weight_decay=0.01,
    decayed="weights",
    betas=(0.9, 0.999),
    epsilon=1e-6,
    clip=1.0,
    schedule="linear",
    warmup=2,
)
LEARNING_RATE = 1e-3
BATCH_SIZE = 8
EPOCHS = 3
SEED = 3
# Parts of the names of weights without weight decay.
NOT_DECAYED = ("bias", "norm", "Norm")


class Texts(list):
    """Numbers of random texts with a random answer, and what `finetune` reads of a data
    set of windows.
    """

    def __init__(self):
        super().__init__(range(16))
        random = np.random.default_rng(0)
        self.texts = [
            torch.from_numpy(random.integers(5, 60, size))
            for size in random.integers(5, 101, 16)
        ]
        self.starts = np.array(
            [random.integers(1, len(text) - 2) for text in self.texts]
        )
        self.rows = np.arange(len(self.texts))
        self.windows = SimpleNamespace(start_positions=self.starts)

    def collated(self, rows):
        """Return the batch of some rows."""
        texts = [self.texts[row] for row in rows]
        mask = pad_sequence([torch.ones_like(text) for text in texts], batch_first=True)
        starts = torch.from_numpy(self.starts[list(rows)])
        ids = pad_sequence(texts, batch_first=True, padding_value=1)
        places = {"start_positions": starts, "end_positions": starts + 1}
        return {"input_ids": ids, "attention_mask": mask, **places}


def model_of(architecture):
    """Return a random model in double precision; the same at every call."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(
        architecture, **CONFIGURATION | OWN_SETTINGS.get(architecture, {})
    )
    return transformers.AutoModelForQuestionAnswering.from_config(config).double()


def loss_of(model, batch):
    """Return the mean cross-entropy of starts and ends over a batch, over the real
    tokens of each text.
    """
    output = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    losses = []
    for logits, places in (
        (output.start_logits, "start_positions"),
        (output.end_logits, "end_positions"),
    ):
        logits = logits.float().masked_fill(batch["attention_mask"] == 0, -torch.inf)
        losses.append(cross_entropy(logits, batch[places]))
    return (losses[0] + losses[1]) / 2


def weights_of_loop(architecture, optimiser, batches):
    """Train on ``batches`` with torch alone; return the weights."""
    model = model_of(architecture).train()
    decayed = []
    not_decayed = []
    for name, weight in model.named_parameters():
        is_exception = any(part in name for part in NOT_DECAYED)
        if optimiser.decayed == "weights" and is_exception:
            not_decayed.append(weight)
        else:
            decayed.append(weight)
    groups = [
        {"params": decayed, "weight_decay": optimiser.weight_decay},
        {"params": not_decayed, "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(
        groups, lr=LEARNING_RATE, betas=optimiser.betas, eps=optimiser.epsilon
    )
    for update, batch in enumerate(batches):
        rate, beta = rate_and_beta(optimiser, update, len(batches))
        for group in adamw.param_groups:
            group["lr"] = rate
            group["betas"] = beta, optimiser.betas[1]
        loss_of(model, batch).backward()
        if optimiser.clip:
            clip_grad_norm_(model.parameters(), optimiser.clip)
        adamw.step()
        adamw.zero_grad()
    return parameters_to_vector(model.parameters()).detach()


def rate_and_beta(optimiser, update, updates):
    """Return the learning rate and the first beta of an update, the first being 0.

    The constants are the defaults of torch's OneCycleLR: it starts with a 25th of the
    rate and ends with a 10,000th of this, and beta goes from 0.95 to 0.85 and back.
    """
    warmup = optimiser.warmup
    if optimiser.schedule == "one_cycle":
        peak = warmup * updates - 1
        if update <= peak:
            share = update / peak
            return LEARNING_RATE * (0.04 + 0.96 * share), 0.95 - 0.1 * share
        share = (update - peak) / (updates - 1 - peak)
        return LEARNING_RATE * (1 - share * (1 - 0.04e-4)), 0.85 + 0.1 * share
    if warmup < 1:
        warmup = int(warmup * updates)
    rate = LEARNING_RATE
    if update < warmup:
        rate *= update / warmup
    elif optimiser.schedule == "linear":
        rate *= (updates - update) / (updates - warmup)
    return rate, optimiser.betas[0]


class TrainerWithLoss(transformers.Trainer):
    """transformers' Trainer with the loss of the plain loop."""

    def compute_loss(
        self, model, inputs, return_outputs=False, num_items_in_batch=None
    ):
        return loss_of(model, inputs)


def differences_from_loop(architecture, optimiser=OPTIMISER, with_others=True):
    """Return {training: largest difference of a weight from the plain loop}.

    The training `here` is that of the project.  Without ``with_others``, there are no
    others (`other_trainings`).
    """
    texts = Texts()
    batches = []  # in the order in which the training reads them

    def collate(rows):
        batches.append(texts.collated(rows))
        return dict(batches[-1])

    settings = FineTuning(
        learning_rate=LEARNING_RATE,
        epochs=EPOCHS,
        batch_size=BATCH_SIZE,
        optimiser=optimiser,
    )
    model = model_of(architecture)
    trained_models = {"here": model}
    with TemporaryDirectory() as folder:
        finetune(model, texts, collate, settings, seed=SEED, work=Path(folder))
        if with_others:
            trained_models |= other_trainings(architecture, settings, folder)
    updates = EPOCHS * len(texts) // BATCH_SIZE
    weights = weights_of_loop(architecture, optimiser, batches[:updates])
    differences = {}
    for name, model in trained_models.items():
        vector = parameters_to_vector(model.parameters())
        differences[name] = (vector - weights).abs().max().item()
    return differences


def other_trainings(architecture, settings, folder):
    """Return {training: trained model} with batches in parts, and by transformers'
    Trainer.
    """
    texts = Texts()
    trained_models = {}
    # The number of parts of a batch, and the most tokens of a part that gives it.
    for parts, tokens in ((2, BATCH_SIZE // 2 * 100), (8, 1)):
        model = model_of(architecture)
        trained_models[f"here, {parts} parts"] = model
        with patch.object(in_parts, "PROCESSOR_TOKENS", tokens):
            finetune(
                model, texts, texts.collated, settings, seed=SEED, work=Path(folder)
            )
    arguments = transformers.TrainingArguments(
        folder,
        max_steps=EPOCHS * len(texts) // BATCH_SIZE,
        per_device_train_batch_size=BATCH_SIZE,
        seed=SEED,
        data_seed=SEED,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
        **settings.optimiser.arguments(LEARNING_RATE),
        lr_scheduler_type=settings.optimiser.schedule,
        warmup_steps=settings.optimiser.warmup,
    )
    model = model_of(architecture)
    trained_models["Trainer"] = model
    trainer = TrainerWithLoss(
        model=model, args=arguments, train_dataset=texts, data_collator=texts.collated
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return trained_models


if __name__ == "__main__":
    rows = {name: differences_from_loop(name) for name in ARCHITECTURES}
    trainings = rows["bert"]
    print(f"| architecture | {' | '.join(trainings)} |")
    print("|---" * (1 + len(trainings)) + "|")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(f'{value:.0e}' for value in row.values())} |")
