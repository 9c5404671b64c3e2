"""Weights of the hub, brought into its cache before a job asks for them."""

from collections.abc import Mapping
from typing import Any

from lextables.models.files import model_files
from lextables.models.weights import fetched, weights_folder
from lextables.pipeline import user_rows


def fetch(settings: Mapping[str, Any]) -> str:
    """Fetch what `resolve.model_settings` named on the hub, and return a line that says what is here now.

    What an earlier fetch that was cut short left out is fetched too, which a job would not look for.  Raises
    `BadInput` where the hub does not give it, or gives what a user's own model is not declared as.
    """
    location = settings["weights"]
    if location.startswith(user_rows.PREFIX):
        folder = weights_folder(settings)
    else:
        folder = fetched(location, settings["revision"])
    size = sum(file.stat().st_size for file in model_files(folder))
    return f"{settings['model']}: {location}, {size / 1e6:,.0f} MB, in {folder}"
