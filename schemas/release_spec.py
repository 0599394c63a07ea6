"""The release spec: what to protect, how strongly, and what to publish. One YAML file per release.

A `ReleaseSpec` is complete and consistent: `spec_checks` has checked its sections against each
other. Read one with `schemas.loading.load_spec`. Budgets, bounds and edges are exact.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Self

from pydantic import AwareDatetime, Field, PrivateAttr, model_validator

from hallmark.schemas.about import About
from hallmark.schemas.binning import Binning, default_share, two_ways
from hallmark.schemas.cluster import Cluster
from hallmark.schemas.columns.category_files import CategoryFile, inlined
from hallmark.schemas.columns.columns import Column
from hallmark.schemas.documents.approvals import Approvals
from hallmark.schemas.documents.manifest import DATA_FILES, REHEARSED_DATA_FILES
from hallmark.schemas.lookups import Lookup, as_columns
from hallmark.schemas.needs import Need
from hallmark.schemas.public_totals import PublicTotal
from hallmark.schemas.question import QuestionError, parse_question
from hallmark.schemas.rules.rules import Rule
from hallmark.schemas.section import Format, Identifier, Problem, Section
from hallmark.schemas.series import Series, revision_of, with_columns_before
from hallmark.schemas.spec_checks import SoundSections, problems_between
from hallmark.schemas.spec_sections import (
    CertificateRequest,
    Constraint,
    MechanismChoice,
    Output,
    Population,
    Privacy,
)
from hallmark.schemas.spec_warnings import warnings_about
from hallmark.schemas.table_sections import (
    DataSource,
    PublicData,
    RehearsalData,
    with_defaults_of_file,
)

REHEARSAL_NAME, REHEARSAL_TITLE = "rehearsal-", "REHEARSAL: "
"""How the name and the title of a rehearsal begin."""


class ReleaseSpec(Section):
    """A whole release spec."""

    hallmark: Format
    """the version of the spec format: 1"""
    release: Identifier
    """the name of the release; running the same name again resumes or replays it, and never draws
    new noise"""
    title: str = Field(min_length=1)
    """the title of the release, for people"""
    description: str = ""
    """what the release is for"""
    about: About = About()
    """statements by people about the release, such as its legal basis; see docs/audit.md"""
    population: Population
    """whose budget is spent: {account: ..., description: ...}"""
    series: Series | None = None
    """the period of a series that the release is about: {period: 2026-11, learn: true}; see
    docs/series.md"""
    data: DataSource
    """the private table"""
    public_data: PublicData | None = None
    """a public table with the same columns, for mechanisms that can use one"""
    rehearsal: RehearsalData | None = None
    """a table that needs no protection, to rehearse on; defaults to made-up records"""
    rehearsal_of: Identifier | None = None
    """the release that this one rehearses, as `hallmark rehearse` writes it; every file made then
    says so"""
    privacy: Privacy
    """the privacy guarantee"""
    mechanism: MechanismChoice
    """the algorithm, such as {name: privpgd}"""
    certificate: CertificateRequest = CertificateRequest()
    """what the certificate should state"""
    columns: dict[str, Column] = Field(min_length=1)
    """every released column, with its public domain"""
    lookups: dict[str, Lookup] = Field(default_factory=dict)
    """columns that are not measured, but looked up from a measured one by a public table, such as
    the density of an area; they cost no budget"""
    binning: Binning | None = None
    """columns that are measured on their own cells once, and with others on bins: {share: ...,
    columns: ...}"""
    constraints: tuple[Constraint, ...] = ()
    """edit rules, which every released record obeys"""
    public_totals: tuple[PublicTotal, ...] = ()
    """published totals that the released file reproduces exactly; they are not protected"""
    output: Output = Output()
    """what is published"""
    questions: tuple[str, ...] = ()
    """questions that the release should answer, such as mean of income by region; hallmark plan
    forecasts how precise each answer will be"""
    needs: tuple[Need, ...] = ()
    """how precisely the release should answer questions, such as {question: count by region,
    within: 50, stated_by: the regional unit}; hallmark plan says whether each will be met, and with
    --solve the least epsilon that meets them all"""
    cluster: Cluster | None = None
    """the Dask cluster that the release runs on; defaults to the profile's cluster"""
    approvals: Approvals = Approvals()
    """who must approve before the data are asked, and before publication"""
    embargo: AwareDatetime | None = None
    """the time before which nothing is published, such as 2026-12-01T09:00:00+01:00"""

    _category_files: tuple[CategoryFile, ...] = PrivateAttr(default=())

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, content: Any) -> Any:
        return with_columns_before(with_defaults_of_file(content))

    @property
    def category_files(self) -> tuple[CategoryFile, ...]:
        """Files that codes of columns and lookups were read from; not part of the spec, which holds
        what they list itself."""
        return self._category_files

    def with_category_files(self, files: tuple[CategoryFile, ...]) -> Self:
        """A copy of the spec that names the files its categories were read from."""
        spec = self.model_copy()
        spec._category_files = files
        return spec

    def with_categories(self, text: str) -> str:
        """The text that the spec was read from, with what files list in place of their names."""
        return inlined(text, self.category_files) if self.category_files else text

    def _problems(self) -> list[Problem]:
        between = [
            *problems_between(self._sections()),
            *self._rehearsal_problems(),
            *self._series_problems(),
        ]
        return between or list(self._question_problems())

    def _question_problems(self) -> Iterator[Problem]:
        """Questions and needs that cannot be read, or do not suit the published columns."""
        for i, question in enumerate(self.questions):
            try:
                parse_question(question).bound_to(self.published, self.lookups)
            except QuestionError as error:
                yield Problem(("questions", i), str(error))
        for i, need in enumerate(self.needs):
            for problem in need.problems_with(self.published, self.lookups):
                yield Problem(("needs", i, *problem.path), problem.what)

    def _rehearsal_problems(self) -> Iterator[Problem]:
        """A name or title that hides that this is a rehearsal."""
        if self.rehearsal_of is None:
            return
        for key, word in (("title", REHEARSAL_TITLE), ("release", REHEARSAL_NAME)):
            if not getattr(self, key).startswith(word):
                yield Problem((key,), f"belongs to a rehearsal, so it must begin with {word!r}")

    def _series_problems(self) -> Iterator[Problem]:
        """A name that does not say which period the release is about, or that it revises one; and
        maps of other codes."""
        if self.series is None:
            return
        for problem in self.series.problems(self.columns):
            yield Problem(("series", *problem.path), problem.what)
        if self.series.period not in self.release:
            yield Problem(
                ("release",),
                f"must hold the period that the release is about, {self.series.period}, as in "
                f"{self.release}-{self.series.period}",
            )
        if self.series.revised and not revision_of(self.release):
            yield Problem(
                ("series", "revised"),
                "is said of a revision, whose name ends in -r1, -r2 and so on, unlike "
                f"{self.release}; leave it out, or let the release be named {self.release}-r1",
            )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The constraints' rules in their order, bound to the columns."""
        return tuple(constraint.parsed.bound_to(self.columns) for constraint in self.constraints)

    @property
    def bins(self) -> dict[str, int | tuple[tuple[int, ...], ...]]:
        """By column that is measured on its own cells and, with others, on bins: how many bins are
        chosen privately, or for each level of public ones that of every cell."""
        private = {} if self.binning is None else self.binning.columns
        return {**private, **{n: self.columns[n].groups_of_cells for n in two_ways(self.columns)}}

    @property
    def kinds(self) -> dict[str, tuple[int, ...]]:
        """By column with public bins, kinds of its cells; see `Column.kinds_of_cells`."""
        return {name: self.columns[name].kinds_of_cells for name in two_ways(self.columns)}

    @property
    def pieces(self) -> dict[str, tuple[int, ...]]:
        """By column whose single values are counted, the piece of every value."""
        every = ((name, column.pieces_of_cells) for name, column in self.columns.items())
        return {name: pieces for name, pieces in every if pieces}

    def in_pieces(self) -> Self:
        """The spec with pieces for single values."""
        columns = {name: column.in_pieces() for name, column in self.columns.items()}
        return self.model_copy(update={"columns": columns})

    def without_detail(self) -> Self:
        """The spec with every column on the cells in which it is measured with others."""
        columns = {name: column.without_detail() for name, column in self.columns.items()}
        return self.model_copy(update={"columns": columns})

    @property
    def share_of_own_cells(self) -> Fraction:
        """The share of epsilon that measures those columns on their own cells."""
        given = None if self.binning is None else self.binning.share
        return default_share(self.columns) if given is None else given

    @property
    def records(self) -> int | None:
        """The number of published records; None if it is the number measured."""
        if self.output.rows != "same":
            return self.output.rows
        return next((total.records for total in self.public_totals if total.is_table), None)

    @property
    def data_files(self) -> dict[str, str]:
        """The name of the published file in each format."""
        names = REHEARSED_DATA_FILES if self.rehearsal_of else DATA_FILES
        return {name.rpartition(".")[2]: name for name in names}

    @property
    def released_columns(self) -> tuple[str, ...]:
        """Measured columns of the published file, in its order."""
        return tuple(name for name in self.published if name in self.columns)

    @property
    def published(self) -> dict[str, Column]:
        """All columns of the published file, in its order, as it holds them."""
        every = self.file_columns
        return {name: every[name] for name in self.output.columns or every}

    @property
    def file_columns(self) -> dict[str, Column]:
        """Measured columns and lookups as files of a release hold them, published or not."""
        measured = {name: column.as_released() for name, column in self.columns.items()}
        return {**measured, **as_columns(self.lookups, measured)}

    @property
    def published_lookups(self) -> dict[str, Lookup]:
        """The lookups of the published file, in its order."""
        return {name: self.lookups[name] for name in self.published if name in self.lookups}

    def recoded_by(self, name: str) -> str:
        """The rule that makes the codes of a published column of those in the private table, in
        words; empty where they are the same."""
        return self.columns[name].recoded_by if name in self.columns else ""

    def null_marker(self, name: str) -> str:
        """The text for a null of the column in the released CSV: the source's first null marker."""
        return next(iter(self.file_columns[name].markers(self.data.null_markers)), "")

    def warnings(self) -> tuple[str, ...]:
        """Sentences about what in the spec weakens the guarantee or reveals something."""
        told = tuple(warnings_about(self._sections()))
        if self.cluster is not None:
            told += (
                "cluster: the spec is published, so it reveals where your machines are; move the "
                "section to the profile instead",
            )
        return told

    def content(self) -> dict[str, Any]:
        """The spec as plain JSON values, under the keys of its file."""
        return self._content()

    def _content(self, *, all_keys: bool = False) -> dict[str, Any]:
        content = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        if self.binning is not None and self.binning.share is None:  # digests have what is meant
            meant = self.binning.model_copy(update={"share": self.share_of_own_cells})
            content["binning"] = meant.model_dump(mode="json", by_alias=True, exclude_none=True)
        if not self.public_totals:  # digests of specs from before there were totals stand
            del content["public_totals"]
        if not self.lookups:
            del content["lookups"]
        if not self.needs:
            del content["needs"]
        if self.series is not None and not self.series.recode:
            del content["series"]["recode"]
        if not self.questions and not all_keys:
            del content["questions"]
        if self.output.measurements and not all_keys:
            del content["output"]["measurements"]
        if not self.mechanism.queries:
            del content["mechanism"]["queries"]
        if self.about == About():
            del content["about"]
        if self.approvals == Approvals():
            del content["approvals"]
        elif not self.approvals.crosswalks:
            del content["approvals"]["crosswalks"]
        content.pop("cluster", None)  # where a release runs is no part of what is released
        return content

    def canonical_json(self) -> str:
        """The spec as one line of JSON: equal specs give equal text, and the text loads back.

        Keys are in the order of the model, columns and categories in the order of the spec (which
        is the order of cells), and a mechanism's parameters in alphabetical order.
        """
        return _canonical(self.content())

    def digest(self) -> str:
        """SHA-256 of everything that the spec says, in hexadecimal."""
        return _sha256(self.canonical_json())

    def digests(self) -> tuple[str, ...]:
        """The digest, and that of version 0.3.0, which counted two keys where they were not given;
        a signed release may have either."""
        return self.digest(), _sha256(_canonical(self._content(all_keys=True)))

    def privacy_digest(
        self,
        public_records: str | None = None,
        query_files: Sequence[str] = (),
        certified: str | None = None,
    ) -> str:
        """SHA-256 of everything that determines which questions the private data are asked.

        Included are data, privacy, mechanism, population, the use of the certificate's share,
        private bins, and everything about the columns except descriptions, labels, units and the
        sources of bounds. Title, descriptions, public totals, lookups and output are left out: they
        shape only what is made of the answers. So are constraints and the mechanism's generator:
        they may shape the models by which rounds choose, but earlier choices, and how much noise
        they had, are read back. A public table enters by `public_records`, a digest of its records,
        because a plan depends on the records wherever the file is. Files of queries enter by
        `query_files`, the SHA-256 of each. A certified file enters by `certified`: it shapes no
        question, but a certificate is about one file. The required approvals are included too, so
        that nobody can free a waiting release by editing its spec.
        """
        content = self.content()
        columns = [
            [name, {key: value for key, value in column.items() if key not in _FOR_PEOPLE}]
            for name, column in content["columns"].items()
        ]
        for _, column in columns:
            if "categories" in column:
                column["categories"] = list(column["categories"])
        return _sha256(
            _dump(
                {
                    "account": content["population"]["account"],
                    "data": {k: v for k, v in content["data"].items() if k not in _NO_QUESTION},
                    "privacy": {k: v for k, v in content["privacy"].items() if k != "large_delta"},
                    "mechanism": {
                        key: value
                        for key, value in sorted(content["mechanism"].items())
                        if key != "generator"
                    },
                    "share": content["certificate"]["share"],
                    "columns": columns,
                }
                | ({} if public_records is None else {"public_records": public_records})
                | ({"query_files": list(query_files)} if query_files else {})
                | ({} if certified is None else {"certified": certified})
                | ({"approvals": content["approvals"]} if "approvals" in content else {})
                | self._granted()
                | self._binned()
            )
        )

    def _granted(self) -> dict[str, Any]:
        """Settings of the marginals measured for the certificate alone, if there are any."""
        certificate = self.certificate
        if not certificate.share and self.mechanism.entry.makes_records:
            return {}
        return {"granted": [certificate.marginals, certificate.cells]}

    def _binned(self) -> dict[str, Any]:
        """Settings of the bins, if there are any."""
        if not self.bins:
            return {}
        private = {} if self.binning is None else self.binning.columns
        return {"binning": [str(self.share_of_own_cells), sorted(private.items())]}

    def _sections(self) -> SoundSections:
        return SoundSections(
            certificate=self.certificate,
            data=self.data,
            public_data=self.public_data,
            rehearsal=self.rehearsal,
            privacy=self.privacy,
            mechanism=self.mechanism,
            constraints=dict(enumerate(self.constraints)),
            public_totals=dict(enumerate(self.public_totals)),
            output=self.output,
            columns=self.columns,
            lookups=self.lookups,
            binning=self.binning,
            series=self.series,
        )


_FOR_PEOPLE = ("description", "unit", "bound_source")
_NO_QUESTION = ("record", "credentials", "partition_column", "storage_options")


def _canonical(content: dict[str, Any]) -> str:
    return _dump(content | {"mechanism": dict(sorted(content["mechanism"].items()))})


def _dump(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
