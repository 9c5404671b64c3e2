"""The jobs of the answers task: which models they run, and what their scores depend on."""

from collections.abc import Container, Mapping

from lextables.pipeline.run import Run
from lextables.tasks.plan import Spec

# The fields of the registry's task that scores depend on.
SCORED_BY = frozenset({"names", "smoothing", "folds"})


def models_of(
    specs: Mapping[Run, Spec],
    datasets: Container[str],
    experiment: str,
    kinds: Container[str],
) -> set[str]:
    """Return the models of these kinds in an experiment on these data sets."""
    models = set()
    for run, spec in specs.items():
        if (run.experiment, run.paper in datasets) != (experiment, True):
            continue
        if spec.settings["kind"] in kinds:
            models.add(run.model)
    return models
