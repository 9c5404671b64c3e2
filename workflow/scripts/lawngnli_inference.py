"""Write the probability of each label by a model of inference, for each example of
LawngNLI.
"""

from lextables.models import device, inference
from lextables.models.weights import weights_folder
from lextables.papers.lawngnli.dataset.inference import write_inference
from lextables.pipeline.errors import BadInput
from lextables.pipeline.job import job

MANUAL = "set models to paper, or put its files into the folder models of a mirror"

with job(snakemake.log[0]):
    settings = snakemake.params.model
    if "missing" in settings:
        what = f"the model of inference is not available ({settings['missing']})"
        raise BadInput(what, where=settings["model"], do=MANUAL)
    model = inference.load(
        weights_folder(settings),
        device.pick(snakemake.params.device),
        settings["max_length"],
    )
    write_inference(snakemake.input.examples, model, snakemake.output[0])
