"""The schema of `resources/papers/<paper>.yaml`, the same for all papers.

A paper's file names its data sets and the files that these are read from, the task of
each data set, and its tables with their rows.  A paper package whose reader or tables
need more keys adds them in a subclass of `Paper`, in its module ``entry``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from lextables.pipeline.config import Config
from lextables.pipeline.entries import Entry, Line, Name, Title
from lextables.sources.entries import Source

Strings = tuple[str, ...]
# A table's name is part of paths and targets, and shown as its number
# (`tables.render.label`).
TableName = Annotated[
    str,
    Field(
        pattern=r"^(table|figure)([0-9]+[a-z]?|_[a-z]+[0-9]*)$",
        description="the paper's number, such as table3, table_c1 or figure2, or a word, as in table_labels",
    ),
]
# The group of those categories in a review that are in no other group.
OTHER_CATEGORIES = "other"
# The keys of `tables.figures.KINDS`, repeated because that module loads matplotlib.
FigureKind = Literal[
    "bars_before_after",
    "bars_by_group",
    "bubbles",
    "curves",
    "heat_map",
    "histogram",
    "line_by_mark",
    "line_by_size",
]


class DataSet(Entry):
    """A data set: the input of its reader, and the census that it must have before any
    run starts.

    The reader gets ``files``, {name: published files, as `<source>/<file>`}, ``facts``,
    {name: a file of `resources/facts`}, and the keys ``given`` of the paper's file.  A
    file in ``instead`` replaces the files of its name if the mirrors have it and lack
    one of these files.

    ``census`` maps a variant of the first file to the expected census.  ``reader`` is
    the subpackage with the reader and schema, if that is not the paper's package.  A
    missing ``auxiliary`` data set stops nothing (`paper_plan.absent_data`).
    """

    files: Mapping[str, str | Strings] = Field(min_length=1)
    instead: Mapping[str, str] = {}
    facts: Mapping[str, str] = {}
    given: Strings = ()
    census: Mapping[str, Mapping[str, Any]] = {}
    reader: str = Field("", pattern=r"^([a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*)?$")
    auxiliary: bool = False

    def package(self, paper: str) -> str:
        """The package of its reader and schema, as `modules.module` takes it."""
        return self.reader or paper

    def named(self, mirrors: list[Path]) -> dict[str, list[str]]:
        """{name: its files}, after replacement by ``instead``; ``mirrors`` are the
        folders of the config key ``mirror``.
        """
        files_of = {}
        for name, files in self.files.items():
            if isinstance(files, str):
                files = (files,)
            other = self.instead.get(name)
            if other and _is_in_mirror(mirrors, other):
                is_complete = all(_is_in_mirror(mirrors, file) for file in files)
                if not is_complete:
                    files = (other,)
            files_of[name] = list(files)
        return files_of


def _is_in_mirror(mirrors: list[Path], file: str) -> bool:
    return any((mirror / file).is_file() for mirror in mirrors)


class Texts(Entry):
    """Where a data set's texts are, as the target `overlaps` reads them.

    ``table`` has a row for each ``unit`` (the name of a column) with its ``text``, or
    several consecutive rows, whose texts are joined with line ends.  ``split`` is the
    column of the unit's split; or ``splits`` is another table, with the columns
    ``unit`` and ``split``, that puts a unit into one or more splits.

    Headline scores are also shown on the units that share less than a tenth of their
    words with the split ``without``, such as `cuad/train`; by default with the data
    set's own training split.  ``collection`` is the raw collection that the texts were
    taken from, `edgar` or `caselaw`.
    """

    table: Name
    unit: Name
    text: Name = "text"
    split: str = ""
    splits: str = ""
    without: str = ""
    collection: Literal["", "edgar", "caselaw"] = ""


class Headline(Entry):
    """The score of a table that the leaderboard over all papers shows.

    It is in a ``column`` whose rows are the systems, or in a ``row`` whose columns are
    the systems.  ``measure`` is the name under which the table compares it, if that
    differs from the column or row (`cells.Score`).  With ``lower``, lower scores are
    better.  ``chance`` are rows at chance level, such as random answers: they are never
    the best published row.
    """

    column: str = ""
    row: str = ""
    measure: str = ""
    lower: bool = False
    chance: Strings = ()

    @model_validator(mode="after")
    def _check_place(self) -> "Headline":
        if bool(self.column) == bool(self.row):
            raise ValueError("a headline is a column or a row")
        return self

    @property
    def compared_by(self) -> str:
        """The measure that the table compares systems by."""
        return self.measure or self.column or self.row


class Difference(Entry):
    """Why cells of a table are off: all of them, or those in some of its ``rows`` or
    ``columns``.
    """

    why: str = Field(min_length=1)
    rows: Strings = ()
    columns: Strings = ()


class TableEntry(Entry):
    """A published table or figure.

    ``title`` is its title, ``where`` its place in the paper, and ``kind`` the kind of a
    figure.  ``notes`` are shown below it.

    What it shows: ``rows`` selects rows of the runs on the data set ``of``; a row is
    shown if it has all fields of one of these mappings.  ``conditions`` are the
    conditions of the runs that it shows, by default the task's main condition; `all`
    stands for all conditions of a row.  ``names`` are rows and columns that the table's
    code refers to.  ``beside`` are other data sets that it shows if they are available,
    and ``file`` is the config key of a user's file that it shows.

    What pages say of it: ``headline`` is its score in the leaderboard.  ``differences``
    explain cells that are off; the first one that names a cell counts.  The results
    page shows a table ``in_full`` that compares published rows with additional ones.
    ``unpublished`` says what its values rest on that was never published, so that
    nobody can compute them.
    """

    title: Line
    where: Line
    kind: FigureKind | None = None
    notes: tuple[Line, ...] = ()
    of: str | None = None
    rows: tuple[Mapping[str, Any], ...] = ()
    conditions: Strings | Literal["all"] = ()
    names: Mapping[str, Any] = {}
    beside: Strings = ()
    file: str = ""
    headline: Headline | None = None
    differences: tuple[Difference, ...] = ()
    in_full: bool = False
    unpublished: str = ""

    def why_off(self, row: str, column: str) -> str:
        """The explanation of a cell that is off, or nothing."""
        for difference in self.differences:
            has_row = not difference.rows or row in difference.rows
            has_column = not difference.columns or column in difference.columns
            if has_row and has_column:
                return difference.why
        return ""


class NotInSample(Entry):
    """What a run on the sample leaves out, because something else exercises the same
    code.

    ``rows`` are not run, and ``data`` are auxiliary data sets.  ``tables`` are missing
    in the report, and are built by the targets with their names and by `tables`.
    """

    rows: tuple[Line, ...] = ()
    data: tuple[Name, ...] = ()
    tables: tuple[TableName, ...] = ()


class Responsible(Entry):
    """Statements of a paper on the origin of its data, in Croissant's vocabulary of
    responsible AI.

    Each sentence cites its section; titles are those of an export's card.  Croissant's
    specification defines the fields:
    https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html
    """

    data_collection: str | None = Field(None, title="Collection")
    data_collection_type: Strings = Field((), title="Kind of collection")
    data_collection_missing_data: str | None = Field(None, title="Missing data")
    data_collection_raw_data: str | None = Field(None, title="Raw data")
    data_preprocessing_protocol: Strings = Field((), title="Preparation")
    data_annotation_protocol: Strings = Field((), title="Annotation")
    data_annotation_platform: Strings = Field((), title="Tools of annotation")
    data_annotation_analysis: Strings = Field((), title="Agreement and disputes")
    annotations_per_item: str | None = Field(None, title="Annotations per item")
    annotator_demographics: Strings = Field((), title="Who annotated")
    machine_annotation_tools: Strings = Field((), title="Machine annotation")
    data_biases: Strings = Field((), title="Biases")
    data_use_cases: Strings = Field((), title="Intended uses")
    data_limitations: Strings = Field((), title="Limits")
    data_social_impact: str | None = Field(None, title="Social impact")
    personal_sensitive_information: Strings = Field((), title="Personal information")
    data_release_maintenance_plan: str | None = Field(None, title="Upkeep")


class Apart(Entry):
    """A data set that is exported apart from those of its paper: its title, and
    statements on the origin of its data.
    """

    title: Line
    responsible: Responsible = Responsible()


class Publication(Entry):
    """Texts in the export of a paper's data sets (`snakemake publish`).

    ``bibtex`` is the citation of the paper.  ``redistribution`` says why its texts may
    not be redistributed; empty if they may.  ``responsible`` are statements on the
    origin of the data.  ``apart`` are data sets with a separate export.
    """

    bibtex: str = ""
    redistribution: str = ""
    responsible: Responsible = Responsible()
    apart: Mapping[Name, Apart] = {}


class ReviewGroup(Entry):
    """Categories that a review shows under one title."""

    title: Line
    categories: Strings


class Review(Entry):
    """The review of a user's contract (`snakemake review`) by the models of a task of
    spans.

    ``of`` is the data set with this task, and ``data`` its name on pages.  ``models``
    can review a contract, best first.  Spans with a probability of ``minimum`` or less
    are not shown.  All categories that are not in ``groups`` are in the group
    `OTHER_CATEGORIES`.
    """

    of: Name
    data: Line
    models: Strings = Field(min_length=1)
    minimum: float = Field(ge=0, lt=1)
    groups: Mapping[Name, ReviewGroup] = {}

    @model_validator(mode="after")
    def _check_groups(self) -> "Review":
        for key, group in self.groups.items():
            for category in group.categories:
                if self.group_of(category) != key:
                    what = f"{category} is in the groups {self.group_of(category)}"
                    raise ValueError(f"{what} and {key}")
        return self

    def group_of(self, category: str) -> str:
        """The key of a category's group."""
        for key, group in self.groups.items():
            if category in group.categories:
                return key
        return OTHER_CATEGORIES

    def titles(self) -> dict[str, str]:
        """{group: its title}, in the order of the page."""
        titles = {key: group.title for key, group in self.groups.items()}
        return titles | {OTHER_CATEGORIES: OTHER_CATEGORIES.capitalize()}


