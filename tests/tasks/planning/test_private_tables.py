"""The private table is known by whatever name it has, and its copies by what is in them."""

import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hallmark.schemas.loading import load_spec
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.job import Job
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.likeness import Likeness, RecordSums, likeness, likeness_of_records
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.private_tables import note, private_at, private_like
from hallmark.tasks.publish import PublishRefused, refuse_private_folder
from hallmark.tasks.sources import overlap
from tests import example

Way = Callable[[Path], Path | str]
"""Makes a way to the private table in its folder, `table.csv`, and says what it is called."""


def symlink(folder: Path) -> Path:
    (folder / "link.csv").symlink_to(folder / "table.csv")
    return folder / "link.csv"


def hard_link(folder: Path) -> Path:
    os.link(folder / "table.csv", folder / "hard.csv")
    return folder / "hard.csv"


def linked_folder(folder: Path) -> Path:
    (folder.parent / "elsewhere").symlink_to(folder)
    return folder.parent / "elsewhere" / "table.csv"


def hard_linked_part(folder: Path) -> Path:
    (folder / "parts").mkdir()
    os.link(folder / "table.csv", folder / "parts" / "0.csv")
    return folder / "parts"


SPELLINGS: dict[str, Way] = {
    "as it is": lambda folder: folder / "table.csv",
    "relative": lambda folder: os.path.relpath(folder / "table.csv"),
    "by detours": lambda folder: f"{folder}/../{folder.name}/./table.csv",
    "a symbolic link": symlink,
    "a hard link": hard_link,
    "a link to its folder": linked_folder,
    "a URL": lambda folder: f"file://{folder}/table.csv",
    "another URL": lambda folder: f"local://{folder}//table.csv",
    "the folder that it lies in": lambda folder: folder,
    "a folder with a hard link": hard_linked_part,
}


@pytest.mark.parametrize("way", SPELLINGS.values(), ids=SPELLINGS)
def test_it_is_known_by_every_name_it_has(way: Way, tmp_path: Path, home: Path) -> None:
    path = example.write(tmp_path / "here", 20)
    spec = load_spec(path)
    assert private_at(str(way(path.parent)), spec, path.parent) == "test-release"
    (path.parent / "other.csv").write_bytes((path.parent / "table.csv").read_bytes())
    assert private_at(str(path.parent / "other.csv"), spec, path.parent) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("s3://agency/people.parquet", "s3://agency/people.parquet", True),
        ("s3://agency/people.parquet", "s3a://agency/people.parquet", True),
        ("s3://agency/people.parquet", "s3://agency/old/../people.parquet", True),
        ("s3://agency/people.parquet", "s3://agency//people.parquet", True),
        ("s3://agency/people.parquet", "s3://agency/people%2Eparquet", True),
        ("s3://agency/people/", "s3://agency/people/0.parquet", True),
        ("s3://agency/people/0.parquet", "s3://agency/", True),
        ("https://agency/people.csv", "http://agency/people.csv", True),
        ("s3://agency/people.parquet", "s3://agency/people-2019.parquet", False),
        ("s3://agency/people.parquet", "s3://other/people.parquet", False),
        ("s3://agency/people.parquet", "gs://agency/people.parquet", False),
        ("s3://agency/people.parquet", "/agency/people.parquet", False),
        ("postgresql://host/census", "/people.csv", False),
    ],
)
def test_a_store_is_known_by_bucket_and_key(one: str, other: str, same: bool) -> None:
    assert overlap(one, other) == overlap(other, one) == same


def csv(folder: Path, table: pd.DataFrame) -> Path:
    table.to_csv(folder / "copy.csv", index=False, na_rep="NA")
    return folder / "copy.csv"


def parquet(folder: Path, table: pd.DataFrame) -> Path:
    table.to_parquet(folder / "copy.parquet")
    return folder / "copy.parquet"


def packed(folder: Path, table: pd.DataFrame) -> Path:
    path = csv(folder, table)
    (folder / "copy.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    return folder / "copy.csv.gz"


def parted(folder: Path, table: pd.DataFrame) -> Path:
    (folder / "copy").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_csv(folder / "copy" / f"{part}.csv", index=False, na_rep="NA")
    return folder / "copy"


def shuffled(folder: Path, table: pd.DataFrame) -> Path:
    return csv(folder, table.sample(frac=1, random_state=1)[table.columns[::-1]])


def with_another_column(folder: Path, table: pd.DataFrame) -> Path:
    return csv(folder, table.assign(number=range(len(table))))


def within_cells(folder: Path, table: pd.DataFrame) -> Path:
    return csv(folder, table.assign(age=table["age"] // 10 * 10 + 3))


COPIES: dict[str, Callable[[Path, pd.DataFrame], Path]] = {
    "its bytes": csv,
    "in Parquet": parquet,
    "packed": packed,
    "in parts": parted,
    "in another order": shuffled,
    "with another column": with_another_column,
    "moved within cells": within_cells,
}


def known(prepared: Prepared, location: Path) -> Likeness:
    """Of a table at a location, read as the spec says of its own."""
    source = replace(prepared.source, location=str(location), format=None, others_ignored=True)
    return likeness(prepared.codec, source)


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_copy_is_known_in_whatever_form_and_order(copy: Any, tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path, 50))
    table = example.table(50)
    assert known(prepared, copy(tmp_path, table)).is_of(known(prepared, tmp_path / "table.csv"))


@pytest.mark.parametrize(
    "changed",
    [
        lambda table: table.iloc[:-1],
        lambda table: pd.concat([table, table.iloc[:1]]),
        lambda table: table.assign(age=[(table["age"][0] + 50) % 100, *table["age"][1:]]),
        lambda table: table.assign(age=table["age"].to_numpy()[::-1]),
    ],
    ids=["one less", "one twice", "one value", "a column turned round"],
)
def test_a_table_that_differs_in_a_record_is_another(changed: Any, tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path, 50))
    other = csv(tmp_path, changed(example.table(50)))
    assert not known(prepared, other).is_of(known(prepared, tmp_path / "table.csv"))


def test_a_part_of_its_files_is_known_by_its_bytes(tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path, 50))
    folder = parted(tmp_path, example.table(50))
    assert known(prepared, folder / "1.csv").is_of(known(prepared, folder))


