"""A rehearsal: every published row that can run, with tiny models or few updates.

The jobs, rules and scripts are those of a complete run with the papers' grids.  What
differs: the data are the sample, trainings are small and written answers short
(`LIMITS`), rows that no paper published are left out, and with `models: sample` a tiny
model with random weights stands for each registered model, and a server on this machine
for language models if the configuration names none.
"""

import atexit
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.config import TINY, Config
from lextables.pipeline.errors import BadInput
from lextables.pipeline.fingerprint import fingerprint
from lextables.planning import rehearsal_server
from lextables.registry.paper import Paper
from lextables.tasks.planner import RehearsalLimits

TARGET = "rehearsal"  # of the command line
# File below `results` with the port of the server of rehearsals.  `settings` needs its
# path before the configuration is checked, so the path does not use `Config.results`.
SERVER_PORT = "rehearsal/.cache/port.txt"
# Limits with the papers' models, and with tiny models.  512 tokens are enough for the
# sparse attention of the tiny BigBird and Longformer.
LIMITS = RehearsalLimits(updates=20, heads=4)
TINY_LIMITS = RehearsalLimits(updates=2, heads=4, batch_size=4, tokens=512)


def settings(
    path: Path, defaults: Mapping[str, Any], config: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the target `rehearsal` changes in the configuration.

    Unless the command names papers, it rehearses all papers of the registry in
    ``path``.
    """
    changed: dict[str, Any] = {"rehearsal": True}
    if config["models"] == "sample" and not config["llm"]:
        changed["llm"] = rehearsal_server.address(Path(f"results/{SERVER_PORT}"))
    if config["papers"] == defaults["papers"]:
        changed["papers"] = sorted(
            file.stem for file in (path / "resources/papers").glob("*.yaml")
        )
    return changed


def limited(papers: Mapping[str, Paper], config: Config) -> dict[str, Paper]:
    """Return the papers with small trainings and short outputs."""
    limits = TINY_LIMITS if config.models == "sample" else LIMITS
    limited_papers = {}
    for name, paper in papers.items():
        tasks = {name: task.limited(limits) for name, task in paper.tasks.items()}
        limited_papers[name] = paper.model_copy(update={"tasks": tasks})
    return limited_papers


def start_server(config: Config) -> None:
    """Start the server of a rehearsal until this process ends, if the configuration has
    its address.

    Raises `BadInput` if another program has its port.
    """
    port = Path(f"results/{SERVER_PORT}")
    if config.weights != "tiny" or not port.is_file():
        return
    base = rehearsal_server.address(port)
    if config.llm != base:
        return
    try:
        atexit.register(rehearsal_server.serve(base))
    except OSError as error:
        raise BadInput(
            f"the server of the rehearsal cannot start at {base} ({error.strerror})",
            where=str(port),
            do="end the other rehearsal, or delete this file",
        ) from None


def make_models(root: Path, config: Config, released: Iterable[str]) -> None:
    """Write the tiny models of a rehearsal, unless they are there.

    ``released`` are the authors' fine-tuned models (`released_models`).  The tiny
    models are made before the plan, which reads their digests, and in a separate
    process, because this one must not load torch.  The file `code.txt` beside them has
    the fingerprint of the code that made them.  Raises `BadInput` if this fails.
    """
    folder = Path(config.results, TINY)
    code = fingerprint("lextables.models.tiny")
    mark = folder / "code.txt"
    if mark.is_file() and mark.read_text(encoding="utf-8") == code:
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with replacing_folder(folder) as temporary:
        command = [sys.executable, "-m", "lextables.models.tiny"]
        command += [str(root / "resources/models.yaml"), str(root / "resources/sample")]
        environment = {**os.environ, "PYTHONPATH": str(root / "workflow")}
        process = subprocess.run(
            [*command, str(temporary), *released],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode:
            raise BadInput(
                f"the tiny models cannot be made: {process.stderr.strip()[-500:]}",
                where=str(folder),
                do="run make to complete the installation",
            )
        (Path(temporary) / mark.name).write_text(code, encoding="utf-8")


def released_models(papers: Mapping[str, Paper]) -> list[str]:
    """Return the authors' fine-tuned models, as ``<source>/<file>=<model>``."""
    models = []
    for paper in papers.values():
        for task in paper.tasks.values():
            models += task.released_models
    return models