class ShownPaper(Entry):
    """The parts of a paper that pages show: its title, its citation and its tables."""

    title: Title
    citation: Line
    tables: Mapping[TableName, TableEntry] = Field(min_length=1)


class Paper(ShownPaper):
    """The keys of every paper's file, besides those of `ShownPaper`.

    ``sources`` are entries as in `resources/sources.yaml`, for sources of this paper
    only.  ``data`` are its data sets, ``texts`` says where their texts are, and
    ``tasks`` are the tasks on them, by the names of the data sets; they are checked by
    the classes of their kinds (`packages.load`).  ``review`` is the review of a user's
    contract, ``not_in_sample`` what a run on the sample leaves out, and ``publish`` has
    texts for exports.
    """

    sources: Mapping[Name, Source] = {}
    data: Mapping[Name, DataSet] = {}
    texts: Mapping[Name, Texts] = {}
    tasks: Mapping[Name, Any] = {}
    review: Review | None = None
    not_in_sample: NotInSample = NotInSample()
    publish: Publication = Publication()

    HEADS: ClassVar[Mapping[str, Strings]] = {}
    """{data set: its heads}, by which names of heads in a task's entry are checked."""
    MODELS: ClassVar[Strings] = ()
    """Keys of the paper's class that name registered models."""

    @model_validator(mode="after")
    def _names_exist(self) -> "Paper":
        for name, table in self.tables.items():
            _check_table(name, table, self)
        keys = type(self).model_fields
        for name, entry in self.data.items():
            for key in entry.given:
                if key not in keys:
                    what = f"given has {key!r}, not a key of the paper"
                    raise ValueError(f"the data set {name}: {what}")
        if self.review:
            task = self.tasks.get(self.review.of)
            if getattr(task, "task", None) != "spans":
                what = f"{self.review.of!r}, which is not a task of spans of the paper"
                raise ValueError(f"review has models of {what}")
        _check_left_out(self)
        return self


