"""Write the probability of each label for each example of LawngNLI, predicted by a
model for natural language inference.

Rule `lawngnli_inference` (lawngnli.smk).  ``model`` are the settings of a cross-encoder
for natural language inference.  It reads the short premise and the hypothesis.
"""

from lextables.models import device
from lextables.models.weights import weights_folder
from lextables.papers.lawngnli.dataset import inference
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    settings = snakemake.params.model
    model = inference.load(
        weights_folder(settings),
        device.pick(snakemake.params.device),
        settings["max_length"],
    )
    inference.write_inference(snakemake.input.examples, model, snakemake.output[0])
