"""The finished LawngNLI, its untwinned candidates, and their census with the funnel."""

import json
from collections import Counter
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from lextables.dataset import census, write_census
from lextables.job import job
from lextables.lawngnli import construction, entail_examples
from lextables.lawngnli.construction_schema import EXAMPLES, LONG_PREMISES, UNFILTERED
from lextables.lawngnli.funnel import check_left
from lextables.models import bi_encoder, device
from lextables.models.weights import weights_folder


def loaded(paths):
    return [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]


with job(snakemake.log[0]) as log:
    given, output, chosen = snakemake.input, snakemake.output, snakemake.params.encoder
    shards = [
        construction.Shard(*paths)
        for paths in zip(
            given.parentheticals, given.contradictions, given.cites, given.long_premises, strict=True
        )
    ]
    counts = Counter()
    for record in loaded(given.counts):
        counts.update(record.get("funnel", {}) | record["counts"])
    names = (*entail_examples.FUNNEL, *construction.FUNNEL)
    check_left((name, counts[name]) for name in names if name in counts)

    folder = weights_folder(chosen)
    model = bi_encoder.load(folder, device.pick(snakemake.params.device))
    last = construction.write_examples(
        shards,
        lambda texts: bi_encoder.encode(model, texts),
        snakemake.params.seed,
        output.examples,
        output.long_premises,
    )
    funnel = [(name, (counts | Counter(last))[name]) for name in names]
    check_left(funnel)
    construction.write_unfiltered(shards, output.unfiltered)

    notes = {name: n for name, n in sorted(counts.items()) if name not in names}
    reports = loaded(given.opinions)
    notes["opinions"] = sum(report["opinions"] for report in reports)
    set_aside = [volume for report in reports for volume in report["set_aside"]]
    notes["volumes set aside"] = len(set_aside)

    # Rebuilt from chosen volumes and not from the paper's export: never comparable, whatever the bytes.
    # One entry for the volumes that are alike; of an address only the host is the same for all.
    note = "rebuilt from chosen volumes, where the paper had the whole corpus of April 2021"
    alike = {}
    for record in chain.from_iterable(shard["volumes"] for shard in loaded(given.provenance)):
        place = urlsplit(record["obtained_from"])
        kept = {key: record[key] for key in ("source", "variant", "licence", "citation")}
        kept["obtained_from"] = f"{place.scheme}://{place.netloc}" if place.netloc else place.path
        alike.setdefault(tuple(kept.items()), []).append(record["bytes"])
    sources = [
        dict(kept) | {"file": f"{len(sizes)} volumes", "bytes": sum(sizes), "comparable": False, "note": note}
        for kept, sizes in alike.items()
    ]
    tables = (
        (EXAMPLES, output.examples),
        (LONG_PREMISES, output.long_premises),
        (UNFILTERED, output.unfiltered),
    )
    write_census(
        output.census,
        {
            "data": {table.name: census(table, path) for table, path in tables},
            "notes": notes,
            "funnel": funnel,
            "set_aside": set_aside,
            "parser": snakemake.params.parser,
            "encoder": chosen["model"],
            "sources": sources,
        },
    )
    log.info("%s", funnel)
