"""The data dictionary of a release: types, domains, markers and errors as the files have them."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.data_dictionary import DataDictionary, DictionaryColumn
from hallmark.schemas.documents.manifest import CERTIFICATE_FILE, DICTIONARY_FILE, SPEC_FILE
from hallmark.tasks.verification import verify_release
from hallmark.tasks.verification.conformity import nonconformities
from tests import example
from tests.tasks.released import ROWS, Released, released


@pytest.fixture(scope="module")
def run(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Released]:
    columns = example.spec(Path("table.csv"))["columns"]
    del columns["age"]["unit"]
    columns["region"]["categories"] = {"file": "codes.csv"}
    folder = tmp_path_factory.mktemp("dictionary")
    (folder / "codes.csv").write_text("code,label\n01,north\n02,south\n07,east\n")
    with released(folder, columns=columns) as done:
        yield done


@pytest.fixture(scope="module")
def dictionary(run: Released) -> DataDictionary:
    return DataDictionary.model_validate_json((run.folder / DICTIONARY_FILE).read_bytes())


@pytest.fixture(scope="module")
def columns(dictionary: DataDictionary) -> dict[str, DictionaryColumn]:
    return {column.name: column for column in dictionary.columns}


def test_it_describes_the_released_columns_in_their_order(
    dictionary: DataDictionary, run: Released
) -> None:
    header = (run.folder / "data.csv").read_text().splitlines()[0]
    assert [column.name for column in dictionary.columns] == header.split(",")
    assert dictionary.rows == ROWS


def test_types_and_domains_are_those_of_the_spec(columns: dict[str, DictionaryColumn]) -> None:
    kinds = {name: column.type for name, column in columns.items()}
    assert kinds == {
        "age": "integer", "income": "real", "region": "nominal", "employed": "boolean",
        "since": "date",
    }  # fmt: skip
    age, since = columns["age"].interval, columns["since"].interval
    assert age is not None
    assert since is not None
    assert (age.low, age.high) == (0, 99)
    assert (since.low, since.high) == (date(2000, 1, 1), date(2009, 12, 31))
    assert [c.label for c in columns["region"].categories] == ["north", "south", "east"]


def test_a_marker_is_given_where_nulls_are_allowed_alone(
    columns: dict[str, DictionaryColumn],
) -> None:
    assert {name: column.null_marker for name, column in columns.items() if column.nullable} == {
        "income": "NA"
    }


def test_errors_are_the_bounds_of_the_certificate(
    columns: dict[str, DictionaryColumn], run: Released
) -> None:
    file = CertificateFile.model_validate_json((run.folder / CERTIFICATE_FILE).read_bytes())
    for name, column in columns.items():
        bound = file.for_column(name)
        assert bound is not None
        assert column.error is not None
        assert column.error.bound == bound.in_unit


def test_an_error_names_the_unit_that_it_is_in(
    columns: dict[str, DictionaryColumn], run: Released
) -> None:
    file = CertificateFile.model_validate_json((run.folder / CERTIFICATE_FILE).read_bytes())
    errors = {name: column.error for name, column in columns.items()}
    assert {name: error and error.unit for name, error in errors.items()} == {
        "age": "units of the column",  # the spec names none, and the bound is no share
        "income": "dollars",
        "region": "share of records",
        "employed": "share of records",
        "since": "days",
    }
    for name, scale in {"age": 99, "income": 400, "region": 1, "since": 3652}.items():
        bound, error = file.for_column(name), errors[name]
        assert bound is not None
        assert error is not None
        assert error.bound == pytest.approx(scale * bound.value)
        assert "share" not in error.metric + bound.metric


def test_the_files_are_as_it_says_and_a_changed_dictionary_would_be_noticed(
    dictionary: DataDictionary, run: Released
) -> None:
    for name in ("data.csv", "data.parquet"):
        assert nonconformities(run.folder / name, dictionary) == []
    wrong = dictionary.model_copy(update={"rows": ROWS + 1})
    assert nonconformities(run.folder / "data.csv", wrong)


def test_categories_from_a_file_are_published_with_the_spec(run: Released) -> None:
    text = (run.folder / SPEC_FILE).read_text()
    assert "codes.csv" not in text
    assert '"01": "north"' in text
    assert verify_release(run.folder, None).ok
