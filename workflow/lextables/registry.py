"""What every entry of a registry is: a mapping whose keys are known, and which does not change."""

from pydantic import BaseModel, ConfigDict


class Entry(BaseModel):
    """A mapping in a registry's file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
