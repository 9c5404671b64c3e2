"""The configuration: flat keys, each checked; an error names the key, the value and
what is allowed.
"""

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    HttpUrl,
    TypeAdapter,
    field_validator,
    model_validator,
)

from lextables.pipeline import removed, user_rows
from lextables.pipeline.checked import checked
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.pipeline.redaction import redacted, without_url_secrets

# Marks of keys, in their annotations.  Pages and exports, which other people read, show
# only what changes a result, and no paths (`published`).
LOCAL = "local"  # changes no result, or describes this machine or a person: never shown
PLACE = "place"  # changes a result, but may be a path on this machine: the path is not shown
A_PLACE = "<path>"  # shown instead of the path


# A rehearsal runs every published row that can run, with short trainings on the sample.
# These are the folders of its results, by the config key models.
REHEARSALS = {
    "sample": "rehearsal",
    "available": "rehearsal-available",
    "paper": "rehearsal-paper",
}
TINY = "tiny"  # the mirror with a rehearsal's models (`models.tiny`), in that folder
LONGEST_NAME = 255  # bytes, in all common file systems


def _usable(path: str) -> str:
    """Return a path with the home folder in place of ``~`` or ``~user``, where a shell
    would put it.

    Raises `ValueError` for a path that no file can have, or whose file or folder this
    user cannot read.  A missing file is reported where it is needed.
    """
    if path.startswith("~"):
        # If no user has this name, the name of the file begins with ~.
        with contextlib.suppress(RuntimeError):
            path = str(Path(path).expanduser())
    longest = max(len(os.fsencode(part)) for part in path.split("/"))
    if "\0" in path or longest > LONGEST_NAME:
        raise ValueError(
            f"no file can have this name; a name has at most {LONGEST_NAME} bytes and no NUL"
        )
    try:
        path.encode()
        exists = Path(path).exists()
    except UnicodeEncodeError:
        raise ValueError(
            f"{path!r} is not UTF-8; rename the file or the folder"
        ) from None
    except OSError as error:
        raise ValueError(f"{path!r} cannot be read ({error.strerror})") from None
    if exists and not os.access(Path(path), os.R_OK):
        raise ValueError(f"{path!r} cannot be read; change its permissions")
    return path


def _only_item(value: Any) -> Any:
    """Return the only item of a list.

    Snakemake removes the quotes around a value on the command line and reads the rest
    as YAML, but keeps quotes within brackets.  So a path with ``#``, with a colon and a
    blank, or with a line break can only be passed in brackets.
    """
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


# A path in the configuration; every key with a path has this type.
UserPath = Annotated[str, BeforeValidator(_only_item), AfterValidator(_usable)]


_WHOLE = re.compile("[0-9]{1,19}")  # a whole number, for `_number`


def _address(url: str) -> str:
    """Return the URL of a server; `ValueError` if no request can be sent to it."""
    if not url:
        return url
    try:
        host = TypeAdapter(HttpUrl).validate_python(url).host or ""
        host.encode("idna")  # fails if the host's name or a part of it is too long
    except ValueError:
        raise ValueError(
            f"{url!r:.80} is no address of a server; correct its host or its port"
        ) from None
    return url


def _number(value: Any) -> Any:
    """Return a string of digits as an integer; other values as they are.

    Numbers in a list on the command line may be strings.
    """
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    return value


# A user name or password in a URL would be written to records and logs.
Address = Annotated[
    str,
    Field(
        pattern=r"^(https?://[^@\s?#]+)?$",
        description="empty, or a URL that begins with http:// or https:// and has no @, ? or #",
    ),
    AfterValidator(_address),
]
ArchiveAddress = Annotated[
    str,
    Field(
        pattern=r"^https?://[^@\s?#]+/$",
        description="a URL with a slash at its end and without @, ? and #, such as https://www.sec.gov/Archives/",
    ),
    AfterValidator(_address),
]
Line = Annotated[
    str,
    Field(
        pattern=r"^[^\x00-\x1f\x7f-\x9f]*$",
        max_length=1000,
        description="text in one line",
    ),
]
Word = Annotated[Line, Field(min_length=1, description="text in one line, not empty")]
# At most 10**12: Python neither reads nor writes an integer of more than 4,300 digits.
Limit = Annotated[int, Field(strict=True, ge=0, le=10**12)]
Count = Annotated[Limit, Field(ge=1)]


def listed(value: Any, single: Any) -> Any:
    """Return a value of the type ``single`` as the only item of a tuple; others as they
    are.

    So a single value of a key with several values needs no brackets.
    """
    if isinstance(value, single):
        return (value,)
    return value


