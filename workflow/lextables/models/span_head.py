"""Question-answering models of transformers: an encoder whose head marks where an answer starts and ends."""

import torch
from transformers import AutoModelForQuestionAnswering, PreTrainedModel, set_seed

from lextables.models.loading import check_whole, fresh, fresh_encoder, quiet
from lextables.pipeline.errors import loading_weights


@loading_weights()
def load(folder: str, device: torch.device, seed: int = 0, *, trained: bool = False) -> PreTrainedModel:
    """Return the model in ``folder`` in float32; one without a span head gets a fresh one, drawn by ``seed``.

    Raises `BadInput` when the folder lacks weights of the encoder, or, of a ``trained`` model, any at all.
    """
    set_seed(seed)
    with quiet():
        model, report = AutoModelForQuestionAnswering.from_pretrained(
            folder, dtype=torch.float32, output_loading_info=True, trust_remote_code=False
        )
    check_whole(folder, fresh(report) if trained else fresh_encoder(model, report))
    return model.to(device)
