# What the target fetch fetches beside files.


def hub_weights():
    """The settings of the weights that the hub gives, each once; not of those that are made here of them."""
    planned = [spec.settings for spec in SPECS.values()] + FETCHED_WEIGHTS
    keys = ("model", "weights", "revision", "max_length")
    named = {
        given["weights"]: {key: given.get(key) for key in keys}
        for given in planned
        if given.get("found", "").startswith("hub") and not given["weights"].startswith(f"{RESULTS}/")
    }
    return [named[weights] for weights in sorted(named)]
