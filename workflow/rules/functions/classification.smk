# Input functions and params of the rules of classification.


def examples_and_heads(wildcards):
    """The tables of examples and heads."""
    return data(
        wildcards.dataset, "examples", CLASSIFICATION[wildcards.dataset].names.heads
    )


def tokens_of(wildcards):
    """Input: the tokens that a run reads, one file for each maximum length, in ascending order."""
    settings = spec(run_of(wildcards)).settings
    lengths = sorted(
        {reading["max_length"] for reading in settings.get("readings", [settings])}
    )
    model = settings["tokenizer"]["model"]
    return [
        TOKENS.format(dataset=wildcards.dataset, model=model, length=length)
        for length in lengths
    ]


def readers_of(wildcards):
    """The settings of the runs that read a data set with a model's tokenizer."""
    return [
        entry.settings
        for run, entry in SPECS.items()
        if run.paper == wildcards.dataset
        and entry.settings.get("tokenizer", {}).get("model") == wildcards.model
    ]


def tokenizer_of(wildcards):
    """The settings of the weights that the tokenizer belongs to."""
    return identified(readers_of(wildcards)[0]["tokenizer"])


def tokenised_views(wildcards):
    """The views under which a model reads texts of this length, each once; empty for a task without views."""
    length = int(wildcards.length)
    readings = readings_of(readers_of(wildcards))
    return each_once(
        reading.get("view") for reading in readings if reading["max_length"] == length
    )


def readings_of(runs):
    """The readings of these settings; a run without views is a single reading."""
    return [
        reading for settings in runs for reading in settings.get("readings", [settings])
    ]


def linear_readers_of(wildcards):
    """The settings of the linear models that read an encoder's vectors of a data set."""
    return [
        entry.settings
        for run, entry in SPECS.items()
        if run.paper == wildcards.dataset
        and entry.settings.get("kind") == "linear"
        and entry.settings.get("model") == wildcards.encoder
    ]


def encoded_views(wildcards):
    """The views under which linear models read an encoder's vectors, each once."""
    return each_once(
        reading.get("view") for reading in readings_of(linear_readers_of(wildcards))
    )


def each_once(views):
    """The different views, sorted."""
    return [
        json.loads(view)
        for view in sorted({json.dumps(view) for view in views if view})
    ]


def splits_of(*parts):
    """Param: the splits of these parts (training, validation, final, test) of a task."""
    return lambda wildcards: [
        list(getattr(CLASSIFICATION[wildcards.dataset], part)) for part in parts
    ]


def classified_texts(wildcards):
    """The tables of examples, heads and texts."""
    return [
        *examples_and_heads(wildcards),
        *data(wildcards.dataset, CLASSIFICATION[wildcards.dataset].names.texts),
    ]


def encoder_of(wildcards):
    """The settings of the encoder whose vectors linear models read."""
    settings = linear_readers_of(wildcards)[0]
    weights = identified(
        {name: settings[name] for name in ("model", "weights", "revision", "found")}
    )
    return weights | {"max_length": MODELS[wildcards.encoder].max_length}
