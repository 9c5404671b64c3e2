"""The public NLI data sets: tables from each published format, and the message for each
error.
"""

import gc
import json
import zipfile
from pathlib import Path

import pytest
import yaml

from lextables.corpora.nli import raw
from lextables.corpora.nli.raw import text_id
from lextables.corpora.nli.schema import TABLES
from lextables.papers.lawngnli.dataset.labels import LABELS
from lextables.pipeline.dataset import Published, read, write_all
from lextables.pipeline.errors import BadInput

REPEATS = {"R1": 2, "R2": 3, "R3": 1}
THREE = ["entail", "neutral", "contradict"]


def lines(*records):
    return "".join(f"{json.dumps(record)}\n" for record in records)


def gold(premise, hypothesis, label):
    """A record of SNLI or MultiNLI; the releases have more keys, which are ignored."""
    return {
        "sentence1": premise,
        "sentence2": hypothesis,
        "gold_label": label,
        "pairID": "1",
        "annotator_labels": [],
    }


def claim(context, query, label):
    return {"context": context, "query": query, "label": label, "cid": "1", "fid": "2"}


def turn(context, hypothesis, label):
    return {
        "context": context,
        "hypothesis": hypothesis,
        "label": label,
        "uid": "1",
        "reason": "",
    }


def passage(premise, hypothesis, label):
    return {"premise": premise, "hypothesis": hypothesis, "label": label}


def contracts(*choices):
    """A file of ContractNLI with one document per dictionary {hypothesis key:
    choice}.
    """
    documents = []
    for number, one in enumerate(choices):
        annotations = {key: {"choice": one[key], "spans": []} for key in one}
        document = {
            "id": number,
            "text": f"Contract {number}.",
            "spans": [],
            "annotation_sets": [{"annotations": annotations}],
        }
        documents.append(document)
    labels = {
        "nda-1": {"short_description": "a", "hypothesis": "It is marked."},
        "nda-2": {"short_description": "b", "hypothesis": "It is returned."},
    }
    return json.dumps({"documents": documents, "labels": labels})


def anli_files():
    rounds = {}
    for one, label in (("R1", "e"), ("R2", "n"), ("R3", "c")):
        record = lines(turn(f"{one} came.", "It came.", label))
        for split in ("train", "dev", "test"):
            rounds[f"anli_v1.0/{one}/{split}.jsonl"] = record
    return {
        "snli": {
            # The release has a macOS metadata file for each of its files.
            "__MACOSX/snli_1.0/._snli_1.0_train.jsonl": "\0",
            "snli_1.0/snli_1.0_train.jsonl": lines(
                gold("A dog runs.", "An animal runs.", "entailment"),
                gold("A dog runs.", "It rains.", "-"),
                gold("A dog runs.", "Nothing runs.", "contradiction"),
            ),
            "snli_1.0/snli_1.0_dev.jsonl": lines(
                gold("A cat sits.", "It is red.", "neutral")
            ),
            "snli_1.0/snli_1.0_test.jsonl": lines(
                gold("A cat sits.", "It sits.", "entailment")
            ),
        },
        "mnli": {
            "multinli_1.0/multinli_1.0_train.jsonl": lines(
                gold("Rain fell.", "It rains.", "neutral")
            ),
            "multinli_1.0/multinli_1.0_dev_matched.jsonl": lines(
                gold("Snow fell.", "Snow.", "entailment")
            ),
            "multinli_1.0/multinli_1.0_dev_mismatched.jsonl": lines(
                gold("Snow fell.", "It melted.", "-")
            ),
        },
        "fever": {
            "nli_fever/train_fitems.jsonl": lines(
                claim("Ormsby is a town.", "Ormsby is a place.", "SUPPORTS"),
                claim("Ormsby is a town.", "Ormsby is large.", "NOT ENOUGH INFO"),
                claim(" ", "Ormsby is a lake.", "REFUTES"),
            ),
            "nli_fever/dev_fitems.jsonl": lines(
                claim("Ormsby is a town.", "Ormsby is old.", "hidden")
            ),
            "nli_fever/test_fitems.jsonl": lines(
                claim("Ormsby is a town.", "Ormsby is new.", "hidden")
            ),
        },
        "anli": rounds,
    }


