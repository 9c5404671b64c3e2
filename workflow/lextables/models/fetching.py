"""Fetches weights from the hub into its cache before the jobs that need them."""

from collections.abc import Mapping
from typing import Any

from lextables.models.files import model_files
from lextables.models.weights import fetched, weights_folder
from lextables.pipeline import user_rows


def fetch(settings: Mapping[str, Any]) -> str:
    """Fetch the weights named by `resolve.model_settings` and return a line with their size and folder.

    Completes an interrupted earlier fetch, which a job would not notice.  Raises `BadInput` where the hub
    does not serve the weights, or a user's model is not of its declared kind.
    """
    location = settings["weights"]
    if location.startswith(user_rows.PREFIX):
        folder = weights_folder(settings)
    else:
        folder = fetched(location, settings["revision"])
    size = sum(file.stat().st_size for file in model_files(folder))
    return f"{settings['model']}: {location}, {size / 1e6:,.0f} MB, in {folder}"
