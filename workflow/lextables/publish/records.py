"""The tables as records of other result collections: Every Eval Ever and the model hub's `.eval_results`.

Every Eval Ever (schema 0.2.2) has one log for each system of a table and each origin of its values:
`published` by the paper or `computed` here.  A result's ``details`` are the line of the table's csv.  Cells
without a number (texts, values that are not run) have no score; their lines are in ``additional_details``.
`.eval_results` has a file for each system, table and origin, with the cells that have a number.
"""

import csv
import hashlib
import io
import json
import re
import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from lextables import __version__
from lextables.pipeline import spreadsheet
from lextables.pipeline.files import damage_named, read_json
from lextables.pipeline.version import RELEASED
from lextables.tables.cells import COLUMNS
from lextables.tables.published import number

SCHEMA = "0.2.2"
LOGS, HUB = "every_eval_ever", "hugging_face"
PUBLISHED, COMPUTED = "published", "computed"
UNSCORED = "cells without a number"
TIME = f"{datetime.fromisoformat(RELEASED).replace(tzinfo=UTC).timestamp():.0f}"
UNITS = {1.0: "proportion", 100.0: "percent"}
Fields = Mapping[str, str]


@dataclass(frozen=True)
class ResultTable:
    """A table: the ``rows`` of its csv as they are written, and the registry's texts on it and its paper.

    ``data`` is the config key: values computed on the sample are not comparable with published ones.
    """

    paper: str
    name: str
    title: str
    citation: str
    homepage: str
    data: str
    rows: Sequence[Fields]

    @cached_property
    def lines(self) -> list[dict[str, str]]:
        """The rows as texts, without the apostrophes that protect spreadsheets."""
        return [*map(spreadsheet.texts, self.rows)]

    def of_metric(self, line: Fields) -> list[dict[str, str]]:
        """The lines with the metric of ``line``: its column, or its row where the system is in the column."""
        key = "row" if line["system"] == line["column"] else "column"
        return [other for other in self.lines if other[key] == line[key]]


def read(path: str | Path, **about: str) -> ResultTable:
    """Read a table's csv; ``about`` are the other fields of `ResultTable`."""
    with damage_named(path):
        rows = spreadsheet.rows(Path(path).read_text(encoding="utf-8"), COLUMNS)
    return ResultTable(rows=rows, **about)


