"""Inputs and params of the rules that review a user's contract."""

from dataclasses import dataclass
from functools import cached_property

from lextables.pipeline.errors import BadInput
from lextables.planning.jobs import Jobs
from lextables.planning.rule_values import Wildcards
from lextables.registry.paper import Review
from lextables.review import reviewer
from lextables.review.reviewer import Reviewer


@dataclass(frozen=True)
class ReviewJobs:
    """The review of the contract in the configuration, and the run that reads it."""

    jobs: Jobs
    entry: Review

    @cached_property
    def reviewer(self) -> Reviewer:
        """The run whose model reads the contract."""
        project = self.jobs.project
        plan = project.plans[project.paper_of[self.entry.of]]
        return reviewer.choose(project.config, self.entry, plan, project.results)

    @cached_property
    def name(self) -> str:
        """The name of the review's files.

        The contract is read here already, so that an unreadable file fails before any
        training.
        """
        contract = self.jobs.project.config.contract
        if not contract:
            raise BadInput(
                "contract is empty",
                where="config",
                do="name a file, as in --config contract=path.txt",
            )
        # Imported here: the readers of pdf and Word files are needed for a review only.
        from lextables.review.contract_text import read_contract

        read_contract(contract)
        _ = self.reviewer  # raises `BadInput` without one
        return reviewer.review_name(contract)

    def page(self, wildcards: Wildcards) -> str:
        """Input: the page of the review."""
        return f"{self.jobs.project.results}/review/{self.name}.html"

    def reviewer_files(self, wildcards: Wildcards) -> list[str]:
        """Input: the files of the reviewer's run; none if it was made under another
        configuration.
        """
        if wildcards.contract != self.name:
            raise BadInput(
                f"{wildcards.contract} is not the review of {self.jobs.project.config.contract}",
                where="config",
                do="run the target review, which has the name of the config's contract",
            )
        if not self.reviewer.planned:
            return []
        return [f"{self.jobs.project.results}/{path}" for path in self.reviewer.files]

    def marks(self, wildcards: Wildcards) -> str:
        """Input: the precision of the reviewer's marks."""
        return self.jobs.file(self.reviewer.run, "marks.parquet")

    def predictions(self, wildcards: Wildcards) -> list[str]:
        """Input: the predictions of a run; none if it was made under another
        configuration.
        """
        run = self.jobs.run_of(wildcards)
        if run not in self.jobs.project.specs:
            return []
        return [self.jobs.file(run, "predictions.parquet")]

    def run_folder(self, wildcards: Wildcards) -> str:
        """Param: the folder of the run that wildcards name."""
        return f"{self.jobs.project.results}/{self.jobs.run_of(wildcards).folder}"

    def reviewer_folder(self, wildcards: Wildcards) -> str:
        """Param: the folder of the reviewer's run."""
        return f"{self.jobs.project.results}/{self.reviewer.run.folder}"

    def record(self, wildcards: Wildcards) -> str:
        """Param: the digest of the reviewer's `run.json`, if the run was made under
        another configuration; else "".
        """
        return self.reviewer.record

    def weights(self, wildcards: Wildcards) -> str:
        """Param: the folder of the reviewer's weights; "" for an off-the-shelf
        model.
        """
        return self.reviewer.weights(self.jobs.project.results)
