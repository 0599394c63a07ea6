"""A sound spec: it survives being written and read, its digests, its warnings, its properties."""

import json
import pickle
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from hallmark.schemas.release_spec import ReleaseSpec
from tests.builders import wages
from tests.builders.wages import WAGES


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("specs")
    return cache(lambda *edits: wages.load(folder, wages.edited(*edits)))


def test_canonical_json_loads_back_to_an_equal_spec(edited):
    spec = edited(("epsilon: 1\n", "epsilon: 1/3\n"))
    again = ReleaseSpec.model_validate_json(spec.canonical_json())
    assert again == spec
    assert again.canonical_json() == spec.canonical_json()
    assert again.privacy.epsilon == Fraction(1, 3)


def test_a_spec_survives_pickling(edited):
    spec = edited()
    spec.columns["wage"].edges  # noqa: B018 - a cached value must not get in the way
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec


def test_a_spec_is_immutable(edited):
    with pytest.raises(ValidationError, match="frozen"):
        edited().title = "Pay"


def test_layout_comments_and_spelling_of_numbers_do_not_change_the_digest(edited):
    same = edited(
        ("delta: 1e-5", "delta: 0.00001  # small"),
        ("  account: employees", "    account: 'employees'"),
        ("    maximum: 5000\n", "    maximum: 5e3\n"),
    )
    assert same.digest() == edited().digest()


def test_parameters_of_the_mechanism_have_no_order(edited):
    one = edited(("name: privpgd", "name: privpgd\n  selection: mst\n  generator: particles"))
    two = edited(("name: privpgd", "name: privpgd\n  generator: particles\n  selection: mst"))
    assert one.digest() == two.digest() != edited().digest()


ONLY_FOR_PEOPLE = [
    ("title: Wages", "title: Pay"),
    ("account: employees", "account: employees\n  description: all of them"),
    ("record: one employee", "record: a person"),
    ("unit: euros", "unit: EUR"),
    ("reference: Wages Act", "reference: Wages Act 1950"),
    ('"1": male', '"1": man'),
    ("    minimum: 0\n", "    description: per month\n    minimum: 0\n"),
    ("age < 18 =>", "age < 17 =>"),
    ("formats: [csv]", "formats: [parquet]"),
    ("sex, grade, part_time, hired]", "grade, part_time, hired]"),
    ("release: wages-2026", "release: wages-2027"),
    ("name: privpgd", "name: privpgd\n  generator: {method: particles}"),
]
FOR_THE_DATA = [
    ("account: employees", "account: staff"),
    ("source: wages.csv", "source: pay.csv"),
    ("epsilon: 1\n", "epsilon: 2\n"),
    ("delta: 1e-5", "delta: 1e-6"),
    ("replace_one", "add_remove"),
    ("max_records: 3", "max_records: 4"),
    ('[NA, ""]', "[NA]"),
    ("name: privpgd", "name: privpgd\n  selection: {ways: 3}"),
    ("name: privpgd", "name: privpgd\n  selection: {method: mst}"),
    ("name: privpgd", "name: aim"),
    ("cell_width: 250", "cell_width: 500"),
    ("    maximum: 5000\n", "    maximum: 4000\n"),
    ("[01, 02, 03]", "[01, 03, 02]"),
    ('other: "9"', 'other: "1"'),
    ("    nulls: true\n", "    nulls: false\n"),
    ("output:", "certificate: {share: 0.1}\noutput:"),
    ("output:", "binning: {share: 0.1, columns: {wage: 9}}\noutput:"),
]
RECORDS = ("{person: id, max_records: 3}", "record")
PUBLIC_TABLE = "public_data: {source: old.csv, reference: the codebook of 2018}\n"


@pytest.mark.parametrize("edit", ONLY_FOR_PEOPLE, ids=lambda edit: edit[1].strip())
def test_what_is_for_people_changes_the_digest_but_not_the_privacy_digest(edit, edited):
    assert edited(edit).digest() != edited().digest()
    assert edited(edit).privacy_digest() == edited().privacy_digest()


