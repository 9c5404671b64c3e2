"""Keys and passwords stand in no log, no traceback and no sentence, whoever says them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lextables.redaction import redacted

ROOT = Path(__file__).parents[2]
KEY, TOKEN, PASSWORD = "sk-proj-AbCdEf0123456789", "hf_QrStUvWxYz987654", "hunter2-of-the-proxy"
JOB = """
import os, sys
import requests
from lextables.errors import BadInput
from lextables.job import job
with job(sys.argv[1]) as log:
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    print("asking with", headers)
    print("a library warns of", headers, file=sys.stderr)
    log.info("asked with %s", headers)
    try:
        raise requests.RequestException(f"{os.environ['HTTPS_PROXY']} refuses {headers}")
    except requests.RequestException as error:
        what = f"{os.environ['HF_TOKEN']} is refused"
        raise {error}(what) from error
"""


@pytest.mark.parametrize("error", ["BadInput", "RuntimeError"])
def test_a_job_says_no_secret_on_the_screen_or_in_its_log(tmp_path, error):
    secrets = {
        "OPENAI_API_KEY": KEY,
        "HF_TOKEN": TOKEN,
        "HTTPS_PROXY": f"http://me:{PASSWORD}@proxy.example:3128",
    }
    run = subprocess.run(
        [sys.executable, "-c", JOB.replace("{error}", error), str(tmp_path / "job.log")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow"), **secrets},
        capture_output=True,
        text=True,
        check=False,
    )
    said = run.stdout + run.stderr + (tmp_path / "job.log").read_text()
    assert run.returncode == 1 and said.count("(OPENAI_API_KEY)") == 4
    assert said.count("(HF_TOKEN) is refused") == 3
    assert "http://(login)@proxy.example:3128 refuses" in said
    assert not any(secret in said for secret in (KEY, TOKEN, PASSWORD))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("https://me:pass@host/v1 and http://me@host", "https://(login)@host/v1 and http://(login)@host"),
        ("https://host/a@b, Jane jane@host.org", "https://host/a@b, Jane jane@host.org"),
        ("a monkey, none", "a monkey, none"),
    ],
)
def test_other_words_stay(monkeypatch, text, wanted):
    monkeypatch.setenv("SHORT_KEY", "monkey")
    monkeypatch.setenv("EMPTY_TOKEN", "")
    assert redacted(text) == wanted
