"""Rankings in tests of retrieval, and gensim's Okapi BM25 as an oracle."""

from itertools import repeat

from gensim.corpora import Dictionary
from gensim.models import OkapiBM25Model

from lextables.pipeline.dataset import write
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows


def names(ranking):
    """The documents of a ranking of (document, score)."""
    return [document for document, _ in ranking]


def documents(hits):
    """{query: its documents, best first}."""
    return {query: names(ranking) for query, ranking in hits.items()}


def store(hits, path):
    """Write a run's predictions of {query: documents, best first}; return the path."""
    ranking = {
        query: list(zip(of, repeat(0.0), strict=False)) for query, of in hits.items()
    }
    write(PREDICTIONS, prediction_rows(ranking), path)
    return path


def gensim_scores(query, texts):
    """gensim's score of each text."""
    tokens = [text.split() for text in texts]
    dictionary = Dictionary(tokens)
    model = OkapiBM25Model(dictionary=dictionary)
    asked = dict(dictionary.doc2bow(query.split()))
    scores = []
    for words in tokens:
        weights = dict(model[dictionary.doc2bow(words)])
        scores.append(sum(weights[word] * asked.get(word, 0) for word in weights))
    return scores
