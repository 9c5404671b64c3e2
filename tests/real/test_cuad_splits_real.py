"""What text the test contracts of CUAD share with the training contracts."""

import pytest

from bench import measure_cuad_split

LEAST_WORDS = 8


@pytest.fixture(scope="module")
def texts(mirror):
    """{split: {title: text}} of the released question files."""
    path = mirror / "cuad/data.zip"
    if not path.is_file():
        pytest.skip(f"no real data: there is no file {path}")
    return measure_cuad_split.texts(path)


def lines(text):
    """The lines of eight words or more, in lower case and single blanks."""
    words = (line.lower().split() for line in text.split("\n"))
    return [" ".join(line) for line in words if len(line) >= LEAST_WORDS]


@pytest.fixture(scope="module")
def shared(texts):
    """{test contract: for each of its lines, whether a training contract has it}."""
    training = {line for text in texts["train"].values() for line in lines(text)}
    return {title: [line in training for line in lines(text)] for title, text in texts["test"].items()}


def test_less_than_a_hundredth_of_the_test_lines_are_in_training_too(shared):
    lines_shared = [line for of_contract in shared.values() for line in of_contract]
    assert len(lines_shared) > 7000
    assert sum(lines_shared) < 0.01 * len(lines_shared)


def test_no_title_or_text_is_in_both_and_few_contracts_share_a_fifth_of_their_lines(texts, shared):
    assert not texts["train"].keys() & texts["test"].keys()
    assert not set(texts["train"].values()) & set(texts["test"].values())
    # A joint filing agreement is a form; the other is between parties that have one in training too.
    assert {title.partition("_")[0] for title, lines in shared.items() if sum(lines) > 0.2 * len(lines)} == {
        "GALERATHERAPEUTICS,INC",
        "WOMENSGOLFUNLIMITEDINC",
    }
    assert not any(lines and all(lines) for lines in shared.values())


def test_one_test_contract_is_mostly_in_a_training_contract_with_its_lines_wrapped_otherwise(texts, shared):
    found = measure_cuad_split.shared(texts)
    nearest = sorted(found, key=lambda title: -found[title][0])
    assert sum(share > 0.5 for share, _ in found.values()) == 3
    assert sum(share > 0.2 for share, _ in found.values()) == 7
    share, training = found[nearest[0]]
    assert (nearest[0].partition("_")[0], round(share, 2)) == ("IdeanomicsInc", 0.9)
    assert training.startswith("IdeanomicsInc_20160330")
    # Nothing of this shows by lines.
    assert not any(shared[nearest[0]])