DATA = {
    "anli": anli_files(),
    "control": {
        split: lines(
            passage("Long.", "It is long.", "e"), passage("Long.", "It is short.", "c")
        )
        for split in ("train", "dev", "test")
    },
    "docnli": {
        "docnli": {
            "DocNLI_dataset/train.json": json.dumps(
                [
                    passage("A town.", "A place.", "entailment"),
                    passage("A town.", "A sea.", "not_entailment"),
                ]
            ),
            "DocNLI_dataset/dev.json": json.dumps(
                [passage("A lake.", "A sea.", "not_entailment")], indent=1
            ),
            "DocNLI_dataset/test.json": "[]",
        }
    },
    "contractnli": {
        "contractnli": {
            "contract-nli/train.json": contracts(
                {"nda-1": "Entailment", "nda-2": "Contradiction"},
                {"nda-2": "NotMentioned", "nda-1": "Contradiction"},
            ),
            "contract-nli/dev.json": contracts(
                {"nda-1": "NotMentioned", "nda-2": "NotMentioned"}
            ),
            "contract-nli/test.json": contracts(),
        }
    },
}


def published(folder, name, changes=()):
    """Write the files of a data set; ``changes`` maps the name of a file or zip member
    to other text.
    """
    changed, paths = dict(changes), {}
    for file, content in DATA[name].items():
        paths[file] = [path := folder / file]
        if isinstance(content, str):
            path.write_text(changed.get(file, content))
            continue
        with zipfile.ZipFile(path, "w") as archive:
            for member, text in content.items():
                if changed.get(member.split("/")[-1], text) is not None:
                    archive.writestr(member, changed.get(member.split("/")[-1], text))
    return Published(paths, {}, {"anli_repeats": REPEATS})


def made(folder, name, changes=()):
    """Write a data set's tables; return pairs {split: [(premise, hypothesis, answer)]},
    tables and notes.
    """
    rows = raw.read(name, published(folder, name, changes))
    write_all(TABLES[name], rows.of, folder / "out")
    tables = {
        table.name: list(read(folder / f"out/{table.name}.parquet"))
        for table in TABLES[name]
    }
    texts = {row["text_id"]: row["text"] for row in tables["texts"]}
    (head,) = tables["heads"]
    pairs = {}
    for row in tables["examples"]:
        assert row["head_id"] == head["head_id"]
        pair = (
            texts[row["text_id"]],
            texts[row["pair_id"]],
            head["answers"][row["label"]],
        )
        pairs.setdefault(row["split"], []).append(pair)
    return pairs, tables, rows.notes


def test_anli_combines_four_sources_and_repeats_its_rounds(tmp_path):
    pairs, tables, notes = made(tmp_path, "anli")
    assert pairs == {
        "train": [
            *[("R1 came.", "It came.", "entail")] * 2,
            *[("R2 came.", "It came.", "neutral")] * 3,
            ("R3 came.", "It came.", "contradict"),
            ("Ormsby is a town.", "Ormsby is a place.", "entail"),
            ("Ormsby is a town.", "Ormsby is large.", "neutral"),
            (" ", "Ormsby is a lake.", "contradict"),
            ("Rain fell.", "It rains.", "neutral"),
            ("A dog runs.", "An animal runs.", "entail"),
            ("A dog runs.", "Nothing runs.", "contradict"),
        ],
        "dev": [
            ("R1 came.", "It came.", "entail"),
            ("R2 came.", "It came.", "neutral"),
            ("R3 came.", "It came.", "contradict"),
            ("Snow fell.", "Snow.", "entail"),
            ("A cat sits.", "It is red.", "neutral"),
        ],
        "test": [
            ("R1 came.", "It came.", "entail"),
            ("R2 came.", "It came.", "neutral"),
            ("R3 came.", "It came.", "contradict"),
            ("A cat sits.", "It sits.", "entail"),
        ],
    }
    assert tables["heads"] == [{"head_id": "nli", "answers": THREE}]
    assert [
        row["example_id"] for row in tables["examples"] if row["split"] == "train"
    ] == [
        "anli_r1-train-0000001.00",
        "anli_r1-train-0000001.01",
        "anli_r2-train-0000001.00",
        "anli_r2-train-0000001.01",
        "anli_r2-train-0000001.02",
        "anli_r3-train-0000001",
        "fever-train-0000001",
        "fever-train-0000002",
        "fever-train-0000003",
        "mnli-train-0000001",
        "snli-train-0000001",
        "snli-train-0000003",
    ]
    assert notes == {
        "pairs without a label in fever-dev": 1,
        "pairs without a label in fever-test": 1,
        "pairs without a label in mnli-dev_mismatched": 1,
        "pairs without a label in snli-train": 1,
        "premises without a word in fever-train": 1,
    }


