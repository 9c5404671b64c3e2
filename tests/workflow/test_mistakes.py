"""Mistakes of users on the command line: the last line of the output is one
sentence.
"""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from helpers import forked

MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake["did"])
def test_the_last_line_says_what_is_wrong(mistake, tmp_path):
    for name, text in mistake.get("with", {}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = mistake["types"].replace("/data/", f"{tmp_path}/")
    sentence = mistake["says"].replace("/data/", f"{tmp_path}/")
    _, *words = shlex.split(command)
    path = "/usr/bin:/bin"  # without conda, for the mistake that needs it
    code, written = forked.snakemake(tmp_path, *forked.OURS, *words, PATH=path)
    *_, last = [line for line in written.splitlines() if line.strip()]
    pattern = re.escape(sentence).replace("…", ".+")
    assert re.fullmatch(pattern, last), written[-3000:]
    assert code != 0
    assert "Traceback" not in written
    assert not list(tmp_path.glob("results/**/*.parquet"))
