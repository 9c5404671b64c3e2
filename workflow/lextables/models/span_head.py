"""Question-answering models of transformers: an encoder with a head for the start and end of an answer."""

import torch
from transformers import AutoModelForQuestionAnswering, PreTrainedModel, set_seed

from lextables.models.loading import check_whole, fresh, fresh_encoder, quiet
from lextables.pipeline.errors import loading_weights


@loading_weights()
def load(folder: str, device: torch.device, seed: int = 0, *, trained: bool = False) -> PreTrainedModel:
    """Return the model in ``folder`` in float32; a missing span head is initialised with ``seed``.

    Raises `BadInput` when weights of the encoder are missing, or any weights of a ``trained`` model.
    """
    set_seed(seed)
    with quiet():
        model, report = AutoModelForQuestionAnswering.from_pretrained(
            folder, dtype=torch.float32, output_loading_info=True, trust_remote_code=False
        )
    check_whole(folder, fresh(report) if trained else fresh_encoder(model, report))
    return model.to(device)
