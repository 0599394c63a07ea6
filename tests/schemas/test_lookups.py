"""Lookups in a spec: read, refused with a fix, and published with their values."""

import re
from pathlib import Path

import pytest

from hallmark.schemas.columns.columns import NominalColumn, NumericColumn
from hallmark.schemas.loading import load_spec
from hallmark.schemas.promise import promised
from hallmark.schemas.release_spec import ReleaseSpec
from tests.builders import wages
from tests.builders.wages import FILE, WAGES, problems

OUTPUT = "  columns: [wage, age, sex, grade, part_time, hired]"
PAY = "{of: grade, values: {01: 10.5, 02: 7, 03: -1.25}, reference: Pay Act, unit: euros}"


def text(lookups: str, *edits: tuple[str, str]) -> str:
    """The spec with these lookups, one a line, and all columns published."""
    lines = "".join(f"  {line}\n" for line in lookups.splitlines())
    section = ("constraints:\n", f"lookups:\n{lines}constraints:\n")
    return wages.edited(section, (f"\n{OUTPUT}", ""), *edits)


def loaded(folder: Path, lookups: str, *edits: tuple[str, str]) -> ReleaseSpec:
    return wages.load(folder, text(lookups, *edits))


def test_numbers_are_numbers_with_the_decimals_of_the_longest(tmp_path: Path) -> None:
    spec = loaded(tmp_path, f"pay: {PAY}")
    pay = spec.published["pay"]
    assert isinstance(pay, NumericColumn)
    assert (pay.decimals, pay.ends, pay.unit) == (2, ("-1.25", "10.5"), "euros")
    assert (pay.nulls, pay.integer, pay.outside) == (False, False, "refuse")
    assert list(spec.published) == [*spec.columns, "pay"]
    assert spec.released_columns == tuple(spec.columns)
    assert spec.warnings() == load_spec(FILE).warnings()


@pytest.mark.parametrize("value", ["07", "1e3", "+1", "1,5", "x", "1234567890123456"])
def test_one_value_that_is_no_plain_number_makes_all_of_them_texts(
    value: str, tmp_path: Path
) -> None:
    values = f"{{01: 1, 02: '{value}', 03: 1}}"
    spec = loaded(tmp_path, f"pay: {{of: grade, values: {values}, reference: Pay Act}}")
    pay = spec.published["pay"]
    assert isinstance(pay, NominalColumn)
    assert pay.codes == ("1", value)


@pytest.mark.parametrize(
    ("values", "decimals", "ends"),
    [
        ("1, 02: 2, 03: 3", 0, ("1", "3")),
        ("5, 02: 5, 03: 5", 0, ("5", "6")),
        ("5.5, 02: 5.5, 03: 5.5", 1, ("5.5", "5.6")),
        ("1, 02: 0.0123456789, 03: 1", None, ("0.0123456789", "1.0123456789")),
    ],
)
def test_the_interval_holds_the_values(
    values: str, decimals: int | None, ends: tuple[str, str], tmp_path: Path
) -> None:
    spec = loaded(tmp_path, f"pay: {{of: grade, values: {{01: {values}}}, reference: Pay Act}}")
    pay = spec.published["pay"]
    assert isinstance(pay, NumericColumn)
    assert (pay.decimals, pay.ends[0]) == (decimals, ends[0])
    assert float(pay.maximum) >= float(max(map(float, spec.lookups["pay"].values.values())))
    assert pay.ends == ends or decimals is None


def test_codes_that_the_column_does_not_have_decide_nothing(tmp_path: Path) -> None:
    values = "{01: 1, 02: 2, 03: 3, 99: none}"
    spec = loaded(tmp_path, f"pay: {{of: grade, values: {values}, reference: Pay Act}}")
    assert isinstance(spec.published["pay"], NumericColumn)


def test_nulls_are_those_of_the_column(tmp_path: Path) -> None:
    nulls = ("categories: [01, 02, 03]\n", "categories: [01, 02, 03]\n    nulls: true\n")
    spec = loaded(tmp_path, f"pay: {PAY}", nulls)
    assert spec.published["pay"].nulls
    assert spec.null_marker("pay") == "NA"


def test_they_stand_where_output_columns_says_or_are_left_out(tmp_path: Path) -> None:
    lookups = f"pay: {PAY}\nrank: {PAY}"
    chosen = ("formats: [csv]", "formats: [csv]\n  columns: [pay, grade, wage, age, part_time]")
    spec = loaded(tmp_path, lookups, chosen)
    assert list(spec.published) == ["pay", "grade", "wage", "age", "part_time"]
    assert spec.released_columns == ("grade", "wage", "age", "part_time")
    assert list(spec.published_lookups) == ["pay"]


