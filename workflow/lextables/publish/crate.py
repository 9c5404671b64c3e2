"""The run as an RO-Crate, after the profile of Workflow Run Crates.

The workflow made the tables from the configuration; and each run, an action of its own, made its predictions
by the settings that its record holds.  The crate has these small files, and no data set or weights.  Nothing
in it goes by the clock: its day is that of the version of lextables.

https://www.researchobject.org/workflow-run-crate/profiles/workflow_run_crate/
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from rocrate.model import ContextEntity, File
from rocrate.rocrate import ROCrate

from lextables.atomic import replacing_folder
from lextables.publish import licences
from lextables.run import loaded
from lextables.version import RELEASED, made_by, words

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
}
# Keys of the configuration that name what is a user's own: places on their machine, a server, themselves.
PRIVATE = frozenset(("mirror", "bulk_export", "contract", "edgar_contact", "llm", "model", "file"))
COMPLETED = "http://schema.org/CompletedActionStatus"


@dataclass(frozen=True)
class RunFiles:
    """The files of a finished run: ``runs`` are records (`run.json`), and ``papers`` the files of papers.

    Below ``root`` lie the configuration, the tables and the runs, and in the crate as they do there.
    """

    workflow: Path
    config: Path
    tables: Sequence[Path]
    runs: Sequence[Path]
    papers: Sequence[Path]
    root: Path

    def place(self, path: Path) -> str:
        """Where a file or folder of the results lies in the crate."""
        return path.relative_to(self.root).as_posix()


def write(files: RunFiles, folder: str | Path) -> None:
    """Write the crate with copies of its files; the folder appears whole, or keeps what it held before."""
    crate = ROCrate(version="1.1")
    crate.name = "Result tables of legal-NLP papers, rebuilt by lextables"
    crate.description = "The configuration, the runs and the tables of one run of the workflow."
    crate.datePublished = RELEASED
    crate.license = licences.KNOWN[licences.OURS][1]
    crate.root_dataset["conformsTo"] = [
        crate.add(ContextEntity(crate, place, {"@type": "CreativeWork", "name": name, "version": version}))
        for place, (name, version) in PROFILES.items()
    ]
    crate.root_dataset["citation"] = [_paper(crate, path) for path in files.papers]
    actions = [_whole(crate, files), *(_run(crate, path, files) for path in files.runs)]
    crate.root_dataset["mentions"] = actions
    with replacing_folder(folder) as out:
        crate.write(out)


def _whole(crate: ROCrate, files: RunFiles) -> ContextEntity:
    """The run of the workflow: from the configuration to the tables."""
    told = {"name": "lextables", "version": words(made_by())}
    main = crate.add_workflow(files.workflow, "Snakefile", main=True, lang="snakemake", properties=told)
    config = _config(crate, files.config)
    given = crate.add_formal_parameter("config", "File", "#config", valueRequired=True)
    config["exampleOfWork"], main["input"] = given, [given]
    tables = [_file(crate, path, files.place(path), "text/csv", _table_words(path)) for path in files.tables]
    done = {"name": "The run of the workflow", "actionStatus": {"@id": COMPLETED}}
    return crate.add_action(main, "#workflow-run", [config], tables, done)


def _config(crate: ROCrate, path: Path) -> File:
    """The effective configuration, without what is a user's own."""
    kept = public(yaml.safe_load(path.read_text(encoding="utf-8")))
    text = StringIO(yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))
    return _file(crate, text, path.name, "application/yaml", "the effective configuration")


def public(config: Any) -> Any:
    """Return a configuration without its keys `PRIVATE`, at any depth."""
    if isinstance(config, dict):
        return {key: public(value) for key, value in config.items() if key not in PRIVATE}
    return [public(value) for value in config] if isinstance(config, list) else config


def _file(crate: ROCrate, source: Path | StringIO, place: str, encoding: str, name: str) -> File:
    """A file at ``place`` in the crate."""
    return crate.add_file(source, place, properties={"name": name, "encodingFormat": encoding})


def _table_words(path: Path) -> str:
    return f"{path.stem} of {path.parent.name}: printed beside reproduced values"


def _paper(crate: ROCrate, path: Path) -> ContextEntity:
    entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    told = {"@type": "ScholarlyArticle", "name": entry["title"], "creditText": entry["citation"]}
    return crate.add(ContextEntity(crate, f"#paper-{path.stem}", told))


def _run(crate: ROCrate, path: Path, files: RunFiles) -> ContextEntity:
    """One run: by which software, with which settings, and the record that it left."""
    record = loaded(path)
    place = files.place(path.parent)
    result = _file(crate, path, f"{place}/{path.name}", "application/json", f"record of {place}")
    given = "predictions that a user gave" if "given" in record else ""
    told = {
        "name": place.removeprefix("runs/"),
        "description": given or f"{record['seconds']:g} s on {record['device']}",
        "actionStatus": {"@id": COMPLETED},
    }
    software = _software(crate, record.get("lextables"), record["libraries"])
    settings = [*_settings(crate, place, record["settings"])]
    return crate.add_action(software, f"#{place}", settings, [result], told)


def _software(crate: ROCrate, ours: Mapping[str, Any] | None, libraries: Mapping[str, str]) -> ContextEntity:
    """lextables and its libraries at the versions that a run had, once for all runs that had the same."""
    version = words(ours) if ours else "not recorded"
    parts = [_application(crate, name, number) for name, number in sorted(libraries.items())]
    numbers = (libraries[name] for name in sorted(libraries))
    identity = "-".join(("#lextables", version.replace(" ", "-"), *numbers))
    told = {"@type": "SoftwareApplication", "name": "lextables", "softwareVersion": version}
    found = crate.get(identity) or crate.add(ContextEntity(crate, identity, told))
    found["softwareRequirements"] = parts
    return found


def _application(crate: ROCrate, name: str, version: str) -> ContextEntity:
    identity = f"#{name}-{version}"
    told = {"@type": "SoftwareApplication", "name": name, "softwareVersion": version}
    return crate.get(identity) or crate.add(ContextEntity(crate, identity, told))


def _settings(crate: ROCrate, place: str, settings: Mapping[str, Any]) -> Iterable[ContextEntity]:
    """A property for each setting; one that is no number or text as JSON."""
    for name, value in sorted(settings.items()):
        plain = value if isinstance(value, str | int | float) else json.dumps(value, sort_keys=True)
        told = {"@type": "PropertyValue", "name": name, "value": plain}
        yield crate.add(ContextEntity(crate, f"#{place}/{name}", told))
