"""The configuration: flat keys, each checked; an error names the key, the value and what is allowed."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lextables.pipeline import user_rows
from lextables.pipeline.errors import BadInput
from lextables.pipeline.redaction import redacted


class UserRow(BaseModel):
    """What a user's model and a user's predictions have: the row's name, and the model's training data.

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
        """What stands for the row in paths, where no registered model can be."""
        return user_rows.key(self.name)


class ExtraModel(UserRow):
    """A user's own model: becomes the row ``name`` in every table that a model of its kind fits.

    ``model`` is a folder, a hub id, of a `language-model` also a GGUF file, and of a `language-model-api` its
    name on the server that config key ``llm`` names.  ``endpoint`` says how a language model is asked: in
    turns of a conversation (`chat`, where nothing is said), or to go on with a text (`completions`).
    """

    kind: Literal[
        "bi-encoder",
        "cross-encoder",
        "encoder",
        "question-answering",
        "language-model",
        "language-model-api",
    ]
    model: str = Field(min_length=1)
    revision: str | None = None
    endpoint: Literal["chat", "completions"] | None = None

    @model_validator(mode="after")
    def _endpoint_of_a_language_model(self) -> "ExtraModel":
        if self.endpoint and not self.kind.startswith("language-model"):
            raise ValueError(f"endpoint is for language models, and the kind is {self.kind}")
        return self


class ExtraPredictions(UserRow):
    """Predictions that a user has already: become the row ``name`` in every table that they fit.

    ``paper`` is a paper or one of its data sets; of several ``file`` each is another seed's.
    """

    paper: str = Field(min_length=1)
    file: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    format: Literal["trec", "csv", "jsonl", "nbest"] | None = None


# What a scheduler's jobs can ask for beside a GPU, as the rules' resources are called.
GpuResource = Literal[
    *("constraint", "gpu_model", "gres", "qos", "cpus_per_gpu"),
    *("slurm_account", "slurm_partition", "slurm_extra"),
]


class Config(BaseModel):
    """The effective configuration; `config.yaml` says when to change each key."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    data: Literal["sample", "release"] = "sample"
    mirror: tuple[str, ...] = ()
    models: Literal["sample", "available", "paper"] = "sample"
    papers: tuple[str, ...] = Field(min_length=1)
    caselaw: tuple[Annotated[str, Field(pattern=r"^[a-z0-9-]+(:[0-9]{1,6}(-[0-9]{1,6})?)?$")], ...] = Field(
        default=("us",), min_length=1
    )
    volumes_a_job: int = Field(default=10, strict=True, gt=0)
    bad_volumes: Literal["stop", "skip"] = "stop"
    difficulty_filters: bool = True
    test_share: Annotated[float, Field(gt=0, le=0.5)] | Literal["auto"] = "auto"
    parser: str = Field(default="auto", min_length=1)
    encoder: str = Field(default="auto", min_length=1)
    lawngnli_data: Literal["built", "released"] = "built"
    bulk_export: str = ""
    edgar_quarters: tuple[Annotated[str, Field(pattern=r"^\d{4}-QTR[1-4]$")], ...] = ()
    edgar_contact: str = ""
    edgar_forms: tuple[str, ...] = ("10-K", "10-Q", "8-K", "S-1", "S-1/A")
    edgar_exhibits: tuple[str, ...] = ("EX-10",)
    edgar_base: str = Field(default="https://www.sec.gov/Archives/", pattern=r"^https?://[^@\s]+/$")
    released_checkpoints: bool = True
    hyperparameters: Literal["published", "search"] = "published"
    # Braces in a path would be wildcards of the workflow.
    contract: str = Field(default="", pattern=r"^[^{}]*$")
    traffic_ranks: str = Field(default="", pattern=r"^[^{}]*$")
    review_model: str = Field(default="auto", min_length=1)
    extra_models: tuple[ExtraModel, ...] = ()
    extra_predictions: tuple[ExtraPredictions, ...] = ()
    exclude_rows: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    # What every library takes for a seed.
    seeds: tuple[Annotated[int, Field(strict=True, ge=0, lt=2**32)], ...] = Field(
        default=(0, 1, 2), min_length=1
    )
    grid: Literal["auto", "sample", "small", "paper"] = "auto"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    gpu_resources: dict[GpuResource, str | int] = {}
    # A name or a password in an address would stand in records and logs.
    llm: str = Field(default="", pattern=r"^(https?://[^@\s?#]+)?$")
    llm_budget: float = Field(default=5.0, ge=0, allow_inf_nan=False)
    llm_tokens: int = Field(default=0, strict=True, ge=0)
    llm_concurrency: int = Field(default=4, strict=True, gt=0)
    llm_requests_a_minute: int = Field(default=0, strict=True, ge=0)

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
        # A list on the command line holds texts.
        several = value if isinstance(value, list | tuple) else (value,)
        return tuple(int(n) if isinstance(n, str) and n.isdecimal() else n for n in several)

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
            raise ValueError(f"{served[0]} is a language-model-api, and llm names no server")
        return self

    def excluded(self, paper: str) -> set[str]:
        """The names of the rows of a paper that are left out; any paper's, where no paper is named."""
        return {name.removeprefix(f"{paper}/") for name in self.exclude_rows}

    def heading(self, gpu: bool) -> str:
        """One line for the head of a plan: what the keys that decide most came to, and why for ``auto``."""
        found = f"device={self.device}" if self.device != "auto" else "a GPU" if gpu else "no GPU found"
        grid, device = self.grid_name(gpu), self.device
        if self.grid == "auto":
            grid += f" ({'sample data' if self.data == 'sample' else found})"
        if self.device == "auto":
            device = f"{'cuda' if gpu else 'cpu'} ({found})"
        papers = ",".join(self.papers)
        return f"data={self.data}, models={self.models}, grid={grid}, device={device}, papers={papers}"

    @property
    def results(self) -> str:
        """Where everything made lies; the sample's outputs never share a file with the release's."""
        return "results/sample" if self.data == "sample" else "results"

    def grid_name(self, gpu: bool) -> str:
        """The grid that is searched; ``gpu`` says whether training will find one, for ``grid: auto``."""
        if self.grid != "auto":
            return self.grid
        return "sample" if self.data == "sample" else "paper" if gpu else "small"

    def mirrors(self, root: Path) -> list[Path]:
        """The folders tried before any address; for the sample, only the embedded one."""
        if self.data == "sample":
            return [root / "resources/sample"]
        return self.named_mirrors(root)

    def named_mirrors(self, root: Path) -> list[Path]:
        """The folders that ``mirror`` names, whether this data is looked for in them or not."""
        return [(root / Path(folder).expanduser()).resolve() for folder in self.mirror]


