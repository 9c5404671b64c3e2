"""Work folders: one a run, in it one for each state of inputs, settings and code."""

from lextables.models.checkpoints import clear, latest, work_folder


def whole(folder, update):
    (folder / f"checkpoint-{update}").mkdir(parents=True)
    (folder / f"checkpoint-{update}/whole").touch()


def test_a_finished_run_clears_what_earlier_code_left_and_no_other_runs_work(tmp_path):
    run, other = tmp_path / "cuad/finetune/minilm/seed0", tmp_path / "cuad/finetune/minilm/seed1"
    before, after = (work_folder(run, {"rate": 1, "identity": {"code": code}}) for code in "ab")
    kept = work_folder(other, {"rate": 1, "identity": {"code": "a"}})
    for folder in (before, kept):
        whole(folder, 2)
    assert before != after
    assert latest(after) is None
    clear(run)
    assert not run.exists()
    assert latest(kept).name == "checkpoint-2"


def test_a_run_that_kept_no_work_has_nothing_to_clear(tmp_path):
    clear(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