class UserRow(BaseModel):
    """Common fields of a user's model and a user's predictions: the row's name and the
    model's training data.

    ``trained_on`` are data sets or splits (`planning.trained_on`); without it the
    training data are unknown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(
        pattern=r"^[^/\n]{1,60}$",
        description="1 to 60 characters without slash and line end",
    )
    trained_on: tuple[Word, ...] | None = None

    @field_validator("trained_on", "file", mode="before", check_fields=False)
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return listed(value, str)

    @property
    def key(self) -> str:
        """The row's name in paths; it differs from the keys of all registered
        models.
        """
        return user_rows.key(self.name)


class ExtraModel(UserRow):
    """A user's model: the row ``name`` in every table that fits a model of its kind.

    ``model`` is a folder or a hub id.  For a `language-model` it may also be a GGUF
    file, and for a `language-model-api` it is the model's name on the server of config
    key ``llm``.  ``endpoint`` is the kind of request to a language model: turns of a
    conversation (`chat`, the default), or the continuation of a text (`completions`).
    """

    kind: Literal[
        "bi-encoder",
        "cross-encoder",
        "encoder",
        "question-answering",
        "language-model",
        "language-model-api",
    ]
    model: Annotated[UserPath, PLACE] = Field(min_length=1)
    revision: Word | None = None
    endpoint: Literal["chat", "completions"] | None = None

    @model_validator(mode="after")
    def _endpoint_of_a_language_model(self) -> "ExtraModel":
        if self.endpoint and not self.kind.startswith("language-model"):
            raise ValueError(
                f"endpoint is for language models, but the kind is {self.kind}"
            )
        return self


class ExtraPredictions(UserRow):
    """A user's existing predictions: the row ``name`` in every table that they fit.

    ``paper`` is a paper or one of its data sets.  ``file`` has one file for each seed.
    """

    paper: Word
    file: Annotated[tuple[Annotated[UserPath, Field(min_length=1)], ...], PLACE] = (
        Field(min_length=1)
    )
    format: Literal["trec", "csv", "jsonl", "nbest"] | None = None


# Resources that cluster jobs can request in addition to a GPU, by the names of the
# rules' resources.
GpuResource = Literal[
    "constraint",
    "gpu_model",
    "gres",
    "qos",
    "cpus_per_gpu",
    "slurm_account",
    "slurm_partition",
    "slurm_extra",
]


# Values of single keys.
Volumes = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9-]{1,100}(:[0-9]{1,6}(-[0-9]{1,6})?)?$",
        description="a reporter, optionally with a volume or a range, such as us or us:436-544; or all",
    ),
]
Quarter = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}-QTR[1-4]$",
        description="a year and its quarter, such as 2020-QTR1",
    ),
]

ExhibitType = Annotated[
    str,
    Field(
        pattern=r"^EX-[0-9A-Z.()-]{1,12}$",
        description="a type of exhibits, such as EX-10, EX-4 or EX-99",
    ),
]
Repository = Annotated[
    str,
    Field(
        pattern=r"^([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]{0,60})?$",
        description="an owner and the start of a name, such as org/lextables",
    ),
]

# The range of seeds that every library accepts.
Seed = Annotated[int, Field(strict=True, ge=0, le=2**32 - 1), BeforeValidator(_number)]


# Which weights a plan looks for: the config key models, or the tiny models of a
# rehearsal.
Choice = Literal["sample", "available", "paper", "tiny"]


class Config(BaseModel):
    """The effective configuration; `config.yaml` says when to change each key."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    data: Literal["sample", "release"] = "sample"
    mirror: Annotated[tuple[UserPath, ...], LOCAL] = ()
    models: Literal["sample", "available", "paper"] = "sample"
    papers: tuple[str, ...] = Field(min_length=1)
    caselaw: tuple[Volumes, ...] = Field(default=("us",), min_length=1)
    volumes_a_job: Annotated[Count | Literal["auto"], LOCAL] = "auto"
    bad_volumes: Literal["stop", "skip"] = "stop"
    difficulty_filters: bool = True
    test_share: Annotated[float, Field(gt=0, le=0.5)] | Literal["auto"] = "auto"
    parser: Annotated[UserPath, PLACE] = Field(default="auto", min_length=1)
    encoder: Word = "auto"
    lawngnli_data: Literal["built", "released"] = "built"
    bulk_export: Annotated[UserPath, PLACE] = ""
    edgar_quarters: tuple[Quarter, ...] = ()
    edgar_contact: Annotated[Line, LOCAL] = ""
    edgar_forms: tuple[Word, ...] = Field(
        default=("10-K", "10-Q", "8-K", "S-1", "S-1/A"), min_length=1
    )
    edgar_exhibits: tuple[ExhibitType, ...] = Field(default=("EX-10",), min_length=1)
    edgar_base: Annotated[ArchiveAddress, LOCAL] = "https://www.sec.gov/Archives/"
    download_minimum_rate: Annotated[Limit, LOCAL] = 1000  # bytes per second
    released_checkpoints: bool = True
    hyperparameters: Literal["published", "search"] = "published"
    contract: Annotated[UserPath, LOCAL] = ""
    # Braces in a path of an input would be wildcards of the workflow.
    traffic_ranks: Annotated[UserPath, PLACE] = Field(
        default="", pattern=r"^[^{}]*$", description="a path without braces"
    )
    review_model: Annotated[Word, LOCAL] = "auto"
    push: Annotated[Repository, LOCAL] = ""
    extra_models: tuple[ExtraModel, ...] = ()
    extra_predictions: tuple[ExtraPredictions, ...] = ()
    exclude_rows: tuple[Word, ...] = ()
    seeds: tuple[Seed, ...] = Field(default=(0, 1, 2), min_length=1)
    grid: Literal["auto", "sample", "small", "paper"] = "auto"
    rehearsal: bool = False
    device: Annotated[Literal["auto", "cpu", "cuda"], LOCAL] = "auto"
    preload: Annotated[Literal["auto", "yes", "no"], LOCAL] = "auto"
    gpu_resources: Annotated[dict[GpuResource, Word | Count], LOCAL] = {}
    max_runtime: Annotated[Limit, LOCAL] = 0
    tflops: Annotated[float, LOCAL] = Field(
        default=0.0,
        strict=True,
        ge=0,
        allow_inf_nan=False,
        description="TFLOP/s, 0 or more",
    )
    submit_small_jobs: Annotated[bool, LOCAL] = False
    llm: Annotated[Address, LOCAL] = ""
    llm_budget: Annotated[float, LOCAL] = Field(
        default=5.0,
        strict=True,
        ge=0,
        allow_inf_nan=False,
        description="dollars, 0 or more",
    )
    llm_tokens: Annotated[Limit, LOCAL] = 0
    llm_concurrency: Annotated[Count, LOCAL] = 4
    llm_requests_a_minute: Annotated[Limit, LOCAL] = 0

    @field_validator("mirror", mode="before")
    @classmethod
    def _folders(cls, value: Any) -> Any:
        if value is None or value == "":
            return ()
        return listed(value, str)

    @field_validator(
        *("papers", "caselaw", "extra_models", "extra_predictions", "exclude_rows"),
        *("edgar_quarters", "edgar_forms", "edgar_exhibits", "seeds"),
        mode="before",
    )
    @classmethod
    def _several(cls, value: Any) -> Any:
        return listed(value, str | int | float | Mapping)

    @field_validator("papers", "seeds", mode="after")
    @classmethod
    def _in_order_once(cls, value: tuple) -> tuple:
        return tuple(sorted(set(value)))

    @model_validator(mode="after")
    def _names_differ(self) -> "Config":
        # One system may have predictions for several data sets.
        predicted = dict.fromkeys(extra.name for extra in self.extra_predictions)
        user_rows.check_names(
            [*(model.name for model in self.extra_models), *predicted]
        )
        return self

    @model_validator(mode="after")
    def _rehearses_on_the_sample(self) -> "Config":
        # Few updates on a paper's own data would give its rows a verdict.
        if self.rehearsal and (self.data, self.grid) not in (
            ("sample", "auto"),
            ("sample", "paper"),
        ):
            raise ValueError(
                f"rehearsal needs data=sample and grid=auto or paper, not data={self.data} and grid={self.grid}"
            )
        return self

    @model_validator(mode="after")
    def _a_server_for_its_models(self) -> "Config":
        for model in self.extra_models:
            if model.kind == "language-model-api" and not self.llm:
                raise ValueError(
                    f"extra_models: {model.name} is a language-model-api, but llm is empty"
                )
        return self

    def excluded(self, paper: str) -> set[str]:
        """The names of excluded rows of a paper, including names without a paper."""
        return {name.removeprefix(f"{paper}/") for name in self.exclude_rows}

    def heading(self, gpu: bool) -> str:
        """One line with the values of the most important keys, and the reason for
        values of ``auto``.
        """
        grid = self.grid_name(gpu)
        device: str = self.device
        reason = f"device={device}"
        if device == "auto":
            reason = "a GPU" if gpu else "no GPU found"
            device = f"{'cuda' if gpu else 'cpu'} ({reason})"
        if self.rehearsal:
            grid += " (a rehearsal)"
        elif self.grid == "auto":
            grid += f" ({'sample data' if self.data == 'sample' else reason})"
        papers = ",".join(self.papers)
        return f"data={self.data}, models={self.models}, grid={grid}, device={device}, papers={papers}"

    @property
    def weights(self) -> Choice:
        """Which weights a plan looks for; a rehearsal has tiny models instead of the
        sample's.
        """
        if self.rehearsal and self.models == "sample":
            return "tiny"
        return self.models

    @property
    def results(self) -> str:
        """The folder of all results; the sample, the release and rehearsals have
        different ones.
        """
        if self.rehearsal:
            return f"results/{REHEARSALS[self.models]}"
        if self.data == "sample":
            return "results/sample"
        return "results"

    def grid_name(self, gpu: bool) -> str:
        """The name of the search grid; with ``grid: auto`` it depends on whether
        training has a ``gpu``.
        """
        if self.grid != "auto":
            return self.grid
        if self.rehearsal:
            return "paper"
        if self.data == "sample":
            return "sample"
        return "paper" if gpu else "small"

    def mirrors(self, root: Path) -> list[Path]:
        """The folders searched before any URL; for the sample, only the included one.

        A rehearsal with tiny models has them in a mirror of its own; one with
        models=available or models=paper also searches the named mirrors.
        """
        if self.data == "release":
            return self.named_mirrors(root)
        included = [root / "resources/sample"]
        if self.weights == "tiny":
            return [*included, Path(self.results, TINY).absolute()]
        if self.rehearsal:
            return [*included, *self.named_mirrors(root)]
        return included

    def named_mirrors(self, root: Path) -> list[Path]:
        """The folders in ``mirror``, even if ``data`` does not use them."""
        return [(root / folder).resolve() for folder in self.mirror]


