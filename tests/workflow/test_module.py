"""lextables as a module of another workflow: its rules run; output and signals of the host are unchanged."""

import os
import subprocess
import sys

from lextables import ROOT

TABLE = "results/sample/tables/acord/table2.csv"
HOST = """
import signal
before = signal.getsignal(signal.SIGINT)
module lextables:
    snakefile: "ROOT/Snakefile"
    config: {"papers": ["acord"]}
use rule * from lextables as lextables_*
rule count_rows:
    default_target: True
    input: "TABLE"
    output: "rows.txt"
    shell: "wc -l < {input} > {output}"
onstart:
    print("handler of interrupts unchanged:", signal.getsignal(signal.SIGINT) == before)
"""


def test_a_workflow_in_another_folder_can_build_a_table(tmp_path):
    (tmp_path / "Snakefile").write_text(
        HOST.replace("ROOT", str(ROOT)).replace("TABLE", TABLE)
    )
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:]
    assert (
        int((tmp_path / "rows.txt").read_text())
        == len((tmp_path / TABLE).read_text().splitlines())
        > 1
    )
    assert "Job stats:" in run.stdout
    assert "lextables:" not in run.stdout
    assert "handler of interrupts unchanged: True" in run.stdout
    assert not (tmp_path / ".snakemake/lextables.lock").exists()
