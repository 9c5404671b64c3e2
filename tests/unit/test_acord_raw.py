"""The reader of ACORD's zip; the census of the sample pins every row."""

from helpers.registered import SAMPLE, read, written
from helpers.released_zips import altered, replaced


def test_the_sample_has_the_registered_rows(tmp_path):
    rows = read("acord", "acord")
    written("acord", "acord", tmp_path, rows)
    assert rows.notes == {
        "ratings_without_a_number": 2,
        "ratings_without_a_judged_clause": 0,
    }
    assert {row["stars"] - row["score"] for row in rows.of["judgements"]} == {1}
    queries = rows.of["queries"]
    ratings = rows.of["ratings"]
    assert [query["number"] for query in queries] == list(range(1, len(queries) + 1))
    assert all(query["medium"] and query["long"] for query in queries)
    judged = {(row["query_id"], row["clause_id"]) for row in rows.of["judgements"]}
    assert ratings
    for row in ratings:
        assert (row["query_id"], row["clause_id"]) in judged
    assert any(row["rating"] % 1 for row in ratings)


def test_a_rating_of_a_text_without_a_judged_clause_is_counted(tmp_path):
    rating = read("acord", "acord").of["ratings"][0]
    clause = f'{{"_id": "{rating["clause_id"]}", "text": "'
    reworded = replaced(clause.encode(), f"{clause}Reworded: ".encode())
    path = altered(
        SAMPLE / "acord/ACORD.zip", tmp_path / "ACORD.zip", {"corpus.jsonl": reworded}
    )
    rows = read("acord", "acord", files={"release": [path]})
    assert rows.of["ratings"][0] == rating | {"clause_id": None}
    assert rows.notes["ratings_without_a_judged_clause"] >= 1
