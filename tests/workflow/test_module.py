"""lextables as a module of another workflow: its rules run; output and signals of the
host are unchanged.
"""

from helpers import forked
from lextables import ROOT

TABLE = "results/sample/tables/acord/table2.csv"
# The Snakefile of the other workflow.
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
    # Jobs find the package without this variable; test_machine does without it in
    # Snakemake too.
    run = forked.snakemake(tmp_path, "--cores", "2", project=None, PYTHONPATH="")
    assert run.code == 0, run.output[-3000:]
    lines = (tmp_path / TABLE).read_text().splitlines()
    assert len(lines) > 1
    assert int((tmp_path / "rows.txt").read_text()) == len(lines)
    assert "Job stats:" in run.output
    assert "lextables:" not in run.output
    assert "handler of interrupts unchanged: True" in run.output
    assert not (tmp_path / ".snakemake/lextables.lock").exists()
