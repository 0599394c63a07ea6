"""A table in an object store: a server on loopback, real clients, workers in other processes."""

import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from moto.server import ThreadedMotoServer

from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.table_sections import DataSource
from hallmark.tasks.sources import (
    Part,
    Source,
    SourceError,
    batches,
    parts,
    source_digest,
    source_of,
)
from tests import example

SECRET = "73193-canary"
COLUMNS = ("age", "region", "since")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Endpoint of an object store with an empty bucket; the credentials are in the environment."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "hallmark",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    s3 = boto3.resource("s3", endpoint_url=endpoint)
    s3.create_bucket(Bucket="agency")
    yield endpoint
    s3.Bucket("agency").objects.delete()  # or the next server of this process would have them
    server.stop()


def put(endpoint: str, folder: Path, name: str, table: pd.DataFrame) -> None:
    """Upload a part."""
    file = folder / Path(name).name
    if ".csv" in name:
        table.to_csv(file, index=False)
    else:
        table.to_parquet(file)
    boto3.client("s3", endpoint_url=endpoint).upload_file(str(file), "agency", name)


def source(endpoint: str, where: str = "s3://agency/people/", **options: Any) -> Source:
    data = DataSource.model_validate(
        {"source": where, "expected_rows": 100, "record": "one person",
         "storage_options": {"endpoint_url": endpoint} | options}
    )  # fmt: skip
    spec = ReleaseSpec.model_validate(example.spec(Path("table.csv")))
    columns = {name: spec.columns[name] for name in COLUMNS}
    return source_of(data, Path("/nowhere"), columns, others_ignored=True)


def records(part: Part) -> list[tuple[str, ...]]:
    return [row for batch in batches(part) for row in batch.itertuples(index=False, name=None)]


def test_a_worker_in_another_process_reads_the_parts_of_a_folder(
    store: str, tmp_path: Path
) -> None:
    table = example.table(90)
    for i in range(3):
        put(store, tmp_path, f"people/part-{i}.parquet", table[30 * i : 30 * (i + 1)])
    pieces = parts(source(store))
    assert len(pieces) == 3
    assert SECRET.encode() not in pickle.dumps(pieces)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        read = client.gather(client.map(records, pieces, pure=False))
    expected = zip(
        table["age"].astype(str),
        table["region"],
        table["since"].dt.strftime("%Y-%m-%d"),
        strict=True,
    )
    assert Counter(row for part in read for row in part) == Counter(expected)


def test_a_compressed_csv_is_read_as_one_part(store: str, tmp_path: Path) -> None:
    put(store, tmp_path, "people.csv.gz", example.table(20))
    (piece,) = parts(source(store, "s3://agency/people.csv.gz"))
    assert len(records(piece)) == 20


def test_a_part_that_came_since_the_last_release_is_seen(
    store: str, home: Path, tmp_path: Path
) -> None:
    put(store, tmp_path, "people/part-0.parquet", example.table(20))
    before = source_digest(source(store))
    assert (len(parts(source(store))), source_digest(source(store))) == (1, before)
    put(store, tmp_path, "people/part-1.parquet", example.table(20))
    assert len(parts(source(store))) == 2
    assert source_digest(source(store)) != before


def test_a_store_or_a_place_in_it_that_is_not_there_is_told(store: str) -> None:
    with pytest.raises(SourceError, match="nothing is at s3://agency/people/"):
        parts(source(store))
    with pytest.raises(SourceError, match=r"s3://agency/people/ cannot be listed \(.*Connect"):
        parts(source("http://127.0.0.1:1"))


def test_a_file_system_whose_package_is_missing_is_told() -> None:
    with pytest.raises(SourceError, match=r"gs://agency/people/ cannot be opened:.*gcsfs"):
        parts(source("http://127.0.0.1:1", "gs://agency/people/"))