def write(tables: Iterable[ResultTable], folder: Path) -> None:
    """Write the records of ``tables`` below ``folder``, which exists."""
    for table in tables:
        systems: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, line in enumerate(table.lines):
            system = line["system"] or line["row"]
            if line["published"]:
                systems[system, PUBLISHED].append(place)
            if line["reproduced"] or line["ours"] or not line["published"]:
                systems[system, COMPUTED].append(place)
        for (system, origin), places in systems.items():
            log = _log(table, system, origin, places)
            name = uuid.UUID(bytes=hashlib.sha256(log["evaluation_id"].encode()).digest()[:16], version=4)
            model = log["model_info"]["id"]
            text = json.dumps(log, ensure_ascii=False, indent=1, allow_nan=False)
            _write(folder / LOGS / "data" / table.name / model / f"{name}.json", f"{text}\n")
            if log["evaluation_results"]:
                entries = eval_result_entries_to_yaml([*map(_entry, log["evaluation_results"])])
                text = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True)
                _write(folder / HUB / model / ".eval_results" / f"{table.name}.{origin}.yaml", text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def tables(folder: str | Path) -> dict[str, str]:
    """Return {`<paper>/<table>`: its csv text} from the logs of Every Eval Ever below ``folder``."""
    lines: dict[str, dict[int, Fields]] = defaultdict(dict)
    for path in Path(folder).rglob("*.json"):
        log = read_json(path)
        details = log["source_metadata"]["additional_details"]
        cells = [result["score_details"]["details"] for result in log["evaluation_results"]]
        for cell in (*cells, *json.loads(details[UNSCORED])):
            lines[details["table"]][int(cell["line"])] = cell
    texts = {}
    for name, of_table in sorted(lines.items()):
        out = io.StringIO()
        writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(of_table[place] for place in sorted(of_table))
        texts[name] = out.getvalue()
    return texts


def slug(name: str) -> str:
    """Return ``name`` in lower-case ASCII for paths and ids; its digest keeps different names apart."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    short = re.sub(r"[^a-z0-9.]+", "-", plain)[:60].strip("-.")
    return f"{short or 'row'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _log(table: ResultTable, system: str, origin: str, places: Iterable[int]) -> dict[str, Any]:
    results, unscored = [], []
    for place in places:
        details = {"line": str(place)} | {name: cell for name, cell in table.rows[place].items() if cell}
        if (score := _score(table.lines[place], origin)) is None:
            unscored.append(details)
        else:
            results.append(_result(table, table.lines[place], score, origin, details))
    published = origin == PUBLISHED
    library = ("unknown", "unknown") if published else ("lextables", __version__)
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{table.paper}/{table.name}/{origin}/{system}/{TIME}",
        "retrieved_timestamp": TIME,
        "source_metadata": {
            "source_name": table.citation if published else f"lextables, {table.title}",
            "source_type": "documentation" if published else "evaluation_run",
            "source_organization_name": "the authors of the paper" if published else "lextables",
            "evaluator_relationship": "other" if published else "third_party",
            "additional_details": {
                "table": f"{table.paper}/{table.name}",
                "origin": origin,
                UNSCORED: json.dumps(unscored, ensure_ascii=False),
            },
        },
        "eval_library": dict(zip(("name", "version"), library, strict=True)),
        "model_info": {
            "name": system,
            "id": f"{table.paper}/{slug(system)}",
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": results,
    }


def _score(line: Fields, origin: str) -> float | None:
    return number(line["published"] if origin == PUBLISHED else line["reproduced"] or line["ours"])


def _result(table: ResultTable, line: Fields, score: float, origin: str, details: Fields) -> dict[str, Any]:
    score_details: dict[str, Any] = {"score": score, "details": details}
    low, high = number(line["low"]), number(line["high"])
    if origin == COMPUTED and low is not None and high is not None:
        bounds = {"lower": low, "upper": high, "confidence_level": 0.95, "method": "resampled test units"}
        score_details["uncertainty"] = {"confidence_interval": bounds}
    place = {"source_type": "url", "url": [table.homepage]} if table.homepage else {"source_type": "other"}
    data = {"data": "release" if origin == PUBLISHED else table.data}
    return {
        "evaluation_result_id": f"{table.paper}/{table.name}/{origin}/{details['line']}",
        "evaluation_name": f"{table.paper}.{table.name}",
        "source_data": {"dataset_name": table.paper, **place, "additional_details": data},
        "metric_config": _metric(table, line, score),
        "score_details": score_details,
    }


def _metric(table: ResultTable, line: Fields, score: float) -> dict[str, Any]:
    """The metric with its direction and range; without a scale the range is that of the table's values."""
    same = table.of_metric(line)
    worst, best = next(
        ((float(other["worst"]), float(other["best"])) for other in same if other["best"]), (0.0, 0.0)
    )
    low, high = sorted((worst, best))
    known = low <= score <= high != low
    if not known:
        values = [_score(other, origin) for other in same for origin in (PUBLISHED, COMPUTED)]
        low, *_, high = sorted([low, high, *(value for value in values if value is not None)])
    metric = line["row"] if line["system"] == line["column"] else line["column"]
    return {
        "evaluation_description": table.title,
        "metric_id": f"{table.paper}.{slug(metric)}",
        "metric_name": metric,
        **({"metric_unit": UNITS[high]} if known and high in UNITS else {}),
        "lower_is_better": worst > best,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
        "additional_details": {"range": "of the metric" if known else "of the values in the table"},
    }


def _entry(result: Mapping[str, Any]) -> EvalResultEntry:
    """A result as an entry of `.eval_results`; the notes are the line of the csv as JSON."""
    table, metric = result["evaluation_name"].partition(".")[2], result["metric_config"]["metric_id"]
    return EvalResultEntry(
        dataset_id=f"lextables/{result['source_data']['dataset_name']}",
        task_id=f"{table}.{metric.partition('.')[2]}",
        value=result["score_details"]["score"],
        date=RELEASED,
        source_url=next(iter(result["source_data"].get("url", ())), None),
        notes=json.dumps(result["score_details"]["details"], ensure_ascii=False),
    )
