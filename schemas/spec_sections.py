"""The sections of a release spec, each valid by itself; columns have their own modules."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    GetPydanticSchema,
    JsonValue,
    PlainValidator,
    Tag,
    WithJsonSchema,
    field_validator,
)
from pydantic.config import ConfigDict
from pydantic_core.core_schema import literal_schema

from hallmark.mechanisms.catalogue import CATALOGUE, Entry
from hallmark.schemas.database import BlockName, DatabaseUrl, TableName
from hallmark.schemas.exact import BelowOne, InsideOne, Positive, shown
from hallmark.schemas.query_workload import QueryEntry
from hallmark.schemas.rules.rules import Rule, parse_rule
from hallmark.schemas.section import Identifier, Section, Supported

MOST_EPSILON = 500  # accountants take e to multiples of it
MOST_RECORDS = 10**6  # of one person
MOST_SYNTHETIC = 10**9  # rows, which are made in memory


class Population(Section):
    """The people whose privacy budget is spent, however many files hold their data."""

    account: Identifier
    """the ledger account of these people, in lowercase letters, digits and dashes"""
    description: str = ""
    """who these people are"""


class PersonUnit(Section):
    """Protect all records of a person together."""

    person: str = Field(min_length=1)
    """the column that identifies the person; it is never released"""
    max_records: int = Field(ge=1, le=MOST_RECORDS)
    """the most records kept of one person; the rest are dropped"""


def _unit_kind(value: Any) -> str:
    return "record" if isinstance(value, str) else "person"


def _check_unit(value: Any) -> Any:
    if value != "record" and not isinstance(value, Mapping | PersonUnit):
        raise ValueError(
            "must be record, or a mapping such as {person: person_id, max_records: 5}, "
            f"not {shown(value)}"
        )
    return value


class Privacy(Section):
    """The guarantee: which tables are neighbours, whom it protects, and how strongly."""

    neighbours: Literal["replace_one", "add_remove"]
    """replace_one (where records are the unit, their number is public) or add_remove (private)"""
    unit: Annotated[
        Annotated[Literal["record"], Tag("record")] | Annotated[PersonUnit, Tag("person")],
        Discriminator(_unit_kind),
        BeforeValidator(_check_unit),
    ]
    """whom the guarantee protects: record, or {person: <column>, max_records: <number>}"""
    epsilon: Positive
    """the privacy budget epsilon, an exact number above 0"""
    delta: BelowOne = Fraction(0)
    """the privacy budget delta, an exact number; 0 for pure differential privacy"""
    large_delta: str | None = Field(default=None, min_length=3)
    """who accepts that delta is one in data.expected_rows or more, and why; else that is refused"""

    @property
    def person(self) -> str | None:
        """The column that identifies a person, if the unit is a person."""
        return self.unit.person if isinstance(self.unit, PersonUnit) else None

    @property
    def max_records(self) -> int:
        """The most records of one unit."""
        return self.unit.max_records if isinstance(self.unit, PersonUnit) else 1

    @field_validator("epsilon")
    @classmethod
    def _check_epsilon(cls, epsilon: Fraction) -> Fraction:
        if epsilon > MOST_EPSILON:
            raise ValueError(
                f"is too large; give at most {MOST_EPSILON} (above 10, it protects hardly anything)"
            )
        return epsilon


MechanismName = Annotated[str, GetPydanticSchema(lambda *_: literal_schema(list(CATALOGUE)))]
"""The name of a mechanism that there is."""


class MechanismChoice(Section):
    """The algorithm: its name, and its parameters next to it."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]

    name: MechanismName = Field(
        description="the algorithm:\n"
        + "\n".join(f"- {entry.name}: {entry.sentence}" for entry in CATALOGUE.values())
    )

    queries: tuple[QueryEntry, ...] = ()
    """the linear queries to answer, for mechanisms that answer queries (see
    docs/linear-queries.md)"""

    @property
    def entry(self) -> Entry:
        """What the mechanism guarantees, takes and makes."""
        return CATALOGUE[self.name]

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything in the section except name and queries; the mechanism checks it."""
        return dict(self.__pydantic_extra__)


class CertificateRequest(Section):
    """What the certificate should state."""

    order: Annotated[int, Field(ge=1, le=1), Supported()] = 1
    """the order of the Wasserstein distance that is bounded; only 1 so far"""
    confidence: InsideOne = Fraction(95, 100)
    """the probability with which all bounds hold together, above 0 and below 1"""
    share: BelowOne = Fraction(0)
    """the share of epsilon set aside to measure marginals for the certificate alone, from 0 up to,
    but not including, 1; with it, any mechanism certifies columns jointly"""
    marginals: Annotated[int | None, Field(ge=1, le=3), Supported()] = None
    """how many columns are certified jointly with that share, or by mechanism certify; defaults to
    2"""
    cells: int | None = Field(default=None, ge=2, le=256)
    """cells of a numeric column in these marginals; by default the forecast decides"""


class Constraint(Section):
    """An edit rule: every released record is made to obey it, and is checked against it."""

    rule: str
    """the rule, such as "AGE < 15 => INCOME is null" (see docs/rules.md)"""
    source: str = Field(min_length=1)
    """the public source of the rule"""
    if_broken: Literal["block", "report"] = "block"
    """what happens if a released record breaks the rule: block stops the publication (the run can
    be resumed, and no budget is lost), report publishes and says how many records break it"""

    @property
    def parsed(self) -> Rule:
        """The parsed rule, not bound to columns; `ReleaseSpec.rules` holds the bound ones."""
        return parse_rule(self.rule)

    @field_validator("rule")
    @classmethod
    def _check_rule(cls, rule: str) -> str:
        parse_rule(rule)
        return rule


def _read_rows(value: Any) -> Literal["same"] | int:
    text = str(value) if isinstance(value, int | str) else ""
    if text == "same":
        return "same"
    if not text.isdecimal() or len(text) > 12 or not 0 < int(text) <= MOST_SYNTHETIC:
        raise ValueError(
            f"must be same, or a whole number from 1 to {MOST_SYNTHETIC}, not {shown(value)}"
        )
    return int(text)


Rows = Annotated[
    Literal["same"] | int,
    PlainValidator(_read_rows),
    WithJsonSchema(
        {"anyOf": [{"const": "same"}, {"type": "integer", "minimum": 1, "maximum": MOST_SYNTHETIC}]}
    ),
]
"""A number of synthetic records."""


class OutputTable(Section):
    """A new database table that the released records are loaded into."""

    url: DatabaseUrl
    """the database, such as postgresql://host:5432/open_data"""
    name: TableName
    """the table to create, as schema.table; the schema must exist, the table must not"""
    credentials: BlockName | None = None
    """the name of the Prefect Secret block that holds user and password; defaults to credentials
    from the environment"""


