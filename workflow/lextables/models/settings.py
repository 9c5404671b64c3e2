"""Base classes of the settings of a step: built by a planner, stored in `run.json`, read by a script."""

from typing import Any

from lextables.pipeline.registry import Entry


class StepSettings(Entry):
    """The settings of one step of a run, such as a training.  Unknown keys are errors."""

    def plain(self) -> dict[str, Any]:
        """Return the settings that were given, without defaults, as values of JSON."""
        return self.model_dump(mode="json", exclude_unset=True)


class WeightSettings(StepSettings):
    """The weights that a step starts from, as `resolve.model_settings` names them."""

    model: str
    """Name in resources/models.yaml, key of a user's model, or key of the panel."""
    weights: str
    """Location: hub name, place in a mirror or a package, or the folder of another run."""
    revision: str | None
    """Revision on the hub; None for weights that are not from the hub."""
    found: str
    """Where the weights were found, in words."""
    content: str | None = None
    """Digest of weights in a folder of the user."""


class LanguageModelSettings(WeightSettings):
    """A language model on this machine or on a server."""

    kind: str
    """`language-model`."""
    endpoint: str | None = None
    """`chat` (the default) or `completions`."""
    window: int | None = None
    """Longest prompt and answer together, in tokens; None if unknown."""
    api: str | None = None
    """Base address of the server; None for a model on this machine."""
