"""Where the real data and the papers are, for the tests that need them, and this project's code for all."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What tests start finds the package and the screen's plugin here, and not an installed plugin.
os.environ["PYTHONPATH"] = str(ROOT / "workflow")


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of real raw data, or a skip that says what is missing."""
    folder = (ROOT / os.environ.get("LEXTABLES_MIRROR", "../shared/mirror")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no real data: there is no folder {folder} (set LEXTABLES_MIRROR to a mirror)")
    return folder


@pytest.fixture(scope="module")
def one_thread():
    """Sums in one order, so that the same training gives the same weights."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def serve():
    """Start a server that answers by a function (`language_model_server.serving`) until the test ends."""
    from language_model_server import serving

    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(serving(answer))
