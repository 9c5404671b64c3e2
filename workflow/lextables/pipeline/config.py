"""The configuration: flat keys, each checked; an error names the key, the value and what is allowed."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from lextables.pipeline import user_rows
from lextables.pipeline.errors import BadInput
from lextables.pipeline.redaction import redacted

# Marks of keys.  Pages and exports show the keys that change a result; they are read by other people.
LOCAL = "local"  # changes no result, or describes this machine or a person: never shown
PLACE = "place"  # changes a result, but may be a path on this machine: the path is not shown
A_PLACE = "<path>"  # shown instead of it


def _expanded(path: str) -> str:
    """Return a path with the home folder in place of ``~`` or ``~user``, where a shell would put it."""
    if path.startswith("~"):
        # If no user has this name, the name of the file begins with ~.
        with contextlib.suppress(RuntimeError):
            path = str(Path(path).expanduser())
    if "\0" in path or any(len(os.fsencode(part)) > LONGEST_NAME for part in path.split("/")):
        raise ValueError(f"no file can have this name; a name has at most {LONGEST_NAME} bytes and no NUL")
    return path


LONGEST_NAME = 255  # bytes, in all common file systems


def _only_item(value: Any) -> Any:
    """Return the only item of a list.

    Snakemake reads a value on the command line as YAML without its quotes, but keeps quotes in brackets: they
    are the only way to pass a path with ``#``, a colon and a blank, or a line break.
    """
    return value[0] if isinstance(value, list) and len(value) == 1 else value


# A path in the configuration; every key with a path has this type.
UserPath = Annotated[str, BeforeValidator(_only_item), AfterValidator(_expanded)]


class UserRow(BaseModel):
    """Common fields of a user's model and a user's predictions: the row's name and the model's training data.

    ``trained_on`` are data sets or splits (`papers.trained_on`); without it they are unknown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(pattern=r"^[^/\n]{1,60}$")
    trained_on: tuple[str, ...] | None = None

    @field_validator("trained_on", "file", mode="before", check_fields=False)
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @property
    def key(self) -> str:
        """The row's name in paths; it differs from the keys of all registered models."""
        return user_rows.key(self.name)