# Keys whose value is a list of mappings, and the class of such a mapping, whose fields
# also have the marks `LOCAL` and `PLACE`.
ENTRIES: dict[str, type[BaseModel]] = {
    "extra_models": ExtraModel,
    "extra_predictions": ExtraPredictions,
}


def published(values: JsonObject) -> JsonObject:
    """Return the plain values of a configuration that pages and exports may show,
    without paths.
    """
    return _without_places(Config, values)


def _without_places(entry: type[BaseModel], values: JsonObject) -> JsonObject:
    """Return the ``values`` of fields of ``entry`` that may be shown (`published`)."""
    shown = {}
    for name, value in values.items():
        field = entry.model_fields.get(name)
        if field is None or LOCAL in field.metadata:
            continue
        if name in ENTRIES:
            value = [_without_places(ENTRIES[name], each) for each in value or ()]
        elif PLACE not in field.metadata:
            pass
        elif isinstance(value, list | tuple):
            value = [A_PLACE] * len(value)
        elif _is_place(value):
            value = A_PLACE
        shown[name] = value
    return shown


def _is_place(value: str) -> bool:
    """Whether a value is a path, and not a word or the id of a model on the hub."""
    if not value:
        return False
    is_path = value.startswith(("/", "~", ".")) or "\\" in value or value.count("/") > 1
    return is_path or Path(value).expanduser().exists()


