"""What a spec of the desk may name."""

from pathlib import Path

import pytest

from hallmark.tasks.planning.confined import DATA, SpecConfined, refuse_beyond
from hallmark.tasks.planning.places import public_folder, tables_folder

ALLOWED = [
    "data: {source: table.csv}",
    "data: {source: public/table.csv}",
    "columns: {a: {categories: {file: public/codes.csv}}}",
    "public_data: {source: public/census.parquet}",
    "constraints: [{rule: a < b, source: 'the law of 1999, /etc/passwd'}]",
    "data: [",
    "",
    "a text",
]
BEYOND = {
    "data: {source: /etc/passwd}": "data.source",
    "data: {source: ../people.db}": "data.source",
    "data: {source: public/../../people.db}": "data.source",
    "data: {source: 'postgresql://evil.example/db', table: t}": "data.source",
    "data: {source: 's3://bucket/table.csv'}": "data.source",
    "data: {source: [table.csv, /etc/passwd]}": "data.source",
    "columns: {a: {categories: {file: /etc/passwd}}}": "columns.a.categories.file",
    "columns: {a: {categories: {file: table.csv, column: b}}}": "columns.a.categories.file",
    "columns: {a: {categories: {file: public/../table.csv}}}": "columns.a.categories.file",
    "columns: {a: {categories: {file: public/..}}}": "columns.a.categories.file",
    "lookups: {a: {of: b, values: {file: /etc/passwd, column: c}}}": "lookups.a.values.file",
    "mechanism: {workload: [{file: ../people.db}]}": "mechanism.workload.0.file",
    "x: &x {file: /etc/passwd}\ncolumns: {a: {categories: *x}}": "columns.a.categories.file",
    "x: &x {file: /etc/passwd}\ncolumns: {a: {categories: {<<: *x}}}": "x.file",
    "public_data: {source: table.csv}": "public_data.source",
    "rehearsal: {source: /srv/data/t.csv}": "rehearsal.source",
    "cluster: {address: 'tcp://evil.example:8786'}": "cluster",
    'data: {source: "a\\0.csv"}': "data.source",
    'columns: {a: {categories: {file: "public/a\\0"}}}': "columns.a.categories.file",
    "output: {table: {url: 'postgresql://evil.example/db', name: t}}": "output.table",
}


def written(folder: Path, text: str) -> Path:
    """A spec with this text."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.yaml").write_text(text)
    return folder / "spec.yaml"


@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_kept_for_a_spec_may_be_named(text: str, home: Path):
    refuse_beyond(written(home, text))


@pytest.mark.parametrize(("text", "key"), BEYOND.items())
def test_nothing_else_may_be_named(text: str, key: str, home: Path):
    with pytest.raises(SpecConfined) as refused:
        refuse_beyond(written(home, text))
    assert any(line.startswith(f"{key}:") for line in str(refused.value).splitlines())


def test_tables_of_the_agency_may_be_named_but_not_what_they_lead_to(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(DATA, str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "link.csv").symlink_to("/etc/passwd")
    refuse_beyond(written(home, f"data: {{source: {tmp_path}/data/a.csv}}"))
    for beyond in ("data/link.csv", "data/../secret", "data2/a.csv"):
        with pytest.raises(SpecConfined):
            refuse_beyond(written(home, f"data: {{source: {tmp_path}/{beyond}}}"))


def test_links_in_the_folders_of_the_desk_lead_nowhere_else(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(DATA, str(tmp_path / "data"))
    (tmp_path / "data" / "parts").mkdir(parents=True)
    (tmp_path / "data" / "parts" / "1.csv").touch()
    folder = f"data: {{source: {tmp_path}/data/parts}}"
    refuse_beyond(written(home, folder))
    (tables_folder() / "kept.csv").symlink_to(tmp_path / "data" / "parts" / "1.csv")
    refuse_beyond(written(home, "data: {source: kept.csv}"))

    for place in (tmp_path / "data" / "parts", tables_folder(), public_folder()):
        (place / "a.csv").symlink_to("/etc/passwd")
    codes = "columns: {a: {categories: {file: public/a.csv}}}"
    for beyond in (folder, "data: {source: a.csv}", "data: {source: public/a.csv}", codes):
        with pytest.raises(SpecConfined):
            refuse_beyond(written(home, beyond))
