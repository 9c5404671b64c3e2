"""Fine-tune a model without the held-out contracts and predict their spans.

The weights are not kept.  If the training diverges, there are no predictions, and the record says why.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from lextables.models import device
from lextables.models.checkpoints import clear, work_folder
from lextables.pipeline.content import folder_content
from lextables.pipeline.dataset import write
from lextables.pipeline.finite import NotFinite
from lextables.pipeline.job import job
from lextables.pipeline.run import counts_of, identity, recorded
from lextables.tasks.spans.reading import InferenceFiles, read_contracts
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.settings import Search
from lextables.tasks.spans.squad import contract_splits, held_out_contracts
from lextables.tasks.spans.training import train, work_settings
from lextables.tasks.spans.windows import WindowFiles

with job(snakemake.log[0]) as log, TemporaryDirectory() as scratch:
    files = snakemake.input
    params = snakemake.params
    settings = Search(**params.settings)
    where = device.pick(params.device)
    seed = int(snakemake.wildcards.seed)
    weights = f"{scratch}/weights"
    contracts, questions = map(Path, files.data)
    windows, held_out_windows = (
        Path(paths[0]).parent for paths in (files.train, files.read)
    )
    with recorded(snakemake.output.record, settings.plain()) as record:
        record["device"] = device.describe(where)
        owner = identity(
            counts_of(files.census),
            params.code,
            device.kind(where),
            map(folder_content, files.start_weights),
        )
        work = work_folder(params.work, work_settings(settings, seed, True, owner))
        try:
            record |= train(
                WindowFiles(contracts, questions, windows),
                settings,
                seed=seed,
                search=True,
                device=where,
                work=work,
                output=weights,
            )
            log.info("trained: %s", record)
            record |= read_contracts(
                InferenceFiles(contracts, questions, held_out_windows, windows),
                settings,
                weights,
                where,
                snakemake.output.predictions,
                scratch,
                unseen=held_out_contracts(
                    contract_splits(contracts), settings.held_out
                ),
            )
        except NotFinite as error:
            log.warning("diverged: %s", error)
            record["diverged"] = str(error)
            write(NBEST, [], snakemake.output.predictions)
    clear(params.work)