def test_values_that_have_no_place_do_not_hide_a_copy(tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path, 50))
    table = example.table(50).astype(object)
    table.loc[3, "region"], table.loc[4, "since"] = "nowhere", "yesterday"
    whole = csv(tmp_path, table).rename(tmp_path / "whole.csv")
    assert known(prepared, shuffled(tmp_path, table)).is_of(known(prepared, whole))


def test_a_table_is_read_no_further_than_a_copy_could_go(tmp_path: Path) -> None:
    prepared = prepare(example.write(tmp_path, 50))
    found = likeness(prepared.codec, prepared.source, most=49)
    assert found.records is None


def test_the_digest_of_records_tells_blocks_of_chance_apart(tmp_path: Path) -> None:
    codec = TableCodec.of(prepare(example.write(tmp_path, 5)).spec.columns)
    rng, digests = np.random.default_rng(0), set()
    for _ in range(200):
        sums = RecordSums.of(rng.integers(0, 3, (6, len(codec.codecs))))
        digests.add(likeness_of_records(codec, sums, []).records)
    assert len(digests) == 200


def test_the_sums_of_records_are_known_words_and_no_order_block_or_type_changes_them() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 200, (50, 3))
    whole = RecordSums.of(codes)
    shuffled = np.asfortranarray(rng.permutation(codes).astype(np.int16))
    parts = [RecordSums.of(part) for part in np.array_split(shuffled, 4)]
    assert reduce(RecordSums.plus, parts) == whole
    sums = [0, 0]
    for record in codes.tolist():
        for lane in range(2):
            word = lane + 1
            for code in record:
                word = splitmix((word + code) % 2**64)
            sums[lane] = (sums[lane] + word) % 2**64
    assert whole == (50, *sums)


def splitmix(word: int) -> int:
    """The generator of Steele, Lea and Flood, in Python's whole numbers."""
    word = (word + 0x9E3779B97F4A7C15) % 2**64
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) % 2**64
    return word ^ (word >> 31)


def test_what_was_noted_of_one_release_is_known_to_all(tmp_path: Path, home: Path) -> None:
    one = prepare(example.write(tmp_path / "one", 50, release="one"))
    other = prepare(example.write(tmp_path / "other", 60, release="other"))
    at, like = tmp_path / "one" / "table.csv", known(one, tmp_path / "one" / "table.csv")
    assert private_at(str(at), other.spec, other.folder) is None
    workspace = Workspace.of("one")
    note(workspace, one.spec, one.folder, None)
    assert private_at(str(at), other.spec, other.folder) == "one"
    assert private_like(like) is None
    note(workspace, one.spec, one.folder, like)
    moved = example.write(tmp_path / "moved", 70, release="one")
    note(workspace, load_spec(moved), moved.parent, None)  # what was noted stays
    assert private_like(like) == private_at(str(at), other.spec, other.folder) == "one"
    assert private_like(known(other, tmp_path / "other" / "table.csv")) is None


def test_no_digest_is_kept_that_a_guess_could_be_held_against(tmp_path: Path, home: Path) -> None:
    prepared = prepare(example.write(tmp_path, 50))
    like = known(prepared, tmp_path / "table.csv")
    workspace = Workspace.of("test-release")
    note(workspace, prepared.spec, prepared.folder, like)
    (file,) = workspace.path.iterdir()
    assert not any(digest in file.read_text() for digest in (*like.files, str(like.records)))


def test_a_release_folder_is_made_in_no_private_table(tmp_path: Path, home: Path) -> None:
    example.table(20).to_csv(parts(tmp_path) / "0.csv", index=False, na_rep="NA")
    data = {**example.spec(tmp_path / "parts")["data"], "format": "csv"}
    prepared = prepare(example.write(tmp_path, 20, data=data))
    job = Job(prepared, "", Workspace.of("test-release"), tmp_path / "out")
    refuse_private_folder(job)
    for out in (tmp_path / "parts", tmp_path / "parts" / "deeper", linked(tmp_path / "parts")):
        with pytest.raises(PublishRefused, match="lies in the folder of the private table of this"):
            refuse_private_folder(replace(job, out=out))


def parts(folder: Path) -> Path:
    (folder / "parts").mkdir()
    return folder / "parts"


def linked(folder: Path) -> Path:
    folder.with_name("link").symlink_to(folder)
    return folder.with_name("link")
