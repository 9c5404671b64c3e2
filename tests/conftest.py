"""Fixtures of all tests: the folder of real data, and pipeline runs that several test
files read.
"""

import gc
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from filelock import FileLock

from helpers import faults, forked, snapshot

ROOT = Path(__file__).parents[1]
# Programs that tests start import the package and the logger plugin from here, not an
# installed plugin.
os.environ["PYTHONPATH"] = str(ROOT / "workflow")
# Tests load models from folders, without the network; tests of the hub use a local
# server.
os.environ["HF_HUB_OFFLINE"] = "1"
# Libraries choose their instructions by the processor, and the order of additions
# depends on them.  With these settings all x86 processors with AVX2 add in the same
# order, so they train the same weights.  The setting of torch's MKL makes products of
# matrices slow, so only pipelines have it (`forked.ENVIRONMENT`).
os.environ["ATEN_CPU_CAPABILITY"] = "avx2"  # torch
os.environ["DNNL_MAX_CPU_ISA"] = "AVX2"  # torch's oneDNN
os.environ["OPENBLAS_CORETYPE"] = "Haswell"  # numpy, scipy and faiss
os.environ["FAISS_SIMD_LEVEL"] = "AVX2"
os.environ["NPY_DISABLE_CPU_FEATURES"] = "X86_V4 AVX512_ICL AVX512_SPR"
# With one thread, the order of additions is fixed, so training is reproducible.  Also,
# threads of several test workers do not compete for two cores.  torch reads this
# variable when it is imported.
os.environ["OMP_NUM_THREADS"] = "1"
# These files take longest; they run first, in this order, so that no worker still runs
# one at the end.
LONG_FILES = (
    "test_sample.py",
    "test_acord_real.py",
    "test_reruns.py",
    "test_slurm.py",
    "test_faults.py",
)
# Seconds for a test outside tests/unit: the first one that needs the whole sample waits
# until it has run.
PIPELINE_TIMEOUT = 1800
# ACORD's tables that need no training.  Rows of linear models are left out because no
# test reads them, and those of MiniLM because it takes minutes to encode all clauses;
# test_acord_real.py encodes some of them.
ACORD_TABLES = (
    "table2",
    "table_c1",
    "table_c2",
    "table_c3",
    "figure_c1",
    "table_d3",
    "table_d5",
    "table3",
    "table_e1",
    "table_e2",
)
LEFT_OUT = [
    "BM25, words and a linear model / None",
    "BM25, words, MiniLM and a linear model / None",
    "Bi-Encoder-MiniLM / None",
    "BM25 + MiniLM, mean of standardised scores / None",
    "BM25 + MiniLM, with feedback / None",
]


def pytest_configure(config: pytest.Config) -> None:
    """All workers of pytest-xdist use one server of jobs, because its imports take
    seconds.
    """
    if not hasattr(config, "workerinput"):
        os.environ[forked.PATH_NAME] = forked.interpreter()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run `LONG_FILES` first, and give tests outside tests/unit more time."""
    place = {name: number for number, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))
    for item in items:
        if "unit" not in item.path.parts:
            item.add_marker(pytest.mark.timeout(PIPELINE_TIMEOUT))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their parameter: packed files contain the time, and names must
    not.
    """
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Search no garbage while tests and libraries are imported."""
    gc.disable()
    try:
        return (yield)
    finally:
        never_search_again()
        gc.enable()


@pytest.fixture(autouse=True, scope="module")
def only_objects_of_this_file_are_searched() -> Iterator[None]:
    """Search only the objects of one test file for garbage."""
    yield
    never_search_again()


def never_search_again() -> None:
    """Exclude all objects that exist now from later searches for garbage.

    Each training searches for garbage, which takes half a second with a million objects
    of libraries and earlier tests.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Folder of the real raw data; tests that need it are skipped if it is missing."""
    folder = (ROOT / os.environ.get("LEXTABLES_MIRROR", "../shared/mirror")).resolve()
    if not folder.is_dir():
        pytest.skip(
            f"no real data: there is no folder {folder} (set LEXTABLES_MIRROR to a mirror)"
        )
    return folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Return a function that gives a folder shared by all pytest-xdist workers; the
    first call builds it.
    """
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder_of(name: str, build: Callable[[Path], None]) -> Path:
        folder = base / name
        built = base / f"{name}.built"
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
    """Folder of a finished run on the whole sample.

    It has all tables, while the report of a user's run shows some of them. Only
    tests/workflow/test_sample.py changes it; `sample_outputs` has the digests of the
    unchanged results, and `sample_values` their snapshot.
    """

    def build(folder: Path) -> None:
        for target in ("tables", "all"):
            run = forked.pipeline(folder, target)
            assert run.code == 0, run.output[-4000:]
        digests = faults.Place(folder, ()).outputs()
        folder.with_suffix(".json").write_text(json.dumps(digests), encoding="utf-8")
        snapshot.write(folder / faults.RESULTS, folder.with_suffix(".values"))

    return shared("sample", build)


@pytest.fixture(scope="session")
def sample_outputs(sample_run) -> dict[str, str]:
    """Return {result: digest} of the finished sample run; the digests ignore times."""
    return json.loads(sample_run.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def sample_values(sample_run) -> Path:
    """Folder of the snapshot of the finished sample run (see `snapshot`)."""
    return sample_run.with_suffix(".values")


@pytest.fixture(scope="session")
def release_results(shared, mirror) -> Path:
    """Results on real data (read-only): ACORD's tables that need no training, and
    CUAD's data set.
    """
    config = (
        "data=release",
        f"mirror={mirror}",
        "models=available",
        "papers=[acord,cuad]",
        "device=cpu",
        f"exclude_rows={json.dumps(LEFT_OUT)}",
    )
    targets = [
        *(f"acord_{name}" for name in ACORD_TABLES),
        "results/data/cuad/census.json",
    ]

    def build(folder: Path) -> None:
        run = forked.pipeline(folder, *targets, "--config", *config)
        assert run.code == 0, run.output[-4000:]

    return shared("release", build) / "results"


@pytest.fixture(scope="session")
def read_for(tmp_path_factory):
    """A function that reads a file of predictions for a task (see
    `submitted_files.reader`).
    """
    from helpers.submitted_files import reader

    return reader(tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("policies"))


@pytest.fixture
def serve():
    """Return a function that starts a server until the test ends (see
    `language_model_server.serving`).
    """
    from helpers.language_model_server import serving

    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(serving(answer))
