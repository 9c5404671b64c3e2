# What the rules of classification read, by their wildcards.


def examples_and_heads(wildcards):
    """The examples and the heads that they are of."""
    return data(wildcards.dataset, "examples", CLASSIFICATION[wildcards.dataset].names.heads)


def tokens_of(experiment):
    """What gives the tokens that a run reads."""

    def file(wildcards):
        length = spec(run_of(wildcards, experiment=experiment)).settings["max_length"]
        return TOKENS.format(dataset=wildcards.dataset, model=wildcards.model, length=length)

    return file


def tokenizer_of(wildcards):
    """The settings of the weights whose tokenizer cuts a model's texts."""
    first = next(
        entry.settings
        for run, entry in SPECS.items()
        if (run.paper, run.model) == (wildcards.dataset, wildcards.model) and "weights" in entry.settings
    )
    return identified({name: first[name] for name in ("model", "weights", "revision", "found")})


def splits_of(*parts):
    """What gives the splits of these parts of a data set."""
    return lambda wildcards: [list(getattr(CLASSIFICATION[wildcards.dataset], part)) for part in parts]


def classified_texts(wildcards):
    """The examples, the heads and the texts that they ask about."""
    return [
        *examples_and_heads(wildcards),
        *data(wildcards.dataset, CLASSIFICATION[wildcards.dataset].names.texts),
    ]


def encoder_of(wildcards):
    """The settings of the weights that encode the texts of a data set for its linear models."""
    found = next(
        entry.settings
        for run, entry in SPECS.items()
        if run.paper == wildcards.dataset
        and entry.settings.get("kind") == "linear"
        and entry.settings.get("model") == wildcards.encoder
    )
    length = MODELS[wildcards.encoder].max_length
    return identified({name: found[name] for name in ("model", "weights", "revision", "found")}) | {
        "max_length": length
    }
