"""Read the test examples with the model that a run has trained for all heads."""

from pathlib import Path

from lextables.dataset import read, write
from lextables.job import job
from lextables.models import device, multi_head
from lextables.run import loaded, recorded
from lextables.tasks.classification.examples import by_head, of_splits
from lextables.tasks.classification.features import read_tokens
from lextables.tasks.classification.reading import read_heads
from lextables.tasks.classification.schema import PREDICTIONS

with job(snakemake.log[0]):
    examples, _ = snakemake.input.data
    weights, trained = snakemake.input.weights
    (test,) = snakemake.params.splits
    where = device.pick(snakemake.params.device)
    with recorded(Path(snakemake.output.record).parent, snakemake.params.settings) as record:
        record |= {"device": device.describe(where), "trained": loaded(trained)}
        model, heads = multi_head.load_trained(weights, where)
        asked = by_head(of_splits(read(examples), test), heads)
        rows = read_heads(model, list(heads), asked, read_tokens(snakemake.input.tokens), where)
        write(PREDICTIONS, rows, snakemake.output.predictions)
