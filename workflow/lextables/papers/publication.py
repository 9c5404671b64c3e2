"""What a paper's file says for those who get its data sets handed on: key `publish` of `resources/papers`."""

from collections.abc import Mapping

from lextables.pipeline.registry import Entry


class Responsible(Entry):
    """What a paper says of how its data came to be, in the words of Croissant's vocabulary of responsible AI.

    Each sentence names the section that it is from.  Croissant's specification says what belongs where:
    https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html
    """

    data_collection: str | None = None
    data_collection_type: tuple[str, ...] = ()
    data_collection_missing_data: str | None = None
    data_collection_raw_data: str | None = None
    data_preprocessing_protocol: tuple[str, ...] = ()
    data_annotation_protocol: tuple[str, ...] = ()
    data_annotation_platform: tuple[str, ...] = ()
    data_annotation_analysis: tuple[str, ...] = ()
    annotations_per_item: str | None = None
    annotator_demographics: tuple[str, ...] = ()
    machine_annotation_tools: tuple[str, ...] = ()
    data_biases: tuple[str, ...] = ()
    data_use_cases: tuple[str, ...] = ()
    data_limitations: tuple[str, ...] = ()
    data_social_impact: str | None = None
    personal_sensitive_information: tuple[str, ...] = ()
    data_release_maintenance_plan: str | None = None


class Apart(Entry):
    """A data set that is handed on in a bundle of its own: its title, and what there is to say of it."""

    title: str
    responsible: Responsible = Responsible()


class Publication(Entry):
    """What goes with a paper's data sets when they are handed on (`snakemake publish`).

    ``bibtex`` is the paper's entry, and ``redistribution`` what stands against handing its texts on.
    ``apart`` are data sets that get a bundle of their own.
    """

    bibtex: str = ""
    redistribution: str = ""
    responsible: Responsible = Responsible()
    apart: Mapping[str, Apart] = {}