@pytest.mark.parametrize("edit", FOR_THE_DATA, ids=lambda edit: edit[1].strip())
def test_what_the_data_are_asked_changes_both_digests(edit, edited):
    assert edited(edit).digest() != edited().digest()
    assert edited(edit).privacy_digest() != edited().privacy_digest()


@pytest.mark.parametrize("purpose", ["marginals: 3", "cells: 8"])
def test_what_the_share_is_for_changes_both_digests(purpose, edited):
    share = edited(("output:", "certificate: {share: 0.1}\noutput:"))
    other = edited(("output:", f"certificate: {{share: 0.1, {purpose}}}\noutput:"))
    assert share.digest() != other.digest()
    assert share.privacy_digest() != other.privacy_digest()


def test_private_bins_count_in_the_privacy_digest_by_columns_and_share_alone(edited):
    def digest(binning):
        return edited(("output:", f"binning: {binning}\noutput:")).privacy_digest()

    one = digest("{share: 1/20, columns: {wage: 9, hired: 4}}")
    assert digest("{share: 0.05, columns: {hired: 4, wage: 9}}") == one
    others = ["{share: 1/10, columns: {wage: 9, hired: 4}}", "{share: 1/20, columns: {wage: 9}}",
              "{share: 1/20, columns: {wage: 8, hired: 4}}"]  # fmt: skip
    assert len({one, *map(digest, others)}) == 4


def test_a_share_of_own_cells_that_is_not_given_is_digested_as_what_is_meant(edited):
    """As before the default depended on the columns."""
    digests = {
        edited(("output:", f"binning: {{{share}columns: {{wage: 9}}}}\noutput:")).digest()
        for share in ("", "share: 1/40, ")
    }
    assert len(digests) == 1


def test_specs_without_private_bins_keep_their_digests(edited):
    """What ledgers hold of releases from before there were bins."""
    assert edited().privacy_digest() == (
        "99bd37c01db3edb40bc681b2e490ae366165f8d36227dab612fae5d519c020c3"
    )


def test_specs_without_questions_and_replicates_keep_their_digests(edited):
    """What signed releases hold: the first of all versions but 0.3.0, the second of that one."""
    assert edited().digests() == (
        "f48028b723eb2046b5d296cfddf872948b922c30a787ed1dad3624cbe3a6f940",
        "dbfbe33700d9d1cf463066a72847e3b3831e65f2598031ac36e125163d9373ac",
    )


def test_the_order_of_columns_is_part_of_both_digests(edited):
    spec = edited()
    turned = spec.model_copy(update={"columns": dict(reversed(spec.columns.items()))})
    assert turned.digest() != spec.digest()
    assert turned.privacy_digest() != spec.privacy_digest()


def test_refusing_and_forbidding_nulls_is_warned_of(edited):
    typed, refuse, nulls = edited(RECORDS).warnings()
    assert typed.startswith("numbers and dates in wage, age, hired: a successful run reveals")
    assert refuse.startswith("outside: refuse in grade, part_time: a successful run reveals")
    assert nulls.startswith("nulls: false in wage, sex, grade, part_time, hired: a successful run")


def test_a_spec_tells_nothing_but_that_numbers_and_dates_could_be_read(tmp_path):
    text = WAGES.replace(
        "    outside: refuse\n    bound_source",
        "    outside: catch_all\n    other: 01\n    bound_source",
    )
    text = text.replace("    outside: refuse\n", "    outside: catch_all\n    other: false\n")
    text = text.replace("    nulls: true\n", "").replace(
        "    outside:", "    nulls: true\n    outside:"
    )
    (typed,) = wages.load(tmp_path, text.replace(*RECORDS)).warnings()
    assert typed.startswith("numbers and dates in ")


def test_a_large_epsilon_is_warned_of(edited):
    assert not any(
        "epsilon" in warning for warning in edited(("epsilon: 1", "epsilon: 10")).warnings()
    )
    (told,) = (w for w in edited(("epsilon: 1", "epsilon: 12")).warnings() if "epsilon" in w)
    assert told.startswith("privacy.epsilon is 12, but should be at most 10")
    assert told.endswith("a doubt of only 1 in 162,756")
    (told,) = (w for w in edited(("epsilon: 1", "epsilon: 400")).warnings() if "epsilon" in w)
    assert told.endswith("1 in 5e+173")


