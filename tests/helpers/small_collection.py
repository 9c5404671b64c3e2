"""A collection of four documents and four queries, with the gain of each judged
document.
"""

from lextables.tasks.retrieval.collection import Collection

TASK = {
    "names": {
        "documents": "clauses",
        "document": "clause_id",
        "text": "text",
        "gain": "score",
    },
    "training": "train",
    "validation": "valid",
    "test": "test",
}
DOCUMENTS = {
    "a": "the seller bears the cap on liability",
    "b": "the buyer may assign this agreement",
    "c": "liability and liability and nothing else",
    "d": "a term of three years",
}
QUERIES = {}
for query, split, short in (
    ("cap", "test", "cap on liability"),
    ("term", "valid", "term"),
    ("assign", "test", "assign"),
    ("seen", "train", "liability"),
):
    QUERIES[query] = {"query_id": query, "split": split, "short": short}
    QUERIES[query]["long"] = f"a clause about {short}"
JUDGED = {
    "cap": {"a": 4, "b": 0, "d": 0},
    "term": {"d": 2, "a": 0},
    "assign": {"b": 3, "c": 1},
    "seen": {"c": 4},
}
COLLECTION = Collection(DOCUMENTS, QUERIES, JUDGED, TASK)
