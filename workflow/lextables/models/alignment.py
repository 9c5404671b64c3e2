"""Features of pairs of texts from the frozen token vectors of an encoder.

Each token is compared with the closest token of the other text, as in decomposable attention (Parikh et al.
2016), but nothing is trained here: a linear model over these features is fitted in less than a second.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch.nn import functional
from transformers import AutoConfig, AutoModel

from lextables.models import loading
from lextables.pipeline.errors import loading_weights

BATCH = 32
NEIGHBOURS = 7  # tokens whose similarity to the first text decides how much a token of the second counts


@loading_weights()
def token_vectors(folder: str, texts: Iterable[str], max_length: int = 256) -> Mapping[str, torch.Tensor]:
    """Return {text: the vectors of its tokens without the special ones, float16 (tokens, width)}.

    They are those of the encoder's middle layer, of length one.  It shows negation better than the last
    one, which takes twice as long.
    """
    body = loading.transformer(folder) or folder
    tokenizer = loading.load_tokenizer(body)
    config = AutoConfig.from_pretrained(body, trust_remote_code=False)
    config.num_hidden_layers //= 2
    with loading.quiet():  # about the layers that are left out
        model = AutoModel.from_pretrained(body, config=config, trust_remote_code=False).eval()
    unique = sorted(set(texts), key=lambda text: (len(text), text))
    found: dict[str, torch.Tensor] = {}
    with torch.inference_mode():
        for start in range(0, len(unique), BATCH):
            batch = unique[start : start + BATCH]
            tokens = tokenizer(
                batch, padding=True, truncation=True, max_length=max_length, return_tensors="pt"
            )
            vectors = functional.normalize(model(**tokens).last_hidden_state, dim=2).half()
            for text, of_text, length in zip(
                batch, vectors, tokens["attention_mask"].sum(dim=1).tolist(), strict=True
            ):
                found[text] = of_text[1 : length - 1].clone()
    return found


def unmatched(first: torch.Tensor, sentences: Sequence[torch.Tensor]) -> np.ndarray:
    """Return what each of two texts has that the other lacks, float32 (2 * width + 8,).

    ``first`` and ``sentences``, which are the second text, are vectors of tokens, (tokens, width).  The mean
    of a text's vectors is taken with the distance of each to the closest one of the other text as its weight,
    and of the second text only from the part that is about the first.  The last eight columns are statistics
    of these distances.
    """
    first, second = first.float(), torch.cat([*sentences]).float()
    similar = first @ second.T
    here, there = 1 - similar.amax(dim=1), 1 - similar.amax(dim=0)
    near = functional.avg_pool1d(1 - there[None], NEIGHBOURS, 1, NEIGHBOURS // 2)[0]
    weights = torch.sigmoid(10 * near - 5)
    share = weights / weights.sum()
    statistics = [here.mean(), here.max(), here.std(correction=0), here.sum(), here.square().sum()]
    statistics += [there @ share, there @ weights, weights.sum()]
    means = [here @ first / len(first), (there * share) @ second]
    return torch.cat([*means, torch.stack(statistics)]).numpy()
