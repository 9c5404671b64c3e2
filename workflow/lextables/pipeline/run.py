"""A run: one model, one condition, one seed, and its files.

results/runs/<data set>/<experiment>/<model>/<condition>/seed<k>/
    predictions.parquet, run.json, log.txt, scores.parquet, units.parquet, and weights/
    of a training
"""

import json
import platform
import re
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel
from threadpoolctl import threadpool_info

from lextables.pipeline.content import folder_content
from lextables.pipeline.dataset import Column, Table, opened
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject, damage_named, read_json, write_result
from lextables.pipeline.version import made_by

LIBRARIES = (
    "torch",
    "transformers",
    "sentence-transformers",
    "tokenizers",
    "numpy",
    "pyarrow",
    "scikit-learn",
    "faiss-cpu",
)

SCORES = Table(
    "scores",
    "What a run scores, tidy.",
    (
        Column(
            "metric",
            pa.string(),
            "name of the metric; `, strict` where it follows the text and not the print",
        ),
        Column(
            "group",
            pa.string(),
            "what the score is over: `all`, `<dimension>: <value>`, or `pooled` (all "
            "marks together; `all` is then the mean over questions)",
        ),
        Column(
            "value",
            pa.float64(),
            "the score, in the metric's unit: 0 to 1 for most, also losses and counts; "
            "NaN where it is not defined",
            undefined=True,
        ),
        Column(
            "n",
            pa.int32(),
            "how many units (queries, examples, marks) the score is over",
        ),
    ),
    key=("metric", "group"),
)


# The parts of records that are read here; `read_json` checks them.


class RunSettings(BaseModel):
    """The settings in a run's `run.json`."""

    settings: JsonObject


class Record(RunSettings):
    """Keys that a run's `run.json` must have; it may have more."""

    device: str
    seconds: float
    libraries: dict[str, str]


class Trained(BaseModel):
    """The record of a run that wrote weights."""

    weights_content: str = ""


class Choice(BaseModel):
    """The record of a choice."""

    choice: JsonObject


class Counts(BaseModel):
    """The part of a census on the tables."""

    data: dict[str, JsonObject]


@dataclass(frozen=True, order=True)
class Run:
    """The name of a run; its parts are the parts of its folder."""

    data_set: str
    experiment: str
    model: str
    condition: str
    seed: int = 0

    @property
    def folder(self) -> str:
        """The run's folder below the results."""
        return f"runs/{self.data_set}/{self.experiment}/{self.model}/{self.condition}/seed{self.seed}"


_NOTES = "notes"  # key of a record, and of the metadata of a file with such notes
# The records of all `noting` blocks that are open now: `noted` adds to them.
_open: ContextVar[tuple[JsonObject, ...]] = ContextVar("open", default=())


@contextmanager
def recorded(path: str | Path, settings: JsonObject) -> Iterator[JsonObject]:
    """Time the block and write a run's record: settings, versions, commit, device,
    BLAS libraries, seconds, peak memory.

    The block may add to the yielded record, and so may functions that it calls
    (`noted`); ``device`` defaults to the processor.
    """
    record: JsonObject = {"settings": dict(settings), "device": processor()}
    start = time.monotonic()
    with noting(record):
        yield record
    # If finished work was reused, its record already has these values.
    record.setdefault("seconds", round(time.monotonic() - start, 1))
    record.setdefault(
        "peak_memory_mib", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    )
    record.setdefault("libraries", versions())
    record.setdefault("blas", blas())
    record.setdefault("lextables", made_by())
    _write(record, path)


@contextmanager
def noting(record: JsonObject) -> Iterator[None]:
    """Let functions that the block calls add to ``record`` (`noted`)."""
    token = _open.set((*_open.get(), record))
    try:
        yield
    finally:
        _open.reset(token)


def _write(record: JsonObject, path: str | Path) -> None:
    write_result(path, json.dumps(record, indent=2, sort_keys=True) + "\n")


