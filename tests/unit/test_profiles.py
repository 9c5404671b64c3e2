"""Profiles: what both must say, since one replaces the other."""

from pathlib import Path

import yaml

from lextables.config import Config

PROFILES = Path(__file__).parents[2] / "profiles"


def profile(name):
    return yaml.safe_load((PROFILES / name / "config.yaml").read_text(encoding="utf-8"))


def test_both_see_changes_through_fingerprints_and_mend_what_a_kill_left():
    for name in ("default", "slurm"):
        assert "code" not in profile(name)["rerun-triggers"]
        assert profile(name)["rerun-incomplete"] is True


def test_one_local_gpu_at_a_time():
    assert profile("default")["resources"] == {"gpu": 1}
    assert "resources" not in profile("slurm")


def test_the_cluster_decides_device_and_grid_before_the_nodes_do():
    values = dict(item.split("=") for item in profile("slurm")["config"])
    assert Config(papers=("acord",), **values).device == "cuda"
    assert profile("slurm")["slurm-status-command"] == "squeue"
