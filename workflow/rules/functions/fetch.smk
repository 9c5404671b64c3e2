# Params of the target fetch.


def hub_weights():
    """Param: the settings of all weights from the hub, each once."""
    planned = [spec.settings for spec in SPECS.values()] + FETCHED_WEIGHTS
    keys = ("model", "weights", "revision", "max_length")
    named = {
        given["weights"]: {key: given.get(key) for key in keys}
        for given in planned
        if given.get("found", "").startswith("hub")
        and not given["weights"].startswith(f"{RESULTS}/")
    }
    return [named[weights] for weights in sorted(named)]