KEYS = frozenset(Config.model_fields)  # of the configuration


def load(values: JsonObject, known_papers: list[str], root: Path) -> Config:
    """Check Snakemake's mapping of keys to values and return the `Config`.

    Raises `BadInput` with one sentence for the first error: an unknown key, a bad
    value, a secret in a URL, a paper that the registry does not have, a mirror folder
    or a file that does not exist.
    """
    if unknown := values.keys() - KEYS:
        removed.check(sorted(unknown), "config")
    do = "correct it in config.yaml or after --config"
    config = checked(Config, dict(values), where="config", do=do)
    for key, value in values.items():
        if without_url_secrets(str(value)) != str(value):
            what = f"{key} = {value!r} has a password or a key in a URL, which would be written to logs"
            raise BadInput(what, where="config", do="leave it out")
    for paper in config.papers:
        if paper not in known_papers:
            removed.check([paper], "config key papers")
            what = f"papers = {paper!r} is not a paper of the registry"
            choice = ", ".join(known_papers)
            do = f"choose from {choice}, several in brackets: papers='[…,…]'"
            raise BadInput(what, where="config", do=do)
    ranks = config.traffic_ranks
    if ranks and not (root / ranks).is_file():
        do = "name an existing file or leave it empty"
        raise BadInput(
            f"traffic_ranks = {ranks!r} is not a file", where="config", do=do
        )
    for folder in config.mirror:
        if not (root / folder).is_dir():
            what = f"mirror = {redacted(repr(folder))} is not a folder"
            do = "name an existing folder or leave mirror empty"
            raise BadInput(what, where="config", do=do)
    return config
