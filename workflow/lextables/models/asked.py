"""Opens the language model named by a run's settings, with its cached answers."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from lextables.models.kept_calls import Calls, KeptModel
from lextables.models.language_model import LanguageModel
from lextables.models.limits import Limits


def opened(
    settings: Mapping[str, Any], kept: str | Path, limits: Limits, device: Literal["auto", "cpu", "cuda"]
) -> LanguageModel:
    """Return the model of a run's ``settings``; answers are cached in the folder ``kept``.

    ``settings`` are those of `resolve.model_settings`: ``model`` (its name), ``weights``, ``revision``,
    ``content`` (for weights in a folder), ``endpoint`` (`chat`, the default, or `completions`) and ``window``
    (tokens, where known).  For a server's model ``weights`` is its name on the server and ``api`` the
    server's base address.
    """
    if "api" in settings:
        from lextables.models import language_model_server

        return language_model_server.opened(settings, kept, limits)
    return _local(settings, kept, device)


def _local(settings: Mapping[str, Any], kept: str | Path, device: str) -> KeptModel:
    from lextables.models import llama_cpp_model
    from lextables.models.device import describe, pick
    from lextables.models.files import gguf_file
    from lextables.models.local_language_model import LocalLanguageModel
    from lextables.models.weights import weights_folder

    place, where = weights_folder(settings), pick(device)
    file, window = gguf_file(place), settings.get("window")
    if file and llama_cpp_model.installed():
        engine = llama_cpp_model.LlamaCppModel(file, window, where.type == "cuda")
        by = f"llama-cpp-python {version('llama-cpp-python')}"
    else:
        from lextables.models.causal_model import CausalModel

        engine = CausalModel(place, where)
        by = f"transformers {version('transformers')}, torch {version('torch')}"
    endpoint = settings.get("endpoint") or "chat"
    model = LocalLanguageModel(settings["model"], engine, endpoint)
    identity = {key: settings.get(key) for key in ("weights", "revision", "content")}
    identity |= {"endpoint": endpoint, "by": by, "device": describe(where)}
    return KeptModel(model, Calls(kept), identity)
