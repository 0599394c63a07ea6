"""Coding a table in parts: the same codes as in one piece, and truncation that bounds a person."""

import shutil
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hallmark.mechanisms.arrays import AnyCodes
from hallmark.schemas.loading import load_spec
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.code_files import Drafts, left_out
from hallmark.tasks.discretize import truncated
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.truncation import keys
from hallmark.tasks.reading import read_part
from hallmark.tasks.sources import Source, batches, parquet_files, parts
from tests import example

COLUMNS = ("age", "income", "region", "employed", "since")


@pytest.fixture
def spec(tmp_path: Path) -> ReleaseSpec:
    return load_spec(example.write(tmp_path / "spec", rows=3))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "BATCH_ROWS", 7)


def source(location: Path, person: bool = True) -> Source:
    return Source(
        location=str(location),
        null_markers=("NA",),
        columns=(*COLUMNS, "person") if person else COLUMNS,
        ignored=() if person else ("person",),
    )


def in_parts(table: pd.DataFrame, folder: Path, rows: int = 20) -> Path:
    """A folder of Parquet parts; some people have records in several of them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for index, start in enumerate(range(0, len(table), rows)):
        table.iloc[start : start + rows].to_parquet(folder / f"{index:03d}.parquet", index=False)
    return folder


def coded(location: Path, spec: ReleaseSpec, folder: Path, person: bool) -> list[Path]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return [
        file
        for index, part in enumerate(parts(source(location, person)))
        for file in read_part(
            part, spec.columns, "person" if person else None, drafts=Drafts(folder, index)
        ).files
    ]


def codes_of(files: Sequence[Path]) -> AnyCodes:
    return np.concatenate([np.load(file) for file in files])


def directly(location: Path, spec: ReleaseSpec) -> AnyCodes:
    frames = [batch for part in parts(source(location)) for batch in batches(part)]
    return TableCodec.of(spec.columns).encode(pd.concat(frames, ignore_index=True))


def kept_by_hand(table: pd.DataFrame, records: int) -> list[bool]:
    """The slow loop: each person's records are kept until there are `records` of them."""
    seen: dict[str, int] = defaultdict(int)
    keep = []
    for person in table["person"]:
        keep.append(seen[person] < records)
        seen[person] += 1
    return keep


def test_parts_and_batches_give_the_codes_of_the_whole_table(
    spec: ReleaseSpec, tmp_path: Path
) -> None:
    location = in_parts(example.table(50), tmp_path / "parts")
    files = coded(location, spec, tmp_path / "codes", person=False)
    assert len(files) > 3
    assert codes_of(files).tolist() == directly(location, spec).tolist()


def test_coding_a_part_again_gives_the_same_codes_under_other_names(
    spec: ReleaseSpec, tmp_path: Path
) -> None:
    location = in_parts(example.table(50), tmp_path / "parts")
    files = coded(location, spec, tmp_path / "codes", person=True)
    before = {file.name: file.read_bytes() for file in (tmp_path / "codes").iterdir()}
    part = parts(source(location))[0]
    drafts = Drafts(tmp_path / "codes", 0)
    again = read_part(part, spec.columns, "person", drafts=drafts).files
    assert not set(again) & set(files)
    assert codes_of(again).tolist() == codes_of(files[: len(again)]).tolist()
    assert {name: (tmp_path / "codes" / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("records", [1, 2, 3, 100])
def test_truncation_keeps_the_first_records_of_each_person_over_parts_and_batches(
    records: int, spec: ReleaseSpec, tmp_path: Path
) -> None:
    table = example.table(60, seed=records)
    table["person"] = [f"p{i % 11 if i % 3 else 0}" for i in range(60)]
    location = in_parts(table, tmp_path / "parts")
    kept = truncated(coded(location, spec, tmp_path / "codes", person=True), records)
    expected = directly(location, spec)[kept_by_hand(table, records)]
    assert codes_of(kept).tolist() == expected.tolist()
    assert left_out(kept) == 60 - len(expected)
    assert (len(expected) < 60) == (records < 100)


def test_a_person_changes_no_more_than_the_bound_and_nobody_elses_records(
    spec: ReleaseSpec, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    table = example.table(60)
    table["person"] = [f"p{i}" for i in rng.integers(0, 9, 60)]
    for person in ("p0", "p4"):
        others = table[table["person"] != person]
        rows = []
        for name, version in (("with", table), ("without", others)):
            location = in_parts(version, tmp_path / f"parts-{name}")
            files = coded(location, spec, tmp_path / f"codes-{name}", person=True)
            rows.append(codes_of(truncated(files, 2)).tolist())
        with_person, without = rows
        for row in without:
            with_person.remove(row)  # raises where a record of somebody else went
        assert len(with_person) == 2


def test_truncating_again_gives_the_same_files(spec: ReleaseSpec, tmp_path: Path) -> None:
    location = in_parts(example.table(50), tmp_path / "parts")
    files = coded(location, spec, tmp_path / "codes", person=True)
    kept = truncated(files, 1)
    before = [file.read_bytes() for file in kept]
    assert truncated(files, 1) == kept
    assert [file.read_bytes() for file in kept] == before


def test_truncated_records_never_lie_under_the_name_of_all_records(
    spec: ReleaseSpec, tmp_path: Path
) -> None:
    location = in_parts(example.table(50), tmp_path / "parts")
    files = coded(location, spec, tmp_path / "codes", person=True)
    assert not set(files) & set(truncated(files, 1))


def test_a_record_that_names_no_person_is_never_kept(tmp_path: Path) -> None:
    """Validation refuses such a table; if one came here, it would be no breach."""
    codes = np.arange(20, dtype=np.uint8)[:, None]
    persons = pd.Series([None if i % 2 else f"p{i}" for i in range(20)])
    file = Drafts(tmp_path, 0).write(0, codes, keys(codes, persons, ordered=True))
    assert codes_of(truncated([file], 1))[:, 0].tolist() == list(range(0, 20, 2))


def test_no_person_is_stored_where_records_are_the_unit(spec: ReleaseSpec, tmp_path: Path) -> None:
    coded(in_parts(example.table(9), tmp_path / "parts"), spec, tmp_path / "codes", person=False)
    assert not list((tmp_path / "codes").glob("*persons*"))
