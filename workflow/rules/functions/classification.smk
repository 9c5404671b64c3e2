# What the rules of classification read, by their wildcards.


def examples_and_heads(wildcards):
    """The examples and the heads that they are of."""
    return data(wildcards.dataset, "examples", CLASSIFICATION[wildcards.dataset].names.heads)


def tokens_of(experiment):
    """What gives the tokens that a run reads: a file for each length at which it reads, in their order."""

    def files(wildcards):
        given = spec(run_of(wildcards, experiment=experiment)).settings
        lengths = sorted({reading["max_length"] for reading in given.get("readings", [given])})
        model = given["tokenizer"]["model"]
        return [TOKENS.format(dataset=wildcards.dataset, model=model, length=length) for length in lengths]

    return files


def readers_of(wildcards):
    """The settings of the runs that read a data set's texts with a model's tokenizer."""
    return [
        entry.settings
        for run, entry in SPECS.items()
        if run.paper == wildcards.dataset
        and entry.settings.get("tokenizer", {}).get("model") == wildcards.model
    ]


def tokenizer_of(wildcards):
    """The settings of the weights whose tokenizer cuts a model's texts."""
    return identified(readers_of(wildcards)[0]["tokenizer"])


def tokenised_views(wildcards):
    """The views under which a model reads texts of this length, each once; none of a task without views."""
    read = [reading for given in readers_of(wildcards) for reading in given.get("readings", [given])]
    here = [reading for reading in read if reading["max_length"] == int(wildcards.length)]
    return each_once(reading.get("view") for reading in here)


def linear_readers_of(wildcards):
    """The settings of the linear models that read the vectors that an encoder makes of a data set's texts."""
    return [
        entry.settings
        for run, entry in SPECS.items()
        if run.paper == wildcards.dataset
        and entry.settings.get("kind") == "linear"
        and entry.settings.get("model") == wildcards.encoder
    ]


def encoded_views(wildcards):
    """The views under which linear models read an encoder's vectors, as `tokenised_views`."""
    read = [reading for given in linear_readers_of(wildcards) for reading in given.get("readings", [given])]
    return each_once(reading.get("view") for reading in read)


def each_once(views):
    """Views, sorted."""
    found = {json.dumps(view) for view in views if view}
    return [json.loads(view) for view in sorted(found)]


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
    found = linear_readers_of(wildcards)[0]
    length = MODELS[wildcards.encoder].max_length
    return identified({name: found[name] for name in ("model", "weights", "revision", "found")}) | {
        "max_length": length
    }
