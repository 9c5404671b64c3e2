"""The profiles `default` and `slurm`: what both set, since only one of them is used,
and what `slurm` sets for a cluster.
"""

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from snakemake.cli import parse_args
from snakemake_executor_plugin_slurm.partitions import (
    get_best_partition,
    read_partition_file,
)

from lextables.pipeline.config import Config

PROFILES = Path(__file__).parents[2] / "profiles"


def profile(name):
    return yaml.safe_load((PROFILES / name / "config.yaml").read_text(encoding="utf-8"))


def test_the_slurm_profile_sets_the_device_even_with_other_config_values():
    assert profile("slurm")["slurm-status-command"] == "squeue"
    assert "config" not in profile("slurm")
    for more in ([], ["--config", "data=release", "models=paper"]):
        _, args = parse_args(["--workflow-profile", str(PROFILES / "slurm"), *more])
        (path,) = args.configfile
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        assert Config(papers=("acord",), **values).device == "cuda"


@pytest.mark.parametrize(
    ("resources", "partition"), [({}, "cpu"), ({"gpu": 0}, "cpu"), ({"gpu": 1}, "gpu")]
)
def test_only_jobs_with_a_gpu_use_the_gpu_partition(resources, partition):
    _, args = parse_args(["--workflow-profile", str(PROFILES / "slurm")])
    partitions = read_partition_file(args.slurm_partition_config)
    job = SimpleNamespace(
        name="rule", threads=4, resources={"mem_mb": 8000, "runtime": 240, **resources}
    )
    assert get_best_partition(partitions, job, logging.getLogger()) == partition


@pytest.mark.parametrize("name", ["default", "slurm"])
def test_plan_is_a_dry_run_and_the_logger_plugin_is_used_if_installed(
    name, monkeypatch
):
    # Expressions in the profiles read `sys.argv` and call `find_spec`.
    monkeypatch.setattr("sys.argv", ["snakemake", "plan"])
    _, args = parse_args(["--workflow-profile", str(PROFILES / name), "plan"])
    assert (args.dryrun, args.logger) == (True, ["lextables"])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for words in (["acord"], ["acord", "--directory", "plan"]):
        monkeypatch.setattr("sys.argv", ["snakemake", *words])
        _, args = parse_args(["--workflow-profile", str(PROFILES / name), "acord"])
        assert (args.dryrun, args.logger) == (False, [])
