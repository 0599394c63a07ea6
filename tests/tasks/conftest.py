"""A realistic release, made by hand: its record, its files, its key."""

import json
import shutil
import tempfile
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hallmark.schemas.documents.audit_changes import (
    Changed,
    ChangedCell,
    ComparedTable,
    NotCompared,
)
from hallmark.schemas.documents.audit_pairs import Matrix, Pairs, PairTable, Subgroup, Subgroups
from hallmark.schemas.documents.audit_privacy import (
    Account,
    BudgetPart,
    Generator,
    Guarantee,
    LedgerEntry,
    MechanismRecord,
    NoiseRow,
)
from hallmark.schemas.documents.audit_questions import (
    AnsweredQuestion,
    Correlations,
    GroupAnswer,
    KeptNeed,
    Learnt,
    MeasuredMatrix,
)
from hallmark.schemas.documents.audit_report import (
    Actor,
    AuditRecord,
    Identity,
    PostProcessing,
    ProtectedColumn,
    ProtectedData,
    Provenance,
    Signature,
    Stage,
    Step,
    Trust,
    ValidationRule,
)
from hallmark.schemas.documents.audit_utility import Check, Marginal, Utility
from hallmark.schemas.documents.certificate import CertificateFile, CertifiedBound
from hallmark.schemas.documents.internal_review import (
    ColumnReview,
    Comparison,
    Finding,
    InternalReview,
    PairReview,
    PairsReview,
)
from hallmark.schemas.documents.ledger_anchor import LedgerHead
from hallmark.schemas.documents.manifest import Claims, Software
from hallmark.schemas.documents.privacy_claim import Amount
from hallmark.schemas.loading import load_spec
from hallmark.schemas.promise import promised, unprotected
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.signing import SigningKey
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.record.dictionary import data_dictionary
from hallmark.tasks.rendering import files_for_users, rendered_files
from tests.tasks.released import Released

ROWS = 400
RELEASE = "acs-2019-r1"
TITLE = "American Community Survey excerpts, 2019"
ACCOUNT = "acs-2019-national"
CREATED = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
CONFIDENCE = 0.95

# by name: description, unit, interval, cells, nulls; of the others, description and categories
NUMERIC = {
    "AGEP": ("Age", "years", 0, 99, 33, False),
    "DENSITY": ("Population density of the area", "persons per square mile", 0, 53000, 53, False),
    "PINCP": ("Total income", "dollars", -9000, 1200000, 64, True),
    "NPF": ("Persons in the family", "persons", 2, 20, 19, True),
}
CATEGORIES = {
    "PUMA": ("Area", [f"{state:02d}-00{state + 100}" for state in range(1, 32)]),
    "SEX": ("Sex", ["Male", "Female"]),
    "MSP": ("Marital status", ["Now married, spouse present", "Now married, spouse absent",
                               "Widowed", "Divorced", "Separated", "Never married"]),
    "HOUSING_TYPE": ("Housing unit or group quarters", ["Housing unit", "Institutional group "
                     "quarters", "Noninstitutional group quarters"]),
    "EDU": ("Educational attainment", [f"Level {i} of schooling" for i in range(1, 13)]),
}  # fmt: skip
ORDINAL = ("EDU",)
NULLABLE = ("MSP", "EDU")
COLUMNS = (*NUMERIC, *CATEGORIES)
SIGMA = 20.1  # records, of one noisy share


def _shares(name: str) -> np.ndarray:
    """A plausible distribution over the column's cells, the null cell last; a law of its name."""
    rng = np.random.default_rng(list(name.encode()))
    if name in NUMERIC:
        _, _, _, _, cells, nulls = NUMERIC[name]
        grid = np.linspace(0, 1, cells)
        mass = np.exp(-(((grid - rng.uniform(0.1, 0.5)) / rng.uniform(0.1, 0.3)) ** 2)) + 0.02
    else:
        mass, nulls = rng.gamma(0.7, size=len(CATEGORIES[name][1])) + 0.01, name in NULLABLE
    if nulls:
        mass = np.append(mass, mass.sum() * rng.uniform(0.05, 0.4))
    return mass / mass.sum()


