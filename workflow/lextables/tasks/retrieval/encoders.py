"""The encoders of a ranking job: functions from texts to vectors.

They read vectors from the file of an action `encode`, or run a loaded bi-encoder.
"""

from lextables.models import bi_encoder, device
from lextables.models.text_vectors import DOCUMENT, QUERY, TextVectors, about_of
from lextables.models.weights import weights_folder
from lextables.tasks.retrieval.ranking import Encoders, Ranking


def stored_or_loaded(ranking: Ranking) -> Encoders:
    """Return the stored vectors if the job has them, else the bi-encoder that another
    run trained.
    """
    return stored(ranking) if ranking.encoded else load(ranking)


def stored(ranking: Ranking) -> Encoders:
    """Return the vectors that another job encoded.

    The device and the similarity of that job are added to the records.
    """
    (path,) = ranking.encoded
    about = about_of(path)
    ranking.note(**about)
    documents = TextVectors(path, DOCUMENT)
    return Encoders(documents, TextVectors(path, QUERY), about["similarity"])


def load(ranking: Ranking) -> Encoders:
    """Return the bi-encoder of a job; its device and similarity are added to the
    records.

    Vectors are cached in ``ranking.vectors``, unless the settings identify the weights
    neither by content nor by commit (`bi_encoder.cached`).
    """
    where = device.pick(ranking.device)
    folder = ranking.trained[0] if ranking.trained else weights_folder(ranking.model)
    model = bi_encoder.load(folder, where, ranking.model["max_length"])
    functions = (bi_encoder.encode_documents, bi_encoder.encode_queries)
    documents, queries = (
        bi_encoder.cached(function, model, ranking.model, ranking.vectors)
        for function in functions
    )
    ranking.note(device=device.describe(where), similarity=model.similarity_fn_name)
    ranking.note_training()
    return Encoders(documents, queries, model.similarity_fn_name)