class ExtraModel(UserRow):
    """A user's model: the row ``name`` in every table that fits a model of its kind.

    ``model`` is a folder, a hub id, of a `language-model` also a GGUF file, and of a `language-model-api` its
    name on the server of config key ``llm``.  ``endpoint`` is the kind of request to a language model:
    turns of a conversation (`chat`, the default), or the continuation of a text (`completions`).
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
    revision: str | None = None
    endpoint: Literal["chat", "completions"] | None = None

    @model_validator(mode="after")
    def _endpoint_of_a_language_model(self) -> "ExtraModel":
        if self.endpoint and not self.kind.startswith("language-model"):
            raise ValueError(f"endpoint is for language models, but the kind is {self.kind}")
        return self


class ExtraPredictions(UserRow):
    """A user's existing predictions: the row ``name`` in every table that they fit.

    ``paper`` is a paper or one of its data sets; several ``file`` are one per seed.
    """

    paper: str = Field(min_length=1)
    file: Annotated[tuple[Annotated[UserPath, Field(min_length=1)], ...], PLACE] = Field(min_length=1)
    format: Literal["trec", "csv", "jsonl", "nbest"] | None = None


# Resources that cluster jobs can request in addition to a GPU, by the names of the rules' resources.
GpuResource = Literal[
    *("constraint", "gpu_model", "gres", "qos", "cpus_per_gpu"),
    *("slurm_account", "slurm_partition", "slurm_extra"),
]


class Config(BaseModel):
    """The effective configuration; `config.yaml` says when to change each key."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    data: Literal["sample", "release"] = "sample"
    mirror: Annotated[tuple[UserPath, ...], LOCAL] = ()
    models: Literal["sample", "available", "paper"] = "sample"
    papers: tuple[str, ...] = Field(min_length=1)
    caselaw: tuple[Annotated[str, Field(pattern=r"^[a-z0-9-]+(:[0-9]{1,6}(-[0-9]{1,6})?)?$")], ...] = Field(
        default=("us",), min_length=1
    )
    volumes_a_job: Annotated[int, LOCAL] = Field(default=10, strict=True, gt=0)
    bad_volumes: Literal["stop", "skip"] = "stop"
    difficulty_filters: bool = True
    test_share: Annotated[float, Field(gt=0, le=0.5)] | Literal["auto"] = "auto"
    parser: Annotated[UserPath, PLACE] = Field(default="auto", min_length=1)
    encoder: str = Field(default="auto", min_length=1)
    lawngnli_data: Literal["built", "released"] = "built"
    bulk_export: Annotated[UserPath, PLACE] = ""
    edgar_quarters: tuple[Annotated[str, Field(pattern=r"^\d{4}-QTR[1-4]$")], ...] = ()
    edgar_contact: Annotated[str, LOCAL] = ""
    edgar_forms: tuple[str, ...] = ("10-K", "10-Q", "8-K", "S-1", "S-1/A")
    edgar_exhibits: tuple[str, ...] = ("EX-10",)
    edgar_base: Annotated[str, LOCAL] = Field(
        default="https://www.sec.gov/Archives/", pattern=r"^https?://[^@\s]+/$"
    )
    released_checkpoints: bool = True
    hyperparameters: Literal["published", "search"] = "published"
    contract: Annotated[UserPath, LOCAL] = ""
    # Braces in a path of an input would be wildcards of the workflow.
    traffic_ranks: Annotated[UserPath, PLACE] = Field(default="", pattern=r"^[^{}]*$")
    review_model: Annotated[str, LOCAL] = Field(default="auto", min_length=1)
    extra_models: tuple[ExtraModel, ...] = ()
    extra_predictions: tuple[ExtraPredictions, ...] = ()
    exclude_rows: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    # The range of seeds that every library accepts.
    seeds: tuple[Annotated[int, Field(strict=True, ge=0, lt=2**32)], ...] = Field(
        default=(0, 1, 2), min_length=1
    )
    grid: Literal["auto", "sample", "small", "paper"] = "auto"
    device: Annotated[Literal["auto", "cpu", "cuda"], LOCAL] = "auto"
    gpu_resources: Annotated[dict[GpuResource, str | int], LOCAL] = {}
    # A user name or password in a URL would be written to records and logs.
    llm: Annotated[str, LOCAL] = Field(default="", pattern=r"^(https?://[^@\s?#]+)?$")
    llm_budget: Annotated[float, LOCAL] = Field(default=5.0, ge=0, allow_inf_nan=False)
    llm_tokens: Annotated[int, LOCAL] = Field(default=0, strict=True, ge=0)
    llm_concurrency: Annotated[int, LOCAL] = Field(default=4, strict=True, gt=0)
    llm_requests_a_minute: Annotated[int, LOCAL] = Field(default=0, strict=True, ge=0)

    @field_validator("mirror", mode="before")
    @classmethod
    def _folders(cls, value: Any) -> Any:
        if value is None or value == "":
            return ()
        return (value,) if isinstance(value, str) else value

    @field_validator(
        *("papers", "caselaw", "extra_models", "extra_predictions", "exclude_rows"),
        *("edgar_quarters", "edgar_forms", "edgar_exhibits"),
        mode="before",
    )
    @classmethod
    def _several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str | int | Mapping) else value

    @field_validator("seeds", mode="before")
    @classmethod
    def _numbers(cls, value: Any) -> Any:
        # Items of a list on the command line are strings.
        values = value if isinstance(value, list | tuple) else (value,)
        return tuple(int(n) if isinstance(n, str) and n.isdecimal() else n for n in values)

    @field_validator("papers", "seeds", mode="after")
    @classmethod
    def _in_order_once(cls, value: tuple) -> tuple:
        return tuple(sorted(set(value)))

    @model_validator(mode="after")
    def _names_differ(self) -> "Config":
        # One system may have predictions for several data sets.
        predicted = dict.fromkeys(extra.name for extra in self.extra_predictions)
        user_rows.check_names([*(model.name for model in self.extra_models), *predicted])
        return self

    @model_validator(mode="after")
    def _a_server_for_its_models(self) -> "Config":
        served = [model.name for model in self.extra_models if model.kind == "language-model-api"]
        if served and not self.llm:
            raise ValueError(f"{served[0]} is a language-model-api, but llm is empty")
        return self

    def excluded(self, paper: str) -> set[str]:
        """The names of excluded rows of a paper, including names without a paper."""
        return {name.removeprefix(f"{paper}/") for name in self.exclude_rows}

    def heading(self, gpu: bool) -> str:
        """One line with the values of the most important keys, and the reason for values of ``auto``."""
        gpu_state = f"device={self.device}" if self.device != "auto" else "a GPU" if gpu else "no GPU found"
        grid, device = self.grid_name(gpu), self.device
        if self.grid == "auto":
            grid += f" ({'sample data' if self.data == 'sample' else gpu_state})"
        if self.device == "auto":
            device = f"{'cuda' if gpu else 'cpu'} ({gpu_state})"
        papers = ",".join(self.papers)
        return f"data={self.data}, models={self.models}, grid={grid}, device={device}, papers={papers}"

    @property
    def results(self) -> str:
        """The folder of all results; the sample and the release have different ones."""
        return "results/sample" if self.data == "sample" else "results"

    def grid_name(self, gpu: bool) -> str:
        """The name of the search grid; with ``grid: auto`` it depends on whether training has a ``gpu``."""
        if self.grid != "auto":
            return self.grid
        return "sample" if self.data == "sample" else "paper" if gpu else "small"

    def mirrors(self, root: Path) -> list[Path]:
        """The folders searched before any URL; for the sample, only the included one."""
        if self.data == "sample":
            return [root / "resources/sample"]
        return self.named_mirrors(root)

    def named_mirrors(self, root: Path) -> list[Path]:
        """The folders in ``mirror``, even if ``data`` does not use them."""
        return [(root / folder).resolve() for folder in self.mirror]