def _marginal(name: str) -> Marginal:
    rng = np.random.default_rng(list(f"noise {name}".encode()))
    shares = _shares(name)
    n = 27253
    synthetic = rng.multinomial(n, shares) / n
    measured = shares + rng.normal(0, SIGMA / n, len(shares))
    shared = {
        "column": name,
        "synthetic": tuple(synthetic.tolist()),
        "measured": tuple(measured.tolist()),
        "half_width": (1.96 * SIGMA / n,) * len(shares),
    }
    if name in NUMERIC:
        _, unit, low, high, cells, nulls = NUMERIC[name]
        edges = np.linspace(low, high, cells + 1)
        labels = [f"{a:g} to {b:g}" for a, b in pairwise(edges)]
        return Marginal(
            kind="numeric",
            unit=unit,
            cells=(*labels, *(["null"] if nulls else [])),
            has_null=nulls,
            ends=(f"{low:,}", f"{high:,}"),
            **shared,
        )
    nulls = name in NULLABLE
    return Marginal(
        kind="ordinal" if name in ORDINAL else "nominal",
        cells=(*CATEGORIES[name][1], *(["null"] if nulls else [])),
        has_null=nulls,
        **shared,
    )


def _bound(name: str) -> CertifiedBound:
    rng = np.random.default_rng(list(f"bound {name}".encode()))
    numeric = NUMERIC.get(name)
    terms = {
        "discretisation": 0.5 / numeric[4] if numeric else 0.0,
        "privatisation": float(rng.uniform(0.002, 0.012)),
        "projection": float(rng.uniform(0.0005, 0.004)),
    }
    return CertifiedBound(
        target=name,
        metric="Wasserstein distance of order 1" if numeric else "total variation distance",
        value=sum(terms.values()),
        terms=terms,
        scale=float(numeric[3] - numeric[2]) if numeric else 1.0,
        unit=numeric[1] if numeric else "",
    )


KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))

CERTIFICATE = CertificateFile(
    confidence=CONFIDENCE,
    bounds=tuple(_bound(name) for name in COLUMNS),
    method=(
        "the 9,530th of 10,000 simulated noise draws, a rank that keeps the confidence with the "
        "error of the simulation included"
    ),
    assumptions=("Values outside the public domain count as what the stated rule makes of them.",),
)


