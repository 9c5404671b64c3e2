# What the rules of span extraction read, by their wildcards.


def windows(part, folder=WINDOWS):
    """The files of a part (train, validation, test) of a model's windows, of a length and a step in tokens."""
    files = ["features.json"] + [
        f"{kind}-{shard:02}.parquet" for shard in range(SPAN_SHARDS) for kind in ("tokens", "windows")
    ]
    return [f"{folder}/{part}/{name}" for name in files]


def windows_of(part, experiment):
    """What gives the files of a part of the windows that a run reads, by its wildcards."""

    def files(wildcards):
        given = spec(run_of(wildcards, experiment=experiment)).settings
        cut = {"length": given["max_length"], "step": given["step"]}
        return expand(windows(part), dataset=wildcards.dataset, model=wildcards.model, **cut)

    return files


def windowed(wildcards):
    """The first run that reads a model's windows, of these lengths; `BadInput` where there is none."""
    wanted = (wildcards.dataset, wildcards.model, int(wildcards.length), int(wildcards.step))
    found = {
        run: entry
        for run, entry in SPECS.items()
        if "step" in entry.settings
        and (run.paper, run.model, entry.settings["max_length"], entry.settings["step"]) == wanted
    }
    if not found:
        raise BadInput(
            "no run under this configuration reads this model's windows",
            where=f"{RESULTS}/features/spans/{wildcards.dataset}/{wildcards.model}",
        )
    # What weights come of a training, its windows are cut for before it.
    return found[min(found, key=lambda run: run.experiment == "read")]


def cutting(wildcards):
    """The settings that a model's windows depend on."""
    names = ("weights", "revision", "found", "max_length", "step", "max_question_length", "held_out")
    given = windowed(wildcards).settings
    return identified({name: given[name] for name in names})


def tokenizer_for(wildcards):
    """The folder of weights that a rule makes, whose tokenizer cuts the windows; else none."""
    return [f"{RESULTS}/{source.folder}/weights" for source in windowed(wildcards).sources]


def encoding(wildcards):
    """The settings that the vectors of units depend on; `BadInput` where no run reads them."""
    names = ("model", "weights", "revision", "found", "max_length")
    wanted = (wildcards.dataset, wildcards.encoder, int(wildcards.length))
    for run, entry in SPECS.items():
        given = entry.settings
        read = given.get("kind") == "linear" and "weights" in given
        if read and (run.paper, given["model"], given["max_length"]) == wanted:
            return identified({name: given[name] for name in names})
    where = f"{RESULTS}/features/spans/{wildcards.dataset}/{wildcards.encoder}"
    raise BadInput("no run under this configuration reads these vectors", where=where)


def pretraining_texts(wildcards):
    """The contracts of EDGAR's quarters, or the sample's own."""
    if CONFIG.data == "release":
        return edgar_contracts(wildcards)
    return data(wildcards.dataset, "contracts")