def published(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of a configuration that pages and exports may show, without paths."""
    return _without_places(Config, values)


def _without_places(entry: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    shown = {}
    for name, value in values.items():
        field = entry.model_fields.get(name)
        if field is None or LOCAL in field.metadata:
            continue
        if name in ENTRIES:
            value = [_without_places(ENTRIES[name], each) for each in value or ()]
        elif PLACE in field.metadata and isinstance(value, list | tuple):
            value = [A_PLACE for _ in value]
        elif PLACE in field.metadata and _is_place(value):
            value = A_PLACE
        shown[name] = value
    return shown


def _is_place(value: str) -> bool:
    """Whether a value is a path, and not a word or the id of a model on the hub."""
    if not value:
        return False
    is_path = value.startswith(("/", "~", ".")) or "\\" in value or value.count("/") > 1
    return is_path or Path(value).expanduser().exists()


def load(values: Mapping[str, Any], known_papers: list[str], root: Path) -> Config:
    """Check Snakemake's mapping of keys to values and return the `Config`.

    Raises `BadInput` with one sentence for the first error: an unknown key, a bad value, a paper that
    the registry does not have, a mirror folder or a file that does not exist.
    """
    try:
        config = Config.model_validate(dict(values))
    except ValidationError as error:
        raise BadInput(
            _sentence(_first(error.errors())),
            where="config",
            do="correct it in config.yaml or after --config",
        ) from None
    for paper in config.papers:
        if paper not in known_papers:
            raise BadInput(
                f"papers = {paper!r} is not a paper of the registry",
                where="config",
                do=f"choose from {', '.join(known_papers)}, several in brackets: papers='[…,…]'",
            )
    if config.traffic_ranks and not (root / config.traffic_ranks).is_file():
        raise BadInput(
            f"traffic_ranks = {config.traffic_ranks!r} is not a file",
            where="config",
            do="name an existing file or leave it empty",
        )
    for folder in config.named_mirrors(root):
        if not folder.is_dir():
            raise BadInput(
                f"mirror = {str(folder)!r} is not a folder",
                where="config",
                do="name an existing folder or leave mirror empty",
            )
    return config


# Descriptions of values with a pattern, by the last part of the key.
PATTERNS = {
    "caselaw": "a reporter, optionally with a volume or a range, such as us or us:436-544; or all",
    "edgar_quarters": "a year and its quarter, such as 2020-QTR1",
    "edgar_base": "a URL with a slash at its end and no @, such as https://www.sec.gov/Archives/",
    "traffic_ranks": "a path without braces",
    "llm": "empty, or a URL that begins with http:// or https:// and has no @, ? or #",
    "name": "1 to 60 characters without slash and line end",
}
# Descriptions of allowed values by pydantic's type of error, without Python terms.
KINDS = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "dict_type": "keys with values, such as {{constraint: a100}}",
    "greater_than": "a whole number above {gt}",
    "greater_than_equal": "a whole number, 0 to 4294967295",
    "less_than": "a whole number, 0 to 4294967295",
    "literal_error": "{expected}",
    "model_type": "keys with values, such as {{{keys}}}",
    "string_too_short": "at least one character",
    "string_type": "text; put quotes around it if it looks like a number, a date, true or false, and on the "
    """command line also brackets around a path that is no plain YAML, as in contract='["NDA: #4.txt"]'""",
    "too_short": "at least one",
    "tuple_type": "one value or a list",
}
# Descriptions of allowed numbers by key, for any type of error.
NUMBERS = {
    "test_share": "auto, or a share above 0 and at most 0.5",
    "seeds": "whole numbers from 0 to 4294967295, such as seeds='[0,1,2]'",
    "llm_budget": "dollars, 0 or more",
    "llm_tokens": "a whole number, 0 or more",
    "llm_concurrency": "a whole number above 0",
    "llm_requests_a_minute": "a whole number, 0 or more",
}
# The classes of entries of keys with several entries.
ENTRIES = {"extra_models": ExtraModel, "extra_predictions": ExtraPredictions}


def _first(faults: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The error to report: a misspelt key has priority over the key that is missing because of it."""
    return min(faults, key=lambda fault: fault["type"] != "extra_forbidden")


def _sentence(fault: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in fault["loc"] if part != "[key]") or " and ".join(ENTRIES)
    if fault["type"] == "extra_forbidden":
        scope = ENTRIES[fault["loc"][0]] if len(fault["loc"]) > 1 else Config
        near = get_close_matches(str(fault["loc"][-1]), scope.model_fields, n=1)
        suggestion = f"nearest: {near[0]}" if near else f"known: {', '.join(scope.model_fields)}"
        return f"{key} is not a known key ({suggestion})"
    field = Config.model_fields.get(str(fault["loc"][0])) if fault["loc"] else None
    annotation = field.annotation if field else None
    if get_origin(annotation) is Literal:
        allowed = " or ".join(repr(choice) for choice in get_args(annotation))
        return f"{key} = {_shown(fault['input'])} is not allowed (allowed: {allowed})"
    if fault["type"] == "missing":
        return f"{key} is missing"
    if fault["type"] == "value_error":  # an error of several values, with its own message
        return f"{key}: {fault['ctx']['error']}"
    name = next(str(part) for part in reversed(fault["loc"]) if not isinstance(part, int))
    pattern = fault["type"] == "string_pattern_mismatch"
    fields = {"msg": fault["msg"], "keys": _keys(fault)} | fault.get("ctx", {})
    kind = NUMBERS.get(name) or KINDS.get(fault["type"], "{msg}").format(**fields)
    allowed = PATTERNS[name] if pattern else kind
    return f"{key} = {_shown(fault['input'])} is not allowed (allowed: {allowed})"


def _shown(value: Any) -> str:
    return "nothing" if value is None else redacted(repr(value))


def _keys(fault: Mapping[str, Any]) -> str:
    """The required keys of an entry, as ``name: …, kind: …``; empty if the error is not in an entry."""
    entry = ENTRIES.get(str(fault["loc"][0]))
    needed = [name for name, field in entry.model_fields.items() if field.is_required()] if entry else []
    return ", ".join(f"{name}: …" for name in needed)
