"""What one job is expected to take, by its rule, its runs and the model of cost."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lextables.costs.flops import CALLS, LOADS, Calls, Step, asked_loads, calls, flops
from lextables.costs.model import BYTES, LEARNING, READING, SECONDS, Amount, Model
from lextables.costs.texts import Texts
from lextables.errors import BadInput
from lextables.models.limits import Limits
from lextables.models.spending import Price, cost, price_of

MEGABYTE = 1e6
PRECISION = 4  # bytes of a parameter as weights are published and saved
# While a model is trained two checkpoints are kept, each with the weights and two moments of each.
CHECKPOINTS = 2 * 3


@dataclass(frozen=True)
class Estimator:
    """Says what jobs take: by the `Model` of cost, the `Texts` of the data, and prices of a server's models.

    ``parameters`` are {model: how many it has, None where that is not public}.
    """

    model: Model
    texts: Texts
    prices: Mapping[str, Price]
    limits: Limits
    parameters: Mapping[str, int | None]

    def job(
        self, rule: str, steps: Sequence[Step], published: float, on_gpu: bool, outputs: Sequence[str]
    ) -> dict[str, Any]:
        """Return the part of a `planned.Job` that is an estimate.

        ``published`` are the bytes of the published files that it comes from.
        """
        work = published / MEGABYTE
        served = any("api" in step.settings for step in steps)
        asked = self.asked(rule, steps) if rule in CALLS else Calls()
        kind, operations = self.operations(rule, steps, None if served else asked)
        if kind:
            core = None if operations is None else self.model.amount(kind, SECONDS, operations)
        else:
            core = self.model.amount(rule, SECONDS, work)
        gpu = core
        if on_gpu and kind and operations is not None:
            core = gpu = self.model.card.at(self.model.start(kind), operations)
        return {
            "kind": kind or rule,
            "core": core,
            "gpu": gpu if on_gpu else None,
            "left": self.left(rule, steps, work, outputs),
            "held": CHECKPOINTS * PRECISION * self.count(steps) if kind == LEARNING else 0.0,
            "flops": operations,
            **self.dollars(steps, asked, served),
        }

    def operations(self, rule: str, steps: Sequence[Step], asked: Calls | None) -> tuple[str, float | None]:
        """Return the kind of a job that runs a model and its operations; no kind for any other job.

        None are those of a model whose shape nobody has written down, or of data that nobody has counted.
        """
        if rule not in LOADS and (rule not in CALLS or asked is None):
            return "", None
        shape = self.model.shapes.get(steps[0].model) if steps else None
        kind = LEARNING if rule.endswith(("_train", "_search", "_singly", "_pretrain")) else READING
        try:
            loads = LOADS[rule](steps, self.texts) if rule in LOADS else asked_loads(asked or Calls())
        except LookupError:
            return kind, None
        return kind, flops(shape, loads) if shape else None

    def asked(self, rule: str, steps: Sequence[Step]) -> Calls:
        """What the job asks; nothing where its data are not counted."""
        try:
            return calls(rule, steps, self.texts)
        except LookupError:
            return Calls()

    def dollars(self, steps: Sequence[Step], asked: Calls, served: bool) -> dict[str, Any]:
        """The tokens and dollars of what a server is asked; None dollars without a price or a count."""
        if not served:
            return {}
        given = steps[0].settings
        try:
            price = price_of(given["weights"], given["api"], self.limits, self.prices)
        except BadInput:
            return {"tokens": asked.sent + asked.received, "dollars": None}
        found = cost(price, round(asked.sent), round(asked.received))
        return {"tokens": asked.sent + asked.received, "dollars": found.dollars if asked.requests else None}

    def left(self, rule: str, steps: Sequence[Step], work: float, outputs: Sequence[str]) -> Amount | None:
        """The bytes that a job leaves: weights by their parameters, all else by the records of its kind."""
        if rule in LOADS and any(output.endswith("/weights") for output in outputs):
            size = float(PRECISION * self.count(steps))
            return Amount(size, size, size) if size else None
        return self.model.amount(rule, BYTES, work)

    def count(self, steps: Sequence[Step]) -> int:
        """The parameters of the model of these runs; 0 where that is not known."""
        return (self.parameters.get(steps[0].model) or 0) if steps else 0

    def fetched(self, steps: Sequence[Step], here: Container[str]) -> dict[str, float | None]:
        """Return {id on the hub: bytes} of the weights of these runs that are not ``here``.

        What an earlier run trains lies in a folder below the results, which has more than an id's two steps.
        """
        found = {}
        for step in steps:
            place = str(step.settings.get("weights", ""))
            hub = str(step.settings.get("found", "")).startswith("hub") and place.count("/") == 1
            if hub and place not in here:
                found[place] = float(PRECISION * self.count([step])) or None
        return found
