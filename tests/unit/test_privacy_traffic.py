"""Traffic ranks of sites from a list such as Tranco's."""

import pytest

from lextables.papers.privacy.tables import traffic_ranks as ranks
from lextables.pipeline.errors import BadInput


def written(tmp_path, content):
    path = tmp_path / "ranks.csv"
    path.write_text(content, encoding="utf-8")
    return path


def test_a_site_has_its_own_rank_or_that_of_the_domain_that_it_is_part_of(tmp_path):
    path = written(tmp_path, "1,example.com\n20,shop.example.com\n300,other.org\n4000,com\n")
    sites = ["shop.example.com", "us.example.com", "example.com", "nowhere.net", "a.b.other.org"]
    assert ranks(path, sites) == {
        "shop.example.com": 20, "us.example.com": 1, "example.com": 1, "a.b.other.org": 300,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("rank,site\n1,a.com\n", "ranks.csv, row 1: 'rank,site' is no rank and domain; write a rank"),
        ("1,a.com\n0,b.com\n", "ranks.csv, row 2: '0,b.com' is no rank"),
        ("1,a.com\n2\n", "ranks.csv, row 2: has 1 cells where there should be 2"),
        ("", "ranks.csv: the file is empty"),
    ],
)  # fmt: skip
def test_another_row_is_a_fault(tmp_path, content, sentence):
    with pytest.raises(BadInput) as error:
        ranks(written(tmp_path, content), ["a.com"])
    assert str(error.value).startswith(sentence)
