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
    """Write the vectors of what the rankings read, which ``encoded`` of the job's task
    states.

    It has the `parts` of the queries, the `forms` (each with its queries, or None for
    all), the `pool` of documents of a query, and the `readings`: how a document is
    read.
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
        """Yield what is read of the documents: whole texts or paragraphs."""
        for document in documents:
            text = data.documents[document]
            for reading in encoded["readings"]:
                yield from READ[reading](text)("")

    write_vectors(job, lambda: iter(queries), document_texts)