def test_a_large_delta_is_warned_of(edited):
    assert not any("delta" in warning for warning in edited(("1e-5", "0.0009")).warnings())
    assert any(
        "privacy.delta is 0.001" in warning for warning in edited(("1e-5", "0.001")).warnings()
    )


def test_add_remove_warns_that_the_expected_rows_are_published(edited):
    published = "is published with the spec, but add_remove protects the number of records"
    added = ("replace_one", "add_remove")
    assert any(published in w for w in edited(RECORDS, added).warnings())
    assert not any("is published" in w for w in edited(RECORDS).warnings())


@pytest.mark.parametrize(
    ("neighbours", "protected"),
    [
        ("replace_one", "but the number of records is protected if the unit is a person"),
        ("add_remove", "but add_remove protects the numbers of persons and of records"),
    ],
)
def test_where_persons_are_protected_the_expected_rows_are_warned_of(neighbours, protected, edited):
    warnings = edited(("replace_one", neighbours)).warnings()
    assert any(w.startswith("data.expected_rows") and protected in w for w in warnings)


def test_a_public_table_is_warned_of_with_where_it_is_published(edited):
    public = ("mechanism:\n  name: privpgd", f"{PUBLIC_TABLE}mechanism:\n  name: sparse-lipschitz")
    assert any("codebook of 2018" in warning for warning in edited(public).warnings())


def test_a_public_table_counts_in_the_privacy_digest_by_its_records_alone(edited):
    mechanism = ("mechanism:\n  name: privpgd", "mechanism:\n  name: sparse-lipschitz")
    public = (mechanism[0], f"{PUBLIC_TABLE}{mechanism[1]}")
    moved = (mechanism[0], f"{PUBLIC_TABLE.replace('old.csv', 'moved.csv')}{mechanism[1]}")
    with_table, without = edited(public), edited(mechanism)
    assert with_table.privacy_digest("ab") == edited(moved).privacy_digest("ab")
    digests = [with_table.privacy_digest("ab"), with_table.privacy_digest("cd")]
    assert len({*digests, without.privacy_digest()}) == 3


def test_a_bound_estimated_from_the_data_is_warned_of_with_who_accepted_it(edited):
    source = "{kind: private_estimate, reference: the file, accepted_by: Ada}"
    warnings = edited(("{kind: law, reference: Wages Act}", source)).warnings()
    assert warnings[0] == (
        "columns.wage: its bounds were estimated from the private data without a charge, which "
        "voids the guarantee for this column; accepted by Ada"
    )


def test_columns_are_released_in_the_order_of_the_output(edited):
    order = "columns: [wage, age, sex, grade, part_time, hired]"
    assert edited((order, "columns: [hired, age, part_time]")).released_columns == (
        "hired",
        "age",
        "part_time",
    )
    names = ("wage", "age", "sex", "grade", "part_time", "hired")
    assert edited((f"  {order}\n", "")).released_columns == names


def test_the_unit_is_a_record_or_a_person(edited):
    person = edited().privacy
    record = edited(("{person: id, max_records: 3}", "record")).privacy
    assert (person.person, person.max_records) == ("id", 3)
    assert (record.person, record.max_records) == (None, 1)


@pytest.mark.parametrize(
    ("source", "form"),
    [
        ("wages.csv", "csv"),
        ("wages.CSV", "csv"),
        ("wages.csv.gz", "csv"),
        ("s3://bucket/wages.2026.parquet", "parquet"),
        ("parts", None),
        ("../parts/", None),
    ],
)
def test_the_format_follows_from_the_suffix(source, form, edited):
    assert edited(("source: wages.csv", f"source: {source}")).data.file_format == form


def test_a_stated_format_goes_before_the_suffix(edited):
    data = edited(("source: wages.csv", "source: wages.dat\n  format: csv")).data
    assert data.file_format == "csv"


def test_a_source_is_relative_to_the_spec_unless_absolute_or_a_url(edited):
    def located(source):
        return edited(("source: wages.csv", f"source: {source}")).data.located(Path("/specs"))

    assert located("data/wages.csv") == "/specs/data/wages.csv"
    assert located("/data/wages.csv") == "/data/wages.csv"
    assert located("s3://bucket/wages.csv") == "s3://bucket/wages.csv"


