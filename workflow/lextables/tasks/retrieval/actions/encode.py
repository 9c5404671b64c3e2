"""Encode the queries and documents of a data set with an encoder that is not trained
here.
"""

from collections.abc import Iterator

from lextables.tasks.job import Job
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.dense import READ
from lextables.tasks.retrieval.documents import in_order
from lextables.tasks.vectors import write_vectors


def run(job: Job) -> None:
    """Write the vectors of the texts that all rankings with this encoder read.

    ``job.task["encoded"]`` names the texts: queries of the ``parts`` of the data set in
    each of the ``forms`` ({form: the ids of its queries, or None for all}), and the
    documents in the ``pool`` of these queries, read in each of the ``readings``
    (`dense.READ`).
    """
    encoded = job.task["encoded"]
    data = collection.load(job.inputs["data"], job.task)
    queries: list[str] = []
    for form, only in encoded["forms"].items():
        queries += data.texts(form, encoded["parts"], only).values()
    pool: set[str] = set()
    for query in data.of(*encoded["parts"]):
        pool.update(data.pool(query, encoded["pool"]))
    documents = in_order(pool, data.documents)

    def document_texts() -> Iterator[str]:
        """Yield the whole texts of the documents, their paragraphs, or both."""
        for document in documents:
            text = data.documents[document]
            # Neither reading depends on the query, so it is given as "".
            for reading in encoded["readings"]:
                yield from READ[reading](text)("")

    write_vectors(job, lambda: iter(queries), document_texts)