class Replicates(Section):
    """Replicate weights beside the records, from which any package computes standard errors."""

    number: int = Field(default=40, ge=20, le=400)
    """the number of replicates in each of the two sets: one for the noise alone, one for noise and
    sampling"""
    formats: tuple[Literal["parquet", "csv"], ...] = Field(default=("parquet", "csv"), min_length=1)
    """file formats of the weights: parquet, csv or both; R without the package arrow, Stata and SAS
    need csv"""


class FacePrivacy(Section):
    """No combination of some columns that only few of the released records have."""

    columns: tuple[str, ...] = Field(min_length=1)
    """the columns by which somebody might think to recognise a person, such as age and sex; of
    categories, truths, or whole numbers with a cell for each"""
    least: int = Field(default=2, ge=2, le=1000)
    """how many records at least have each combination that is released; rarer ones are given the
    nearest that is not rare"""


class Output(Section):
    """What is published."""

    rows: Rows = "same"
    """the number of synthetic records, or same for as many as were measured"""
    formats: tuple[Literal["csv", "parquet", "dta", "sav"], ...] = Field(
        default=("csv", "parquet"), min_length=1
    )
    """file formats: csv, parquet or both, and optionally dta and sav, labelled files for Stata and
    SPSS"""
    columns: tuple[str, ...] | None = Field(default=None, min_length=1)
    """the columns to publish, in this order; defaults to all"""
    measurements: bool = True
    """whether the noisy tables themselves are published, in measurements.parquet, from which data
    users get exact intervals; they are covered by the guarantee, whether published or not"""
    replicates: Replicates | None = None
    """replicate weights, in replicates.parquet and replicates.csv, such as {number: 40}; making
    them costs no budget, and some time; by default there are none"""
    face_privacy: FacePrivacy | None = None
    """no unique combination of some columns among the released records, such as {columns: [age,
    sex], least: 3}; it protects nobody more, and costs accuracy, which the report tells; by default
    combinations stay as they are made"""
    table: OutputTable | None = None
    """a database table that the released records are also loaded into: {url: ..., name: ...}"""
