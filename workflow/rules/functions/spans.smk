# Input functions and params of the rules of span extraction.


def windows(part, folder=WINDOWS):
    """The files of one part (train, validation or test) of a model's windows."""
    files = ["features.json"] + [
        f"{kind}-{shard:02}.parquet"
        for shard in range(SPAN_SHARDS)
        for kind in ("tokens", "windows")
    ]
    return [f"{folder}/{part}/{name}" for name in files]


def windows_of(part):
    """Input function: the files of one part of the windows that a run reads."""

    def files(wildcards):
        settings = spec(run_of(wildcards)).settings
        cut = {"length": settings["max_length"], "step": settings["step"]}
        return expand(
            windows(part), dataset=wildcards.dataset, model=wildcards.model, **cut
        )

    return files


def windowed(wildcards):
    """The spec of a run that reads these windows; raises `BadInput` if there is none."""
    wanted = (
        wildcards.dataset,
        wildcards.model,
        int(wildcards.length),
        int(wildcards.step),
    )
    readers = {
        run: entry
        for run, entry in SPECS.items()
        if "step" in entry.settings
        and (run.paper, run.model, entry.settings["max_length"], entry.settings["step"])
        == wanted
    }
    if not readers:
        raise BadInput(
            "no run under this configuration reads this model's windows",
            where=f"{RESULTS}/features/spans/{wildcards.dataset}/{wildcards.model}",
        )
    # Prefer a run before the reading: the windows are needed for training, before its weights exist.
    return readers[min(readers, key=lambda run: run.experiment == "read")]


def cutting(wildcards):
    """The settings that a model's windows depend on."""
    names = (
        "weights",
        "revision",
        "found",
        "max_length",
        "step",
        "max_question_length",
        "held_out",
    )
    settings = windowed(wildcards).settings
    return identified({name: settings[name] for name in names})


def tokenizer_for(wildcards):
    """The weights made by another rule whose tokenizer cuts the windows, if any."""
    return [
        f"{RESULTS}/{source.folder}/weights" for source in windowed(wildcards).sources
    ]


def encoding(wildcards):
    """The settings that the vectors of units depend on; raises `BadInput` if no run reads them."""
    names = ("model", "weights", "revision", "found", "max_length")
    wanted = (wildcards.dataset, wildcards.encoder, int(wildcards.length))
    for run, entry in SPECS.items():
        settings = entry.settings
        read = settings.get("kind") == "linear" and "weights" in settings
        if read and (run.paper, settings["model"], settings["max_length"]) == wanted:
            return identified({name: settings[name] for name in names})
    where = f"{RESULTS}/features/spans/{wildcards.dataset}/{wildcards.encoder}"
    raise BadInput("no run under this configuration reads these vectors", where=where)


def pretraining_texts(wildcards):
    """EDGAR's contracts, or those of the sample."""
    if CONFIG.data == "release":
        return edgar_contracts(wildcards)
    return data(wildcards.dataset, "contracts")


def release_settings(wildcards):
    """Param: the settings of the authors' weights."""
    return settings(wildcards, experiment="release", condition="as-released")