def test_texts_are_unique_and_identified_by_their_content(tmp_path):
    _, tables, _ = made(tmp_path, "anli")
    texts = [row["text"] for row in tables["texts"]]
    assert len(set(texts)) == len(texts)
    assert (
        "It rains." in texts
    )  # from MultiNLI; the SNLI pair with this text has no label
    ids = [row["text_id"] for row in tables["texts"]]
    assert ids == sorted(map(text_id, texts))
    tokens = {row["text"]: row["tokens"] for row in tables["texts"]}
    assert (tokens["It came."], tokens[" "]) == (
        5,
        3,
    )  # It, came, full stop and two special tokens


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "control",
            {
                split: [
                    ("Long.", "It is long.", "entail"),
                    ("Long.", "It is short.", "contradict"),
                ]
                for split in ("train", "dev", "test")
            },
        ),
        (
            "docnli",
            {
                "train": [
                    ("A town.", "A place.", "entail"),
                    ("A town.", "A sea.", "not entail"),
                ],
                "dev": [("A lake.", "A sea.", "not entail")],
            },
        ),
        (
            "contractnli",
            {
                "train": [
                    ("Contract 0.", "It is marked.", "entail"),
                    ("Contract 0.", "It is returned.", "contradict"),
                    ("Contract 1.", "It is marked.", "contradict"),
                    ("Contract 1.", "It is returned.", "neutral"),
                ],
                "dev": [
                    ("Contract 0.", "It is marked.", "neutral"),
                    ("Contract 0.", "It is returned.", "neutral"),
                ],
            },
        ),
    ],
)
def test_each_published_format_is_read(tmp_path, name, expected):
    pairs, tables, notes = made(tmp_path, name)
    assert pairs == expected
    assert notes == {}
    two = name == "docnli"
    answers = ["entail", "not entail"] if two else THREE
    assert tables["heads"] == [
        {"head_id": "entailment" if two else "nli", "answers": answers}
    ]


RESTORE = "; restore the file from the release."
FAULTS = {
    "snli, a key": (
        "anli",
        {
            "snli_1.0_train.jsonl": lines(
                gold("a", "b", "neutral"), {"sentence1": "a", "sentence2": "b"}
            )
        },
        "snli, snli_1.0_train.jsonl, line 2: the key 'gold_label' is missing",
    ),
    "mnli, a label": (
        "anli",
        {"multinli_1.0_dev_matched.jsonl": lines(gold("a", "b", "yes"))},
        "mnli, multinli_1.0_dev_matched.jsonl, line 1: 'gold_label' is 'yes', not one of 'entailment', "
        "'neutral', 'contradiction', '-'",
    ),
    "control, a label": (
        "control",
        {"dev": lines(passage("a", "b", "e"), passage("a", "b", "entailment"))},
        "dev, line 2: 'label' is 'entailment', not one of 'e', 'n', 'c'",
    ),
    "docnli, an item": (
        "docnli",
        {
            "train.json": '[{"premise": "a", "hypothesis": "b", "label": "entailment"}, []]'
        },
        "docnli, train.json, item 2: holds list where an object should be",
    ),
    "contractnli, a choice": (
        "contractnli",
        {"train.json": contracts({"nda-1": "Entailment", "nda-2": "Maybe"})},
        "contractnli, train.json, document 1, nda-2: 'choice' is 'Maybe', not one of 'Entailment', "
        "'NotMentioned', 'Contradiction'",
    ),
    "contractnli, no set": (
        "contractnli",
        {
            "dev.json": json.dumps(
                {"labels": {}, "documents": [{"text": "a", "annotation_sets": []}]}
            )
        },
        "contractnli, dev.json, document 1: has no annotation set",
    ),
}


@pytest.mark.parametrize(("name", "changes", "sentence"), FAULTS.values(), ids=FAULTS)
def test_the_error_message_names_file_and_position(tmp_path, name, changes, sentence):
    with pytest.raises(BadInput) as error:
        raw.read(name, published(tmp_path, name, changes))
    assert str(error.value) == sentence + RESTORE


def test_temporary_files_are_deleted_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    rows = raw.read("control", published(tmp_path, "control"))
    assert len(list((tmp_path / "temporary").glob("lextables-*/*"))) > 1
    assert len(list(rows.of["texts"])) == 3
    del rows
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []
    with pytest.raises(BadInput):
        raw.read("control", published(tmp_path, "control", {"test": "{"}))
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_answers_equal_the_labels_of_lawngnli():
    assert raw.THREE == LABELS


def test_the_repeats_give_the_papers_number_of_pairs():
    """Table 2's size of ANLI, computed from the sizes of SNLI, MultiNLI, FEVER-NLI and
    the rounds.
    """
    registry = yaml.safe_load(
        (Path(__file__).parents[2] / "resources/papers/lawngnli.yaml").read_text()
    )
    rounds = {"R1": 16_946, "R2": 45_460, "R3": 100_459}
    repeated = sum(
        registry["anli_repeats"][one] * pairs for one, pairs in rounds.items()
    )
    assert 549_367 + 392_702 + 208_346 + repeated == 3_233_665
