"""Parsers in NLTK's data folders, and their download with benepar's downloader over
loopback.
"""

import hashlib
import io
import zipfile
from urllib.request import urlopen

import nltk
import nltk.downloader
import pytest
from benepar.integrations import downloader

from helpers.http_server import answer, serving
from lextables.models import nltk_models, weights
from lextables.models.weights import fetch, place, weights_folder
from lextables.pipeline.errors import BadInput

SETTINGS = {"model": "benepar_en3", "weights": "nltk:benepar_en3", "revision": None}
SETTINGS["max_length"] = None


SIZE = 20


def zipped(*files):
    """A zip of the model as benepar publishes it; each file has `SIZE` bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in files:
            archive.writestr(f"benepar_en3/{name}", "x" * SIZE)
    return content.getvalue()


MODEL = zipped("benepar_model.bin", "config.json")


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    """NLTK's only data folder; its downloader may ask this machine."""
    folder = tmp_path / "nltk_data"
    folder.mkdir()
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    # NLTK's own `urlopen` refuses addresses of this machine.
    monkeypatch.setattr(nltk.downloader, "urlopen", urlopen)
    return folder


@pytest.fixture
def server(monkeypatch):
    """Return a function that serves ``model`` with the digest of ``announced``."""

    def start(model=MODEL, announced=MODEL, status=200):
        def respond(request):
            if request.path.endswith(".zip"):
                return answer(model, status=status)
            with zipfile.ZipFile(io.BytesIO(announced)) as archive:
                unzipped = SIZE * len(archive.namelist())
            digest = hashlib.md5(announced).hexdigest()
            url = f"http://127.0.0.1:{request.server.server_port}/benepar_en3.zip"
            index = (
                "<nltk_data><packages><package id='benepar_en3' name='Parser' subdir='models'"
                f" url='{url}' size='{len(announced)}' unzipped_size='{unzipped}' unzip='1'"
                f" checksum='{digest}'/></packages><collections/></nltk_data>"
            )
            return answer(index.encode())

        return serving(respond)

    return start


@pytest.fixture
def use(monkeypatch):
    """Return a function that makes a server the downloader's."""

    def of(url):
        monkeypatch.setattr(downloader, "BENEPAR_SERVER_INDEX", f"{url}/index.xml")
        monkeypatch.setattr(downloader, "_downloader", None)

    return of


def test_a_model_is_found_where_the_downloader_puts_it(server, use, data_folder):
    assert place("nltk:benepar_en3") is None
    with server() as served:
        use(served.url)
        folder = weights_folder(SETTINGS)
        assert folder == str(data_folder / "models/benepar_en3")
        asked = [request.path for request in served.requests]
        assert asked == ["/index.xml", "/benepar_en3.zip"]
        # It is not downloaded again.
        assert weights_folder(SETTINGS) == place("nltk:benepar_en3") == folder
        assert len(served.requests) == 2
    assert "benepar_en3: nltk:benepar_en3, 0 MB, in " in fetch(SETTINGS)


def test_a_zip_that_is_not_unpacked_is_no_model(data_folder):
    (data_folder / "models").mkdir()
    (data_folder / "models/benepar_en3.zip").write_bytes(MODEL)
    assert nltk_models.folder_of("benepar_en3") is None
    (data_folder / "models/benepar_en3").mkdir()
    assert nltk_models.folder_of("benepar_en3") is None
    (data_folder / "models/benepar_en3/benepar_model.bin").touch()
    assert nltk_models.folder_of("benepar_en3")


@pytest.mark.parametrize(
    "wrong", [{"status": 404}, {"model": b"no zip"}, {"model": MODEL[:-9]}]
)
def test_a_failed_download_says_what_to_do(server, use, wrong):
    with server(**wrong) as served:
        use(served.url)
        with pytest.raises(BadInput) as error:
            weights_folder(SETTINGS)
    assert "benepar's server does not give benepar_en3" in str(error.value)
    assert "check the network, or set parser to dependencies" in str(error.value)
    assert place("nltk:benepar_en3") is None


def test_no_server_says_what_to_do(use):
    use("http://127.0.0.1:9")
    with pytest.raises(BadInput, match="benepar's server does not give benepar_en3"):
        weights_folder(SETTINGS)


def test_a_download_without_the_model_is_an_error(server, use):
    other = zipped("readme.txt")
    with server(other, other) as served:
        use(served.url)
        with pytest.raises(BadInput, match="NLTK's data folders do not have it"):
            weights.weights_folder(SETTINGS)