def _check_left_out(paper: Paper) -> None:
    """Raise ValueError for a name in ``not_in_sample`` that does not exist.

    Names of rows are patterns, and which rows there are depends on the weights that are
    available, so they are not checked.
    """
    for name in paper.not_in_sample.data:
        if name not in paper.data or not paper.data[name].auxiliary:
            what = f"{name!r}, which is not an auxiliary data set of the paper"
            raise ValueError(f"not_in_sample.data has {what}")
    for name in paper.not_in_sample.tables:
        if name not in paper.tables:
            what = f"{name!r}, which is not a table of the paper"
            raise ValueError(f"not_in_sample.tables has {what}")


def _check_table(name: str, table: TableEntry, paper: Paper) -> None:
    """Raise ValueError for a name in a table's entry that does not exist."""
    if table.rows and table.of not in paper.tasks:
        what = f"rows of {table.of!r}, which is not a task of the paper"
        raise ValueError(f"table {name} shows {what}")
    for dataset in table.beside:
        if dataset not in paper.data:
            what = f"{dataset!r}, which is not a data set of the paper"
            raise ValueError(f"table {name} shows {what}")
    if bool(table.kind) != name.startswith("figure"):
        raise ValueError(f"{name}: a figure, and no table, has a kind")
    if table.file and table.file not in Config.model_fields:
        what = f"the file of {table.file!r}, which is not a config key"
        raise ValueError(f"table {name} shows {what}")