def test_a_spec_without_them_has_the_digest_that_it_had(tmp_path: Path) -> None:
    plain = load_spec(FILE)
    assert "lookups" not in plain.content()
    spec = loaded(tmp_path, f"pay: {PAY}")
    assert spec.digest() != loaded(tmp_path, f"pay: {PAY.replace('7', '8')}").digest()
    assert spec.privacy_digest() == plain.privacy_digest()


@pytest.mark.parametrize(
    "asked",
    [
        "{file: codes.csv, column: pay}",
        "\n      file: codes.csv\n      column: pay",
    ],
)
def test_values_come_from_a_column_of_a_file_and_are_published(asked: str, tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text('code,pay,label\n01,"1,5",x\n02,7,y\n03,8,z\n04,9,w\n')
    spec = loaded(tmp_path, f"pay:\n    of: grade\n    values: {asked}\n    reference: Pay Act")
    assert spec.lookups["pay"].values == {"01": "1,5", "02": "7", "03": "8", "04": "9"}
    (file,) = spec.category_files
    assert file.path == ("lookups", "pay", "values")
    published = spec.with_categories((tmp_path / "spec.yaml").read_text(encoding="utf-8"))
    assert "codes.csv" not in published
    (tmp_path / "codes.csv").unlink()
    (tmp_path / "published.yaml").write_text(published, encoding="utf-8")
    assert load_spec(tmp_path / "published.yaml").canonical_json() == spec.canonical_json()


PLACE = "lookups.pay"
REFUSED = {
    f"pay: {PAY.replace('grade', 'grad')}": ["of: there is no column grad; did you mean grade?"],
    f"pay: {PAY.replace('grade', 'age')}": [
        "of: is age, which is numeric; name a column with a list of codes (nominal, ordinal, "
        "places or boolean)"
    ],
    f"pay: {PAY.replace('02: 7, ', '')}": ["values: lack '02' of grade; give every code a value"],
    f"pay: {PAY.replace('7', '[7]')}": ["values.02: must be text, not a list"],
    "pay: " + PAY.replace("7", "' 7'"): [
        "values: have no plain text for '02'; write one without spaces around it"
    ],
    f"pay: {PAY.replace('7', 'x')}": [
        "unit: is for numbers, but not all values are numbers; remove it"
    ],
    f"pay: {PAY.replace('7', 'NA').replace(', unit: euros', '')}": [
        "values: have 'NA', which is also one of data.null_markers, so it would count as missing; "
        "remove the marker there, and give columns their own"
    ],
    f"pay: {PAY.replace(', reference: Pay Act', '')}": [
        "reference: is missing; add where the values are published, so that a reviewer can check "
        "that they are public"
    ],
    "pay: {of: grade, values: {file: codes.csv}, reference: Pay Act}": [
        "values: names a file, but not its column that has the values; write {file: codes.csv, "
        "column: NAME}"
    ],
    "pay: {of: grade, values: {file: none.csv, column: pay}, reference: Pay Act}": [
        "values.file: none.csv does not exist; check the path, which is relative to the spec"
    ],
}


@pytest.mark.parametrize("lookups", REFUSED)
def test_a_lookup_that_does_not_suit_is_refused_with_a_fix(lookups: str, tmp_path: Path) -> None:
    said = problems(wages.written(tmp_path, text(lookups)))
    assert [re.sub(r"^\d+: ", "", one) for one in said] == [
        f"{PLACE}.{what}" for what in REFUSED[lookups]
    ]


def test_a_file_without_the_column_is_refused(tmp_path: Path) -> None:
    lookups = "pay: {of: grade, values: {file: codes.csv, column: pay}, reference: Pay Act}"
    for content, says in (
        ("code,label\n01,x\n", "has no column pay; its first line must name it"),
        ("code,pay\n01,\n", "has no pay on line 2; give every code one"),
        (None, "is the private table of this release; give a public file"),
    ):
        file = "codes.csv" if content else "wages.csv"
        (tmp_path / file).write_text(content or "code,pay\n01,1\n")
        (said,) = problems(wages.written(tmp_path, text(lookups.replace("codes.csv", file))))
        assert said.endswith(f"{PLACE}.values.file: {file} {says}")


def test_the_same_number_as_a_null_marker_is_refused(tmp_path: Path) -> None:
    marker = ('null_markers: [NA, ""]', 'null_markers: ["7.0"]')
    said = problems(wages.written(tmp_path, text(f"pay: {PAY}", marker)))
    assert any(f"{PLACE}.values: have '7.0', which is also one of data" in one for one in said)


MEASURED = "which is looked up and not measured; name grade instead"


def test_sections_about_what_is_measured_are_told_to_name_the_column(tmp_path: Path) -> None:
    edits = [
        ("rule: age < 18", "rule: pay < 3"),
        ("name: privpgd", "name: privpgd\n  selection: {workload: [{columns: [wage, pay]}]}"),
        (
            "output:\n",
            "binning: {columns: {pay: 2}}\npublic_totals:\n"
            "  - {where: pay < 3, count: 5, reference: Yearbook}\noutput:\n  rows: 9\n",
        ),
    ]
    said = problems(wages.written(tmp_path, text(f"pay: {PAY}", *edits)))
    assert [re.sub(r"^\d+: ", "", one) for one in said] == [
        f"mechanism.selection: names pay, {MEASURED}",
        f"constraints[0].rule: names pay, {MEASURED}",
        f"binning.columns: names pay, {MEASURED}",
        f"public_totals[0]: names pay, {MEASURED}",
    ]


def test_a_query_of_a_lookup_is_refused(tmp_path: Path) -> None:
    queries = "name: linear-queries\n  queries:\n    - {where: pay < 3}"
    section = ("name: privpgd", queries)
    said = problems(wages.written(tmp_path, text(f"pay: {PAY}", section)))
    assert any(f"mechanism.queries[0]: names pay, {MEASURED}" in one for one in said), said


def test_names_that_are_taken_are_refused(tmp_path: Path) -> None:
    lookups = f"age: {PAY}\nid: {PAY}\nrank: {PAY.replace('grade', 'pay')}\npay: {PAY}"
    said = problems(wages.written(tmp_path, text(lookups)))
    assert [re.sub(r"^\d+: ", "", one) for one in said] == [
        "lookups.age: is also listed under columns, where it is measured; keep one of the two",
        "lookups.id: identifies a person (privacy.unit.person), so it is never released; remove it "
        "from lookups",
        "lookups.rank.of: is pay, which is looked up itself; name a measured column",
    ]


def test_a_lookup_of_an_unpublished_column_is_refused(tmp_path: Path) -> None:
    chosen = ("formats: [csv]", "formats: [csv]\n  columns: [wage, age, part_time, pay]")
    (said,) = problems(wages.written(tmp_path, text(f"pay: {PAY}", chosen)))
    assert "lookups.pay.of: is grade, which output.columns leaves out, so the values" in said


def test_an_unsound_lookup_is_not_called_unknown(tmp_path: Path) -> None:
    chosen = ("formats: [csv]", "formats: [csv]\n  columns: [wage, age, part_time, grade, pay]")
    broken = PAY.replace("unit", "units")
    (said,) = problems(wages.written(tmp_path, text(f"pay: {broken}", chosen)))
    assert "lookups.pay.units: is not a key of the spec" in said


def test_formats_that_cannot_hold_one_are_refused(tmp_path: Path) -> None:
    formats = ("formats: [csv]", "formats: [csv, dta]")
    (said,) = problems(wages.written(tmp_path, text(f"pay per hour: {PAY}", formats)))
    assert "lookups.pay per hour: cannot be written as dta: a name there has at most" in said
    latin = ("  expected_rows: 1000", "  encoding: latin-1\n  expected_rows: 1000")
    values = "{of: grade, values: {01: ł, 02: a, 03: b}, reference: Pay Act}"
    (said,) = problems(wages.written(tmp_path, text(f"pay: {values}", latin)))
    assert "lookups.pay.values: lists 'ł', which cannot be written in data.encoding" in said


def test_a_certificate_alone_has_none(tmp_path: Path) -> None:
    spec = text(f"pay: {PAY}").replace("name: privpgd", "name: certify")
    said = problems(wages.written(tmp_path, spec))
    assert any("lookups: is about published records, but certify publishes none" in s for s in said)


def test_that_the_table_agreed_is_an_unprotected_fact(tmp_path: Path) -> None:
    fact = "no value of pay, if the private table has any, differs from the one looked up"
    assert f"{fact} from grade" in (promised(loaded(tmp_path, f"pay: {PAY}")).unprotected or ())
    ignored = ("ignore: [shoe_size]", "ignore: [shoe_size, pay]")
    told = promised(loaded(tmp_path, f"pay: {PAY}", ignored)).unprotected or ()
    assert not [one for one in told if "pay" in one]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("mean of pay by sex", ""),
        ("share of pay > 3 where age >= 18", ""),
        ("median of pay", "pay is looked up from grade and not measured, so it has no quantiles"),
        (
            "count by pay",
            "pay is looked up from grade and has no groups of its own; write by grade",
        ),
        ("share of pay > age", "compares pay with age, but cells of age hold several values"),
        ("share of age < pay", "compares age with pay, but cells of age hold several values"),
    ],
)
def test_questions_name_them_where_codes_tell_the_answer(
    question: str, says: str, tmp_path: Path
) -> None:
    asked = ("output:\n", f"questions: [{question}]\noutput:\n")
    if not says:
        assert loaded(tmp_path, f"pay: {PAY}", asked).questions == (question,)
        return
    (said,) = problems(wages.written(tmp_path, text(f"pay: {PAY}", asked)))
    assert says in said


def test_the_sound_spec_has_none() -> None:
    assert "lookups" not in WAGES