DATABASE = ("  source: wages.csv", "  source: postgresql://db/census\n  table: public.wages")


def test_who_reads_a_database_and_in_which_parts_is_no_question(edited):
    how = f"{DATABASE[1]}\n  credentials: reader\n  partition_column: id"
    plain, with_login = edited(DATABASE), edited((DATABASE[0], how))
    assert plain.privacy_digest() == with_login.privacy_digest()
    assert plain.digest() != with_login.digest()


def test_which_table_or_query_is_read_is_part_of_both_digests(edited):
    query = (DATABASE[0], "  source: postgresql://db/census\n  query: SELECT * FROM wages")
    table, asked = edited(DATABASE), edited(query)
    assert table.privacy_digest() != asked.privacy_digest() != edited().privacy_digest()
    assert table.digest() != asked.digest()


def test_an_output_table_counts_in_the_digest_alone(edited):
    loaded = "  formats: [csv]\n  table: {url: 'postgresql://db/open', name: a.b}"
    table = ("  formats: [csv]", loaded)
    assert edited(table).digest() != edited().digest()
    assert edited(table).privacy_digest() == edited().privacy_digest()


def test_the_cluster_changes_no_digest_and_is_warned_of(edited):
    spec = edited(("output:\n", "cluster: {address: 'tls://scheduler:8786'}\noutput:\n"))
    assert (spec.digest(), spec.privacy_digest()) == (edited().digest(), edited().privacy_digest())
    assert ReleaseSpec.model_validate_json(spec.canonical_json()).cluster is None
    (told,) = set(spec.warnings()) - set(edited().warnings())
    assert told.startswith("cluster: the spec is published")


def test_options_of_a_cluster_are_typed_by_how_they_are_written(edited):
    options = "{n_workers: 2, processes: false, memory: 4GiB, name: '2'}"
    cluster = f"cluster: {{class: distributed.LocalCluster, options: {options}}}\n"
    spec = edited(("output:\n", f"{cluster}output:\n"))
    assert spec.cluster.options == {
        "n_workers": 2, "processes": False, "memory": "4GiB", "name": "2"
    }  # fmt: skip


def test_rules_are_bound_to_the_columns(edited):
    (rule,) = edited().rules
    table = pd.DataFrame({"age": [17.0, 17.0, 18.0, np.nan], "part_time": ["y", "n", "n", "n"]})
    assert list(rule.violations(table)) == [False, True, False, False]


def test_contradictions_are_refused_without_a_file_too(edited):
    content = edited().model_dump(mode="json", by_alias=True, exclude_none=True)
    content["privacy"]["delta"] = "0"
    with pytest.raises(ValidationError, match="privpgd adds Gaussian noise"):
        ReleaseSpec.model_validate(content)


@pytest.mark.parametrize(
    ("code", "warned"),
    [
        ("=1+1", True), ("@SUM(A1)", True), ("+cmd|' /C calc'!A0", True), ("-1+1", True),
        ("+1/2", True), ("-9", False), ("+1.5", False), ("-", False), ("a=1", False),
    ],
)  # fmt: skip
def test_a_code_that_a_spreadsheet_would_compute_is_warned_of(code, warned, edited):
    quoted = json.dumps(code)
    changed = edited(('"2": female', f"{quoted}: female"))
    told = [w for w in changed.warnings() if "may take it for a formula" in w]
    assert len(told) == warned
    assert all(f"columns.sex: the code {code!r} begins" in w for w in told)
    assert code in changed.columns["sex"].codes
    no_csv = changed.model_copy(
        update={"output": changed.output.model_copy(update={"formats": ("parquet",)})}
    )
    assert not any("formula" in w for w in no_csv.warnings())


def test_a_column_whose_name_a_spreadsheet_would_compute_is_warned_of(edited):
    spec = edited(("columns: [wage, age", 'columns: ["=wage", age'), ("\n  wage:", '\n  "=wage":'))
    (told,) = (warning for warning in spec.warnings() if "formula" in warning)
    assert told.startswith("columns.=wage: its name begins with one of = + - @")
