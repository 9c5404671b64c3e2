"""Keys and passwords are removed from logs, tracebacks and messages."""

import json
import os
import subprocess
import sys

import pytest

from lextables.pipeline import not_run
from lextables.pipeline.errors import BadInput
from lextables.pipeline.redaction import redacted, without_folders

KEY, TOKEN, PASSWORD = (
    "sk-proj-AbCdEf0123456789",
    "hf_QrStUvWxYz987654",
    "hunter2-of-the-proxy",
)
JOB = """
import os, sys
import requests
from lextables.pipeline.errors import BadInput
from lextables.pipeline.job import job
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
def test_a_job_writes_no_secrets_to_the_screen_or_its_log(tmp_path, error):
    secrets = {
        "OPENAI_API_KEY": KEY,
        "HF_TOKEN": TOKEN,
        "HTTPS_PROXY": f"http://me:{PASSWORD}@proxy.example:3128",
    }
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            JOB.replace("{error}", error),
            str(tmp_path / "job.log"),
        ],
        env=os.environ | secrets,
        capture_output=True,
        text=True,
        check=False,
    )
    said = run.stdout + run.stderr + (tmp_path / "job.log").read_text()
    assert run.returncode == 1 and said.count("(OPENAI_API_KEY)") == 4
    assert said.count("(HF_TOKEN) is refused") == 3
    assert "http://(login)@proxy.example:3128 refuses" in said
    assert not any(secret in said for secret in (KEY, TOKEN, PASSWORD))


SECRETS = """
OPENAI_API_KEY ANTHROPIC_API_KEY HF_TOKEN HUGGING_FACE_HUB_TOKEN APIKEY apiKey WANDB_API_KEY_2
API_KEY_MISTRAL KEY PGPASSWORD MYSQL_PWD MYSQL_ROOT_PASSWORD DB_PASS SMTPPASS REDIS_PASSWD GPG_PASSPHRASE
RESTIC_PASSWORD2 AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ACCESS_KEY_ID GITHUB_TOKEN GITHUB_PAT GH_TOKEN
NPM_AUTH npm_config__authToken AZURE_STORAGE_CONNECTION_STRING AZURE_CLIENT_SECRET AccountKey
GOOGLE_CREDENTIALS SECRET_KEY_BASE SSH_PRIVATE_KEY PRIVATEKEY SLACK_WEBHOOK_URL SESSION_COOKIE ACCESSTOKEN
GITHUB_TOKEN_B64 CLIENTSECRET PROXY_AUTH LICENSEKEY
SESSION_JWT MY_BEARER AZURE_SAS REQUEST_SIGNATURE LDAP_BINDPW DOCKER_AUTH_CONFIG WIFI_PSK LOGIN_OTP TOTP
WALLET_MNEMONIC ROOTPW DB_PW TLS_PRIVATE_KEY_PEM HOOK_HMAC PASSCODE CARD_PIN BLOB_SIG bearer
""".split()
HARMLESS = """
PATH PWD OLDPWD HOME TOKENIZERS_PARALLELISM KEYBOARD KEYMAP MONKEY TURKEY HOTKEY KEYRING_BACKEND MAX_TOKENS
TOKENIZER SSH_AUTH_SOCK XAUTHORITY GIT_AUTHOR_NAME COMPASS BYPASS_PROXY PASSENGER_APP_ENV
TOX_TESTENV_PASSENV PATTERN XDG_PATH LEXTABLES_SUBMITTED SPACY_PIPELINE KEY_ORDER AUTHOR OMP_NUM_THREADS
CUDA_VISIBLE_DEVICES SLURM_JOB_PARTITION SASL_MECHANISM SPIN PINNED DESIGNATURES OPTIONS PWM SIGNAL
""".split()


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_recognised_by_the_variable_name(monkeypatch, name):
    monkeypatch.setenv(name, "correct horse")
    assert redacted("it is correct horse") == f"it is ({name})"


@pytest.mark.parametrize("name", HARMLESS)
def test_values_of_other_variables_are_not_redacted(monkeypatch, name):
    monkeypatch.setenv(name, "correct horse")
    assert redacted("it is correct horse") == "it is correct horse"


@pytest.mark.parametrize(
    "said",
    [
        'pa"ss\\w/örd 1',
        json.dumps({"password": 'pa"ss\\w/örd 1'}),
        repr({"password": 'pa"ss\\w/örd 1', "'": 1}),
        "postgresql://me:pa%22ss%5Cw%2F%C3%B6rd%201@host/db",
        "?password=pa%22ss%5Cw%2F%C3%B6rd%201&x=1",
    ],
)
def test_a_secret_is_found_when_it_is_quoted_or_escaped(monkeypatch, said):
    monkeypatch.setenv("PGPASSWORD", 'pa"ss\\w/örd 1')
    assert "rd" not in redacted(said).replace("password", "")


def test_a_secret_has_eight_characters_or_more_and_may_contain_another(monkeypatch):
    monkeypatch.setenv("A_TOKEN", "abcdefgh")
    monkeypatch.setenv("B_TOKEN", "abcdefgh-ijk")
    monkeypatch.setenv("C_TOKEN", "letters")
    text = "abcdefgh, abcdefgh-ijk and letters"
    assert redacted(text) == "(A_TOKEN), (B_TOKEN) and letters"


def test_each_line_of_a_secret_is_redacted(monkeypatch):
    monkeypatch.setenv("SSH_PRIVATE_KEY", "-----BEGIN KEY-----\nMIIEabcdefgh\n")
    assert redacted("MIIEabcdefgh") == "(SSH_PRIVATE_KEY)"


def test_a_secret_that_is_not_utf_8_is_redacted(monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "p\udce4ssw\udcf6rd")
    assert (
        redacted("it is p\udce4ssw\udcf6rd or p%E4ssw%F6rd")
        == "it is (DB_PASSWORD) or (DB_PASSWORD)"
    )


def test_the_path_of_a_credentials_file_is_not_redacted(monkeypatch, tmp_path):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path))
    assert redacted(f"cannot read {tmp_path}/x") == f"cannot read {tmp_path}/x"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "https://me:pass@host/v1 and http://me@host",
            "https://(login)@host/v1 and http://(login)@host",
        ),
        (
            "https://host/a@b, Jane jane@host.org",
            "https://host/a@b, Jane jane@host.org",
        ),
        ("http://me:p@ss:w@host/x", "http://(login)@host/x"),
        (
            "http:/me:pass@host/x, S3:///ID:key@b",
            "http:/(login)@host/x, S3:///(login)@b",
        ),
        (
            "'http://me:pa'ss@host', \"ftp://me:pa\"ss@h\"",
            "'http://(login)@host', \"ftp://(login)@h\"",
        ),
        ("http://me:pa/ss@host/x", "http://(login)@host/x"),
        ("http://host:8000/a@b", "http://host:8000/a@b"),
        (
            "?access_token=abc&x=1#sig=d;key=e",
            "?access_token=(secret)&x=1#sig=(secret);key=(secret)",
        ),
        (
            "https://b/x?X-Amz-Signature=ab%2F&X-Amz-Date=1",
            "https://b/x?X-Amz-Signature=(secret)&X-Amz-Date=1",
        ),
        ("the key = 5; token=7", "the key = 5; token=7"),
        (
            "?jwt=a&sid=b&sas=c&id_jwt=d&side=e&session=f&pw=g&page=h",
            "?jwt=(secret)&sid=(secret)&sas=(secret)&id_jwt=(secret)&side=e&session=(secret)&pw=(secret)&page=h",
        ),
        (
            "proxy=me:pass@proxy.example:80, 'me:p.a-s=s@host.org' (me:pw@localhost)",
            "(login)@proxy.example:80, '(login)@host.org' ((login)@localhost)",
        ),
        ("me:pass@host:3128 x:y@z.org", "(login)@host:3128 (login)@z.org"),
        (
            "at 10:30@place, image:tag@sha256:4f, git@github.com:a/b",
            "at 10:30@place, image:tag@sha256:4f, git@github.com:a/b",
        ),
        ("a monkey, none", "a monkey, none"),
    ],
)
def test_logins_in_urls_are_redacted_and_other_words_are_not(monkeypatch, text, wanted):
    monkeypatch.setenv("SHORT_KEY", "monkey")
    monkeypatch.setenv("EMPTY_TOKEN", "")
    assert redacted(text) == wanted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/ann/models/x/config.json is missing", "…/config.json is missing"),
        ("~/models/x is no model", "…/x is no model"),
        ("'/home/Ann Lee/x/y.json' is missing", "'…/y.json' is missing"),
        ("(/data/raw/a.zip, row 3)", "(…/a.zip, row 3)"),
        ("file=/data/raw/a.zip", "file=…/a.zip"),
        (
            "https://example.org/a/b.zip and/or a/b/c",
            "https://example.org/a/b.zip and/or a/b/c",
        ),
        ("3/4 of docs/models.md#gated", "3/4 of docs/models.md#gated"),
        ("HERE/x y/z.txt", "…/x y/z.txt"),
        ("", ""),
    ],
)
def test_absolute_paths_are_cut_to_their_names(text, shown, tmp_path, monkeypatch):
    here = tmp_path / "a b"
    here.mkdir()
    monkeypatch.chdir(here)
    assert without_folders(text.replace("HERE", str(here))) == shown


def test_a_reason_that_tables_show_has_no_absolute_path(tmp_path):
    output = tmp_path / "scores.parquet"
    not_run.leave([output], "/home/ann/models/x has no config.json")
    assert not_run.reason(output) == "…/x has no config.json"


def test_an_error_has_no_secrets_in_any_part():
    url = "http://me:pass@host/x?key=abc"
    shown = "http://(login)@host/x?key=(secret)"
    assert (
        str(BadInput(f"no {url}", where=url, do=f"see {url}"))
        == f"{shown}: no {shown}; see {shown}."
    )