@contextmanager
def recorded_all(
    paths: Sequence[str | Path], settings: Mapping[str, JsonObject]
) -> Iterator[list[JsonObject]]:
    """As `recorded` for several runs of one job, each with its own settings.

    ``settings`` are those of each run, in the order of ``paths``.  All records have the
    seconds of the whole block.
    """
    with ExitStack() as stack:
        records = []
        for path, own_settings in zip(paths, settings.values(), strict=True):
            records.append(stack.enter_context(recorded(path, own_settings)))
        yield records


def noted(name: str, add: Callable[[Any], Any]) -> None:
    """Update the value of ``name`` in the records of the job's runs by the function
    ``add``.

    The initial value is None.  Use it for observations that do not affect results.
    """
    for record in _open.get():
        record[name] = add(record.get(name))


def note_once(note: str) -> None:
    """Add a clause to the notes of the job's runs, which their tables show."""
    noted(_NOTES, lambda before: [*dict.fromkeys([*(before or []), note])])


def stored_notes(record: JsonObject) -> dict[str, str]:
    """Return the notes of ``record``, for the metadata of a parquet file."""
    return {_NOTES: json.dumps(record.get(_NOTES, []))}


def note_again(path: str | Path) -> None:
    """Add the notes that a parquet file stores (`stored_notes`) to the job's runs."""
    with damage_named(path), opened(path) as file:
        metadata = file.metadata.metadata or {}
    for note in json.loads(metadata.get(_NOTES.encode(), b"[]")):
        note_once(note)


def record_weights(path: str | Path, weights: str | Path) -> None:
    """Add the digest of the weights that a run wrote to its record at ``path``."""
    record = read_json(path, Record)
    record["weights_content"] = folder_content(weights)
    _write(record, path)


def check_weights(weights: str | Path) -> str:
    """Return the digest of the weights of a run; raise `BadInput` if they are not those
    that it wrote.
    """
    folder = Path(weights).parent
    written = read_json(folder / "run.json", Trained).get("weights_content")
    content = folder_content(weights)
    if written and written != content:
        raise BadInput(
            "the weights changed after their training",
            where=str(weights),
            do=f"delete the folder {folder}, and repeat the command, which trains again",
        )
    return content


def counts_of(census: str | Path) -> JsonObject:
    """Return the part of a census on the tables."""
    return read_json(census, Counts)["data"]


def chosen(choice: Sequence[str | Path]) -> JsonObject:
    """Return the chosen settings; empty if ``choice``, the path of their record, is
    empty.
    """
    if not choice:
        return {}
    return read_json(choice[0], Choice)["choice"]


def processor() -> str:
    """Return the name of the processor, such as ``AMD EPYC (x86_64)``."""
    name = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = re.search(r"^model name.*: (.+)$", cpuinfo.read_text(), re.MULTILINE)
        if model:
            name = model[1].strip()
    return f"{name or 'processor'} ({platform.machine()})"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that can change a number."""
    library_versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            library_versions[name] = version(name)
    return library_versions


def blas() -> list[str]:
    """Return the BLAS libraries that are loaded, such as ``openblas (Haswell)``.

    In brackets is the instruction set that the library has chosen.  With another one,
    sums differ in their last bits, and models that are trained on them a little more.
    """
    names = set()
    for library in threadpool_info():
        if library["user_api"] == "blas":
            instructions = library.get("architecture", "unknown")
            names.add(f"{library['internal_api']} ({instructions})")
    return sorted(names)


def identity(
    data: Any, code: str, device: str, start: Iterable[str] = ()
) -> JsonObject:
    """Return what identifies checkpoints or cached vectors, besides settings: data,
    code, libraries and device.

    Work with another identity is not reused.  For checkpoints ``device`` is the kind of
    device (`models.device.kind`), because a retry may get another GPU of this kind.
    ``start`` are the digests of the weights that a training starts from.
    """
    fields = {"data": data, "code": code, "libraries": versions(), "device": device}
    contents = list(start)
    if contents:
        fields["start"] = contents
    return fields