def load(values: Mapping[str, Any], known_papers: list[str], root: Path) -> Config:
    """Check the raw key-value mapping that Snakemake hands over and return the `Config`.

    Raises `BadInput` with one sentence for the first fault: an unknown key, a bad value, a paper that
    the registry does not have, a mirror folder or a file that does not exist.
    """
    try:
        config = Config.model_validate(dict(values))
    except ValidationError as error:
        raise BadInput(
            _sentence(_first(error.errors())), where="config", do="mend it in config.yaml or after --config"
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


# What a value of a pattern looks like; the last part of a key finds it.
PATTERNS = {
    "caselaw": "a reporter alone or with a volume or a range of them, such as us or us:436-544, or all",
    "edgar_quarters": "a year and its quarter, such as 2020-QTR1",
    "edgar_base": "an address with a slash at its end and no @, such as https://www.sec.gov/Archives/",
    "contract": "a path without braces",
    "traffic_ranks": "a path without braces",
    "llm": "an address that begins with http:// or https:// and holds no @, ? or #, or nothing",
    "name": "1 to 60 characters, no slash and no line end among them",
}
# What a value of a kind is, by pydantic's name for the fault, in words that name no Python.
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
    "string_too_short": "one character at least",
    "string_type": "text; put quotes around it where it reads as a number, a date, true or false",
    "too_short": "one at least",
    "tuple_type": "one value or a list",
}
# What the number of a key is, whatever is amiss with it.
NUMBERS = {
    "test_share": "auto, or a share of one, above 0 and 0.5 at most",
    "seeds": "whole numbers, 0 to 4294967295, several as seeds='[0,1,2]'",
    "llm_budget": "dollars, 0 or more",
    "llm_tokens": "a whole number, 0 or more",
    "llm_concurrency": "a whole number above 0",
    "llm_requests_a_minute": "a whole number, 0 or more",
}
# What an entry of a key that holds several looks like.
ENTRIES = {"extra_models": ExtraModel, "extra_predictions": ExtraPredictions}


def _first(faults: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The fault to speak of: a misspelt key before the one that is therefore missing."""
    return min(faults, key=lambda fault: fault["type"] != "extra_forbidden")


def _sentence(fault: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in fault["loc"] if part != "[key]") or " and ".join(ENTRIES)
    if fault["type"] == "extra_forbidden":
        scope = ENTRIES[fault["loc"][0]] if len(fault["loc"]) > 1 else Config
        near = get_close_matches(str(fault["loc"][-1]), scope.model_fields, n=1)
        known = f"nearest: {near[0]}" if near else f"known: {', '.join(scope.model_fields)}"
        return f"{key} is not a known key ({known})"
    field = Config.model_fields.get(str(fault["loc"][0])) if fault["loc"] else None
    annotation = field.annotation if field else None
    if get_origin(annotation) is Literal:
        allowed = " or ".join(repr(choice) for choice in get_args(annotation))
        return f"{key} = {_shown(fault['input'])} is not allowed (allowed: {allowed})"
    if fault["type"] == "missing":
        return f"{key} is missing"
    if fault["type"] == "value_error":  # a fault of several values together: its words say it all
        return f"{key}: {fault['ctx']['error']}"
    name = next(str(part) for part in reversed(fault["loc"]) if not isinstance(part, int))
    pattern = fault["type"] == "string_pattern_mismatch"
    said = {"msg": fault["msg"], "keys": _keys(fault)} | fault.get("ctx", {})
    kind = NUMBERS.get(name) or KINDS.get(fault["type"], "{msg}").format(**said)
    allowed = PATTERNS[name] if pattern else kind
    return f"{key} = {_shown(fault['input'])} is not allowed (allowed: {allowed})"


def _shown(value: Any) -> str:
    return "nothing" if value is None else redacted(repr(value))


def _keys(fault: Mapping[str, Any]) -> str:
    """The keys that an entry needs, as in ``name: …, kind: …``; empty where the fault is in no entry."""
    entry = ENTRIES.get(str(fault["loc"][0]))
    needed = [name for name, field in entry.model_fields.items() if field.is_required()] if entry else []
    return ", ".join(f"{name}: …" for name in needed)
