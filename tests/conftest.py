"""Fixtures of all tests: the folder of real data, and pipeline runs that several test files read."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from filelock import FileLock

import faults
import forked

ROOT = Path(__file__).parents[1]
# Programs that tests start import the package and the logger plugin from here, not an installed plugin.
os.environ["PYTHONPATH"] = str(ROOT / "workflow")
# Models of tests are in folders; what asks the hub has an address of its own.
os.environ["HF_HUB_OFFLINE"] = "1"
# One thread adds in one order, so the same training gives the same weights; and the threads of several test
# workers on two cores would wait for each other.  torch reads it when it is imported.
os.environ["OMP_NUM_THREADS"] = "1"
# Run first, in this order, so that no worker is left with one of them at the end.
LONG_FILES = ("test_sample.py", "test_acord_real.py", "test_reruns.py", "test_slurm.py", "test_faults.py")
# ACORD's tables that need no training, without the rows of linear models, which no test of them reads.
ACORD_TABLES = (
    *("table2", "table_c1", "table_c2", "table_c3", "figure_c1"),
    *("table_d3", "table_d5", "table3", "table_e1", "table_e2"),
)
LINEAR = [f"BM25, {features} and a linear model / None" for features in ("words", "words, MiniLM")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of real raw data; tests that need it are skipped where it is missing."""
    folder = (ROOT / os.environ.get("LEXTABLES_MIRROR", "../shared/mirror")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no real data: there is no folder {folder} (set LEXTABLES_MIRROR to a mirror)")
    return folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Returns a folder of all pytest-xdist workers; the first that asks for it builds it."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder_of(name: str, build: Callable[[Path], None]) -> Path:
        folder, built = base / name, base / f"{name}.built"
        with FileLock(base / f"{name}.lock"):
            if not built.exists():
                assert not folder.exists(), f"another worker could not build {folder}"
                folder.mkdir()
                build(folder)
                built.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def sample_run(shared) -> Path:
    """The folder of a finished run of the whole sample.

    Only tests/workflow/test_sample.py changes it; `sample_outputs` has what the run left.
    """

    def build(folder: Path) -> None:
        run = forked.pipeline(folder)
        assert run.code == 0, run.output[-4000:]
        digests = faults.Place(folder, ()).outputs()
        folder.with_suffix(".json").write_text(json.dumps(digests), encoding="utf-8")

    return shared("sample", build)


@pytest.fixture(scope="session")
def sample_outputs(sample_run) -> dict[str, str]:
    """{result: digest} of the finished sample run, without the times in it."""
    return json.loads(sample_run.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def release_results(shared, mirror) -> Path:
    """Results on real data, to be read only: ACORD's tables that need no training, and CUAD's data set."""
    config = ("data=release", f"mirror={mirror}", "models=available", "papers=[acord,cuad]", "device=cpu")
    config += (f"exclude_rows={json.dumps(LINEAR)}",)
    targets = [*(f"acord_{name}" for name in ACORD_TABLES), "results/data/cuad/census.json"]

    def build(folder: Path) -> None:
        run = forked.pipeline(folder, *targets, "--config", *config)
        assert run.code == 0, run.output[-4000:]

    return shared("release", build) / "results"


@pytest.fixture
def serve():
    """Start a server that answers by a function (`language_model_server.serving`) until the test ends."""
    from language_model_server import serving

    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(serving(answer))
