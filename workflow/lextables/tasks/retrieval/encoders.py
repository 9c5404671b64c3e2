"""The bi-encoder of a ranking job, as functions from texts to vectors."""

from sentence_transformers import SentenceTransformer

from lextables.models import bi_encoder, device
from lextables.models.weights import weights_folder
from lextables.tasks.retrieval.ranking import Encoders, Ranking


def load(ranking: Ranking) -> tuple[SentenceTransformer, Encoders]:
    """Return the bi-encoder of a job and its encoders; the records get device and
    similarity.

    Vectors of weights that the settings identify are cached in the job's folder.
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
    return model, Encoders(documents, queries, model.similarity_fn_name)
