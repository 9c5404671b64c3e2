"""A first stage with the vectors of an embedding API."""

from functools import partial

from lextables.models import api
from lextables.models.spending import Limits
from lextables.tasks.retrieval import dense
from lextables.tasks.retrieval.collection import HitsByCondition
from lextables.tasks.retrieval.ranking import Encoders, Ranking, RankingSettings


def rank(ranking: Ranking) -> HitsByCondition:
    """Rank the pool of each query (`dense.retrieve`); {condition: hits}."""
    embed = partial(
        api.embed,
        ranking.model["api"],
        ranking.model["weights"],
        cache=ranking.asking["kept"],
        limits=Limits(**ranking.asking["limits"]),
    )
    runs = ranking.runs(RankingSettings)
    # The API encodes queries and documents in the same way.
    return dense.retrieve(ranking.collection, runs, Encoders(embed, embed))
