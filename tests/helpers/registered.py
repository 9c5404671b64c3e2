"""Reads registered data sets of papers from the sample or from a mirror."""

from pathlib import Path

from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline.config import load as load_config
from lextables.pipeline.dataset import Published, Rows, check_census, write_all
from lextables.registry import modules, packages
from lextables.tasks.planner import Context

SAMPLE = ROOT / "resources/sample"
MODELS = load_models(ROOT / "resources/models.yaml")


def read(
    paper: str, name: str, folder: Path = SAMPLE, files=None, variants=None, **given
) -> Rows:
    """Read the data set ``name`` from the sample, or from a mirror in ``folder``.

    ``files`` {kind: paths} and ``given`` replace registered values; ``variants`` are
    {kind: variant}.
    """
    entry = packages.load(ROOT / f"resources/papers/{paper}.yaml")
    keys = entry.model_dump(mode="json") | given
    data = entry.data[name]
    registered = data.named([] if folder == SAMPLE else [folder])
    paths = {}
    for kind, names in registered.items():
        paths[kind] = [folder / file for file in names]
    paths |= files or {}
    facts = {fact: ROOT / "resources/facts" / file for fact, file in data.facts.items()}
    settings = {key: keys[key] for key in data.given}
    published = Published(paths, facts, settings, variants or {})
    return modules.module(paper, "raw").read(name, published)


def written(paper: str, name: str, folder: Path, rows: Rows, variant: str = "sample"):
    """Write the rows of a data set to ``folder``; assert that their census equals the
    registered census.
    """
    entry = packages.load(ROOT / f"resources/papers/{paper}.yaml")
    census = write_all(modules.module(paper, "schema").TABLES[name], rows.of, folder)
    check_census(census, entry.data[name].census[variant], name)
    assert census.keys() == entry.data[name].census[variant].keys()
    return census


def context(paper: str, gpu: bool = False, root: Path = ROOT, **config) -> Context:
    """Return the `Context` for planning the paper with this configuration."""
    values = {"papers": paper} | config
    return Context(load_config(values, [paper], ROOT), MODELS, root, gpu)


def with_models(folder: Path, *names: str) -> dict[str, str]:
    """Create a mirror with weights under these names; return the config of a run that
    uses it.
    """
    for name in names:
        (folder / "models" / name).mkdir(parents=True)
        (folder / "models" / name / "config.json").write_text("{}")
    return {"data": "release", "models": "available", "mirror": str(folder)}
