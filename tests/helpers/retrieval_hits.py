"""Rankings in tests of retrieval, and gensim's Okapi BM25 as an oracle."""

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
    """Write a run's predictions of {query: documents, best first}, all with the score
    0; return the path.
    """
    rankings = {}
    for query, ranked in hits.items():
        rankings[query] = [(document, 0.0) for document in ranked]
    write(PREDICTIONS, prediction_rows(rankings), path)
    return path


def gensim_scores(query, texts):
    """gensim's score of each text."""
    tokens = [text.split() for text in texts]
    dictionary = Dictionary(tokens)
    model = OkapiBM25Model(dictionary=dictionary)
    counts = dict(dictionary.doc2bow(query.split()))  # of the words of the query
    scores = []
    for words in tokens:
        weights = dict(model[dictionary.doc2bow(words)])
        scores.append(sum(weights[word] * counts.get(word, 0) for word in weights))
    return scores