def _spec_text() -> str:
    source = {"kind": "public", "reference": "data dictionary of the excerpts"}
    columns: dict[str, object] = {}
    for name, (description, unit, low, high, cells, nulls) in NUMERIC.items():
        columns[name] = {
            "type": "numeric",
            "description": description,
            "unit": unit,
            "integer": True,
            "minimum": low,
            "maximum": high,
            "edges": [*range(low, high, -(-(high - low) // cells)), high],
            "outside": "clamp",
            "nulls": nulls,
            "bound_source": source,
        }
    for name, (description, labels) in CATEGORIES.items():
        columns[name] = {
            "type": "ordinal" if name in ORDINAL else "nominal",
            "description": description,
            "categories": {str(code): label for code, label in enumerate(labels)},
            "outside": "refuse",
            "nulls": name in NULLABLE,
            "bound_source": source,
        }
    spec = {
        "hallmark": 1,
        "release": RELEASE,
        "title": TITLE,
        "population": {"account": ACCOUNT, "description": "persons in the excerpts"},
        "data": {
            "source": "national2019.csv",
            "null_markers": ["N"],
            "expected_rows": 27000,
            "record": "one record: the answers of one person in one survey year",
        },
        "privacy": {"neighbours": "replace_one", "unit": "record", "epsilon": 1, "delta": "1e-5"},
        "mechanism": {"name": "privpgd"},
        "columns": columns,
        "output": {"rows": ROWS},
    }
    return json.dumps(spec, indent=1)  # JSON is YAML


SPEC_TEXT = _spec_text()


def _spec() -> ReleaseSpec:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "release-spec.yaml"
        file.write_text(SPEC_TEXT)
        return load_spec(file)


SPEC = _spec()
CLAIM = promised(SPEC)


EVENTS = (
    {
        "event": "discrete_gaussian",
        "l2_squared": 2,
        "sigma2": "14000",
        "unit_moves": 2,
        "times": 276,
    },
)

SOFTWARE = Software(
    hallmark="0.1.0",
    python="3.11.9",
    packages={"dp-accounting": "0.6.0", "numpy": "2.3.5", "opendp": "0.16.0", "prefect": "3.6.4"},
    commit="4f0c9d1e7b2a",
    dirty=False,
    lock_digest=sha256(b"lock").hexdigest(),
)


def _amount(epsilon: str, delta: str) -> Amount:
    return Amount(epsilon=Fraction(epsilon), delta=Fraction(delta))


MATRIX = Matrix(columns=("AGEP", "SEX"), values=((1.0, -0.25), (-0.25, 1.0)))
TABLE = PairTable(
    columns=("AGEP", "SEX"), down=("0 to 49", "50 to 99"), across=("Male", "Female"),
    shares=((0.1, 0.2), (0.3, 0.4)),
)  # fmt: skip
GROUPS = Subgroups(
    by="SEX", columns=("AGEP (years)",),
    groups=(
        Subgroup(group="Male", rows=250, means=(41.5,)),
        Subgroup(group="Female", rows=150, means=(None,)),
    ),
)  # fmt: skip
PAIRS = Pairs(association=MATRIX, correlation=MATRIX, tables=(TABLE,), subgroups=(GROUPS,))


def example_record() -> AuditRecord:
    """A complete record, with gaps where an agency has not said everything."""
    return AuditRecord(
        identity=Identity(
            release_id=RELEASE,
            title=TITLE,
            created=CREATED,
            curator="Statistical Office",
            contact="privacy@statistics.example",
            purpose="teaching and the development of analyses",
        ),
        signature=Signature(
            fingerprint=SigningKey(KEY, "file").fingerprint,
            origin="demonstration",
            warning="The key was generated for a demonstration and vouches for nobody.",
        ),
        disclosure_gate=("disclosure officer",),
        protected=ProtectedData(
            dataset="NIST Diverse Communities Data Excerpts, national, 2019",
            population=ACCOUNT,
            rows=27253,
            rows_policy="stated: under replace_one all neighbouring tables have as many records",
            truncation="none: the unit is a record",
            columns=tuple(_protected(name) for name in COLUMNS),
        ),
        guarantee=Guarantee(
            claim=CLAIM,
            variant="approximate differential privacy",
            accountant="privacy loss distributions (dp-accounting 0.6.0), pessimistic rounding",
            bracket=(0.93, 0.95),
            cross_check="Renyi accountant: epsilon 1.0831 at the same delta (an upper bound)",
            curve=((0.5, 0.0021), (0.75, 0.00031), (1.0, 0.00001), (1.5, 0.0000000042)),
            formal=CLAIM.formal,
            unprotected=unprotected(SPEC),
        ),
        account=Account(
            name=ACCOUNT,
            authorised_by="Data policy committee, 2026-01-15",
            cap=_amount("4", "1/20000"),
            previously_spent=_amount("1/2", "1/100000"),
            this_release=_amount("1", "1/100000"),
            remaining=_amount("5/2", "3/100000"),
            split=(
                BudgetPart(purpose="two-way marginals", share=1.0),
                BudgetPart(purpose="certificate", share=0.0, remark="from the same noise"),
            ),
            entries=(
                LedgerEntry(
                    time=datetime(2026, 1, 20, 14, 5, tzinfo=UTC),
                    release="acs-2019-pilot",
                    entry="charged",
                    epsilon=Fraction(1, 2),
                    delta=Fraction(1, 100000),
                    digest="b7c1…09aa",
                ),
                LedgerEntry(
                    time=CREATED,
                    release=RELEASE,
                    entry="charged",
                    epsilon=Fraction(1),
                    delta=Fraction(1, 100000),
                    digest="51d0…7e3f",
                ),
            ),
        ),
        mechanism=MechanismRecord(
            name="privpgd",
            paper="Donhauser et al. (2024), privacy-preserving particle gradient descent",
            parameters={"particles": 27253, "iterations": 400, "step": 0.05, "denoise": True},
            noise=(
                NoiseRow(
                    query="all 276 two-way marginals",
                    cells=412_300,
                    family="discrete Gaussian",
                    parameter="sigma^2 = 14000 records^2",
                    standard_deviation=118.32,
                    sensitivity="L2 = sqrt(552) records",
                    source="Canonne, Kamath, Steinke (2020), Theorem 14",
                ),
            ),
            events=EVENTS,
            forecast="mean certified distance 0.011 of the diameter (an estimate)",
            generator=Generator.from_history(
                {
                    "loss": [0.4 * 0.985**i + 0.004 + 0.0004 * (i % 7) for i in range(400)],
                    "denoised marginals": 276,
                }
            ),
        ),
        post_processing=PostProcessing(
            steps=(
                Step(step="Shrinkage of singular values", effect="rank 1 to 9 kept"),
                Step(step="Projection onto distributions"),
            ),
            constraints=(
                Check(rule="AGEP < 15 implies MSP is null", held=True, detail="0 of 400 rows"),
            ),
            final_checks=(Check(rule="every value lies in its public domain", held=True),),
        ),
        utility=Utility(
            certificate=CERTIFICATE,
            rows=ROWS,
            band="95 % for each cell by itself, from the known law of the noise",
            marginals=tuple(_marginal(name) for name in COLUMNS),
            pairs=PAIRS,
            supported="means, shares and two-way tables",
            unsupported="statements about single persons; tables of many columns",
            bias="small cells are pulled upwards, since shares cannot be negative",
        ),
        trust=Trust(
            actors=(
                Actor(actor="operator", sees="the private table"),
                Actor(actor="data user", sees="the release folder"),
            ),
        ),
        provenance=Provenance(
            run="run-0f3a",
            started=CREATED,
            finished=CREATED,
            software=SOFTWARE,
            spec_digest=SPEC.digest(),
            spec={"title": TITLE},
            rules=tuple(
                ValidationRule(column=n, rule="inside the public domain", consequence="clamps")
                for n in COLUMNS
            ),
            stages=(Stage(stage="privatise", seconds=4.2), Stage(stage="generate", seconds=38.0)),
        ),
    )


def _protected(name: str) -> ProtectedColumn:
    if name in NUMERIC:
        description, unit, low, high, cells, nulls = NUMERIC[name]
        kind, domain = "numeric", f"{low:,} to {high:,} {unit}"
    else:
        description, categories = CATEGORIES[name]
        cells, nulls = len(categories), name in NULLABLE
        kind, domain = "ordinal" if name in ORDINAL else "nominal", f"{cells} categories"
    return ProtectedColumn(
        name=name,
        description=description,
        kind=kind,
        domain=domain,
        cells=cells,
        nulls="allowed, written N" if nulls else "not allowed",
        outside="clamped" if name in NUMERIC else "refused",
        bound_kind="public",
        bound_source="data dictionary of the excerpts",
    )


def _data() -> pa.Table:
    rng = np.random.default_rng(7)
    columns: dict[str, pa.Array] = {}
    for name in COLUMNS:
        codes = rng.choice(len(_shares(name)), size=ROWS, p=_shares(name))
        if name in NUMERIC:
            _, _, low, high, cells, _ = NUMERIC[name]
            values = [low + (high - low) * int(c) // cells if c < cells else None for c in codes]
            columns[name] = pa.array(values, pa.int64())
        else:
            known = len(CATEGORIES[name][1])
            columns[name] = pa.array([str(c) if c < known else None for c in codes], pa.string())
    return pa.table(columns)


def _as_csv_text(table: pa.Table) -> pa.Table:
    return pa.table({n: table[n].cast(pa.string()).fill_null("N") for n in table.column_names})


@pytest.fixture(scope="session")
def record() -> AuditRecord:
    return example_record()


@pytest.fixture(scope="session")
def review() -> InternalReview:
    columns = []
    for name in COLUMNS:
        marginal, bound = _marginal(name), CERTIFICATE.for_column(name)
        assert bound is not None
        columns.append(
            ColumnReview(
                column=name,
                cells=marginal.cells,
                private=tuple(_shares(name).tolist()),
                synthetic=marginal.synthetic,
                actual=bound.value / 3,
                certified=bound.value,
            )
        )
    return InternalReview(
        release_id=RELEASE,
        title=TITLE,
        created=CREATED,
        private_rows=27253,
        synthetic_rows=ROWS,
        metric="Wasserstein distance of order 1",
        confidence=CONFIDENCE,
        columns=tuple(columns),
        pairs=PairsReview(
            association=MATRIX,
            association_synthetic=MATRIX.model_copy(
                update={"values": ((1.0, 0.125), (0.125, 1.0))}
            ),
            correlation=MATRIX,
            correlation_synthetic=MATRIX,
            worst=(
                PairReview(
                    distance=0.123,
                    private=TABLE,
                    synthetic=TABLE.model_copy(update={"shares": ((0.2, 0.1), (0.3, 0.4))}),
                ),
            ),
            subgroups=(GROUPS,),
            subgroups_synthetic=(GROUPS,),
        ),
        metrics=(
            Comparison(
                metric="Total variation, pairs",
                value=0.03141,
                unit="share of records",
                meaning="Records in the wrong cell of <two> columns.",
            ),
            Comparison(metric="Counting queries", value=None, unit="relative", meaning="None."),
        ),
        findings=(
            Finding(
                column="AGEP", rule="lie between 0 and 99; else count at the bounds", failing_rows=3
            ),
        ),
    )


@pytest.fixture(scope="session")
def claims() -> Claims:
    return Claims(
        release_id=RELEASE,
        title=TITLE,
        created=CREATED,
        privacy=CLAIM,
        certificate=CERTIFICATE.summary(),
        spec_digest=SPEC.digest(),
        software=SOFTWARE,
        ledger=LedgerHead(account=ACCOUNT, entries=9, hash="0" * 64),
    )


@pytest.fixture(scope="session")
def key() -> SigningKey:
    return SigningKey(KEY, "file")


@pytest.fixture(scope="session")
def made(record: AuditRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files of a release, save the manifest and its signature."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "release-spec.yaml").write_text(SPEC_TEXT)
    prepared = prepare(folder / "release-spec.yaml")
    dictionary = data_dictionary(prepared, CERTIFICATE, rows=ROWS)
    table = _data()
    pq.write_table(table, folder / "data.parquet")
    pyarrow.csv.write_csv(_as_csv_text(table), folder / "data.csv")
    (folder / "certificate.json").write_text(CERTIFICATE.model_dump_json(indent=2))
    (folder / "data-dictionary.json").write_text(dictionary.model_dump_json(indent=2))
    (folder / "audit-report.json").write_bytes(record.to_json())
    for name, content in (rendered_files(record) | files_for_users(record, dictionary)).items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def unsigned(made: Path, tmp_path: Path) -> Path:
    """A copy of that folder, to be spoilt and signed."""
    return Path(shutil.copytree(made, tmp_path / "release"))


@pytest.fixture
def elsewhere(run: Released, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a copy of the release, with its ledger in a home that has no anchors."""
    monkeypatch.setenv("HALLMARK_HOME", str(tmp_path / "new-home"))
    monkeypatch.delenv("HALLMARK_LEDGER", raising=False)
    ledger = ledger_url().removeprefix("sqlite:///")
    shutil.copy(run.ledger.removeprefix("sqlite:///"), ledger)
    shutil.copytree(run.folder, tmp_path / "out" / run.folder.name)
    return tmp_path / "out"


@pytest.fixture
def changed() -> Changed:
    """A column that changed, one in which nothing was seen, and one that is not compared."""
    return Changed(
        period="2026",
        earlier_period="2025",
        release="homes-2025",
        measurements="0" * 64,
        confidence=0.95,
        tables=(
            ComparedTable(
                column="SEX",
                finding="changed",
                probability=1e-6,
                cells=2,
                told=1,
                unseen=0.02,
                seen_from=0.034,
            ),
            ComparedTable(
                column="<MSP>",
                finding="nothing seen",
                probability=0.4,
                cells=4,
                told=0,
                unseen=0.03,
                seen_from=0.0512,
                not_compared="<MSP> = new",
            ),
        ),
        cells=(
            ChangedCell(
                column="SEX",
                cell="a | b",
                told="fell",
                before=0.5,
                after=0.4,
                low=-0.12,
                high=-0.08,
            ),
        ),
        untold=(NotCompared(column="AGEP", why="other cells"),),
        notes=("that tables are samples is in no interval",),
    )


@pytest.fixture
def learnt() -> Learnt:
    """Answers of which one, and a correlation, are not those of the records."""
    return Learnt(
        file="measurements.parquet",
        confidence=0.95,
        needs=(
            KeptNeed(
                question="mean of PINCP by SEX",
                within=5,
                confidence=0.9,
                stated_by="a | unit",
                is_kept=True,
                group="SEX: Male",
                estimate=50,
                low=45.5,
                high=54.5,
            ),
            KeptNeed(
                question="count by SEX, AGEP",
                within=20,
                confidence=0.95,
                stated_by="another",
                is_kept=False,
                reason="nothing was measured of SEX x AGEP",
            ),
        ),
        questions=(
            AnsweredQuestion(
                question="mean of PINCP by SEX",
                basis="from the noisy tables",
                answers=(
                    GroupAnswer(group="SEX: Male", estimate=50, low=45, high=55, of_records=48),
                    GroupAnswer(group="SEX: Female", estimate=40, low=36, high=44, of_records=47),
                ),
            ),
        ),
        correlations=Correlations(
            answers=(
                GroupAnswer(group="AGEP x <MSP>", estimate=0.5, low=0.4, high=0.6, of_records=0.1),
            ),
            told=36,
            attenuated=("AGEP x <MSP>",),
            estimates=MeasuredMatrix(
                columns=("AGEP", "PINCP", "<MSP>"),
                values=((1.0, 0.3, 0.5), (0.3, 1.0, None), (0.5, None, 1.0)),
            ),
            deviations=MeasuredMatrix(
                columns=("AGEP", "PINCP", "<MSP>"),
                values=((None, 0.02, 0.05), (0.02, None, None), (0.05, None, None)),
            ),
        ),
    )
