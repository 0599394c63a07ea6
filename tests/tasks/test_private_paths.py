"""docs/private-paths.md lists every way in which a path can be named, and each does as it says."""

import importlib
import pkgutil
import typing
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from prefect import Flow
from ruamel.yaml import YAML
from typer.testing import CliRunner

from hallmark import flows
from hallmark.flows.cli.app import app
from hallmark.schemas.calendar import Calendar
from hallmark.schemas.json_schema import release_spec_schema
from hallmark.schemas.profile import Profile
from hallmark.tasks.gates.rehearsal_table import rehearsal_table
from hallmark.tasks.installation.errors import SafeError
from hallmark.tasks.installation.workspace import Workspace
from hallmark.tasks.planning.instances import instance
from hallmark.tasks.planning.likeness import likeness, likeness_of_codes
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared
from hallmark.tasks.planning.private_tables import CopyRefused, note, refuse_copies
from tests import example

ROOT = Path(__file__).parents[2]
Way = tuple[str, str]
"""Where a path is named (`flow certify`), and by which parameter."""

TEXTS = {
    "About": "asset authorised_by clearance collection intended_use justification known_biases "
    "legal_basis period snapshot supersedes supported_uses unsupported_uses",
    "Actor": "actor sees",
    "Agency": "contact corrections empirical_audit key_custody name region registry retention "
    "sector vulnerabilities",
    "Approver": "key login",
    "BooleanColumn": "description null_markers",
    "BoundSource": "accepted_by reference",
    "Constraint": "rule source",
    "DataSource": "date_format delimiter encoding ignore null_markers partition_column record "
    "sheet thousands",
    "DateColumn": "description format null_markers",
    "Environment": "access host network",
    "FacePrivacy": "columns",
    "HalfspaceQueries": "columns",
    "LocalCluster": "memory",
    "Lookup": "description of reference unit",
    "MarginalQueries": "columns",
    "MatrixQueries": "columns",
    "MeanQueries": "columns",
    "Need": "question stated_by within",
    "NominalColumn": "description null_markers other",
    "NumericColumn": "decimal description null_markers thousands unit",
    "OrdinalColumn": "description null_markers other",
    "Output": "columns",
    "Panel": "begins columns constant",
    "PersonUnit": "person",
    "PlacesColumn": "description null_markers other unit",
    "Population": "description",
    "PrefixQueries": "columns",
    "Privacy": "large_delta",
    "PublicData": "delimiter encoding null_markers reference sheet",
    "PublicTotal": "columns reference where",
    "QueryEntry": "where",
    "RangeQueries": "columns",
    "RehearsalData": "delimiter encoding null_markers reference sheet",
    "ReleaseSpec": "description questions title",
    "Scheduled": "cron timezone",
    "Series": "period",
    "StorageOptions": "account_name endpoint_url project",
    "Tuning": "details",
}
"""Keys that hold a text which is never opened. Ask of a new one whether it can be a path."""


def listed() -> dict[Way, str]:
    """What the page says that each parameter leads to."""
    found: dict[Way, str] = {}
    _, *tables = (ROOT / "docs" / "private-paths.md").read_text().split("|---|---|---|---|\n")
    for table in tables:
        for line in takewhile(lambda line: line.startswith("|"), table.splitlines()):
            where, names, kind, _ = (cell.strip() for cell in line.strip("|").split("|"))
            for name in names.split(", "):
                found[where.replace("`", ""), name.strip("`")] = kind
    return found


def of_flows() -> Iterator[Way]:
    for module in pkgutil.walk_packages(flows.__path__, "hallmark.flows."):
        if module.name.endswith("__main__"):
            continue
        for made in vars(importlib.import_module(module.name)).values():
            if isinstance(made, Flow) and made.fn.__module__ == module.name:
                for name, hint in typing.get_type_hints(made.fn).items():
                    if name != "return" and hint is not bool:
                        yield f"flow {made.name}", name


def of_commands(within: Any = app, prefix: str = "hallmark") -> Iterator[Way]:
    for command in within.registered_commands:
        called = command.name or command.callback.__name__.replace("_", "-")
        for name, hint in typing.get_type_hints(command.callback).items():
            if name != "return" and _holds_text(hint):
                yield f"{prefix} {called}", name
    for group in within.registered_groups:
        yield from of_commands(group.typer_instance, f"{prefix} {group.name}")


def _holds_text(hint: Any) -> bool:
    return hint in (str, Path) or any(map(_holds_text, typing.get_args(hint)))


def of_documents() -> Iterator[Way]:
    """Keys that hold a text of any form, but for those of `TEXTS`."""
    calendar, profile = (m.model_json_schema(by_alias=True) for m in (Calendar, Profile))
    known = {f"{model}.{key}" for model, keys in TEXTS.items() for key in keys.split()}
    of = {"spec": release_spec_schema(), "calendar": calendar, "profile": profile}
    for kind, schema in of.items():
        for model, part in {schema["title"]: schema, **schema.get("$defs", {})}.items():
            for key, value in part.get("properties", {}).items():
                if _is_free(value) and f"{model}.{key}" not in known:
                    yield f"{kind} {model}", key


def _is_free(schema: dict[str, Any]) -> bool:
    if {"$ref", "enum", "const", "pattern", "format"} & set(schema):
        return False
    inside = [
        one for key in ("anyOf", "oneOf", "allOf", "prefixItems") for one in schema.get(key, [])
    ]
    inside += [schema[key] for key in ("items",) if key in schema]
    says_nothing = not set(schema) - {"title", "description", "default"}
    return "string" in schema.get("type", "") or says_nothing or any(map(_is_free, inside))


def test_every_parameter_that_can_hold_a_path_is_listed_and_no_other() -> None:
    assert sorted(listed()) == sorted({*of_flows(), *of_commands(), *of_documents()})


def test_every_deployment_is_of_a_flow_that_is_listed() -> None:
    deployed = YAML(typ="safe").load(ROOT / "prefect.yaml")["deployments"]
    entrypoints = {one["entrypoint"].rpartition(".") for one in deployed}
    offered = {getattr(importlib.import_module(m), name).name for m, _, name in entrypoints}
    takes = {flow.removeprefix("flow ") for flow, _ in of_flows()}
    assert offered - {"go-on"} <= takes  # which takes nothing
    assert "evaluate" not in str(deployed)  # it is internal


# Each route that is called public, with the private table on it.

Route = Callable[[Path, Path], Any]
"""Goes the way with a file, from a spec in a folder."""

SPARSE = {"mechanism": {"name": "sparse-lipschitz"}, "privacy": example.PURE}
ROWS = 40


def public_data(folder: Path, file: Path, **changes: Any) -> Prepared:
    table = {"source": str(file), "null_markers": ["NA"], "reference": "nowhere"}
    return prepare(example.write(folder, ROWS, public_data=table, **SPARSE | changes))


def by_calendar(folder: Path, file: Path) -> Prepared:
    table = {"source": str(file), "null_markers": ["NA"], "reference": "nowhere"}
    example.write(folder, ROWS, release="of-{period}", public_data=table, **SPARSE)
    calendar = folder / "calendar.yaml"
    calendar.write_text(
        "hallmark_calendar: 1\nreleases:\n  of:\n    spec: spec.yaml\n    period: month\n"
        '    cron: "0 2 3 * *"\n    budget: {epsilon: 1}\n'
    )
    return instance(calendar, "of", pd.Timestamp("2026-01-01", tz="UTC"), "2026-01").prepared


def matrix(folder: Path, file: Path) -> Prepared:
    queries = [{"matrix": {"columns": ["region"], "file": str(file)}}]
    chosen = {"name": "linear-queries", "queries": queries}
    return prepare(example.write(folder, ROWS, mechanism=chosen, privacy=example.PURE))


def to_certify(folder: Path, file: Path) -> Prepared:
    return prepare(certificate(folder, ROWS)).certifying(file)


def certificate(folder: Path, rows: int) -> Path:
    sections = {"mechanism": {"name": "certify"}, "certificate": {"marginals": 1}, "output": {}}
    return example.write(folder, rows, privacy=example.PURE, constraints=[], **sections)


def rehearsed(folder: Path, file: Path) -> Prepared:
    declared = {"source": str(file), "kind": "public", "reference": "nowhere"}
    declared |= {"null_markers": ["NA"]}
    prepared = prepare(example.write(folder, ROWS, rehearsal=declared))
    rehearsal_table(prepared, folder)
    return prepared


ROUTES: dict[Way, Route] = {
    ("spec PublicData", "source"): public_data,
    ("calendar Scheduled", "spec"): by_calendar,
    ("spec MatrixQueries", "file"): matrix,
    ("spec RehearsalData", "source"): rehearsed,
    ("flow certify", "file"): to_certify,
    ("hallmark certify", "file"): to_certify,
}


def test_every_route_that_is_public_is_gone_with_the_private_table() -> None:
    assert {way for way, kind in listed().items() if kind == "public"} <= set(ROUTES)


def itself(table: Path) -> Path:
    return table


def link(table: Path) -> Path:
    table.with_name("link.csv").symlink_to(table)
    return table.with_name("link.csv")


@pytest.mark.parametrize("way", [itself, link])
@pytest.mark.parametrize("route", ROUTES.values(), ids=map(str, ROUTES))
def test_the_private_table_is_refused_on_it(
    route: Route, way: Callable[[Path], Path], tmp_path: Path, home: Path
) -> None:
    example.write(tmp_path, ROWS)
    with pytest.raises(SafeError, match="is the private table of"):
        route(tmp_path, way(tmp_path / "table.csv"))


@pytest.mark.parametrize("route", ROUTES.values(), ids=map(str, ROUTES))
def test_a_copy_of_a_table_that_is_known_is_refused_on_it(
    route: Route, tmp_path: Path, home: Path
) -> None:
    """Of another release, so that nothing private is read to know it."""
    other = prepare(example.write(tmp_path / "other", ROWS + 1, release="other"))
    like = likeness(other.codec, other.source)
    note(Workspace.of("other"), other.spec, other.folder, like)
    (tmp_path / "copy.csv").write_bytes((tmp_path / "other" / "table.csv").read_bytes())
    with pytest.raises(SafeError, match="is a copy of the private table of release other"):
        route(tmp_path / "here", tmp_path / "copy.csv")


@pytest.mark.parametrize("route", [public_data, to_certify])
def test_a_copy_of_its_own_is_refused_before_anything_is_asked_of_it(
    route: Route, tmp_path: Path, home: Path
) -> None:
    copy = tmp_path / "copy.parquet"
    example.table(ROWS).sample(frac=1, random_state=2).to_parquet(copy)
    prepared = route(tmp_path, copy)
    codes = prepared.codec.encode(example_text(tmp_path / "table.csv")).astype(np.int16)
    own = likeness_of_codes(prepared.codec, codes, prepared.source)
    with pytest.raises(CopyRefused, match="a copy of the private table"):
        refuse_copies(prepared.public.tables, own, "test-release")
    (tmp_path / "table.csv").write_text("\n".join(csv_lines(tmp_path)[:-1]))
    other = likeness_of_codes(prepared.codec, codes[:-1], prepared.source)
    refuse_copies(prepared.public.tables, other, "test-release")


def example_text(table: Path) -> pd.DataFrame:
    return pd.read_csv(table, dtype="string", na_values=["NA"], keep_default_na=False)


def csv_lines(folder: Path) -> list[str]:
    return (folder / "table.csv").read_text().splitlines()


# A table in place of a document: refused, and not quoted.

CANARY = "73193"

COMMANDS: dict[Way, list[str]] = {
    ("hallmark init", "dictionary"): ["init", "--dictionary", "TABLE"],
    ("hallmark validate", "spec"): ["validate", "TABLE"],
    ("hallmark plan", "spec"): ["plan", "TABLE"],
    ("hallmark release", "spec"): ["release", "TABLE"],
    ("hallmark rehearse", "spec"): ["rehearse", "TABLE"],
    ("hallmark certify", "spec"): ["certify", "TABLE", "SPEC"],
    ("hallmark certify", "file"): ["certify", "SPEC", "TABLE"],
    ("hallmark evaluate", "spec"): ["evaluate", "TABLE", "--synthetic", "TABLE"],
    ("hallmark verify", "folder"): ["verify", "FOLDER"],
    ("hallmark verify", "key"): ["verify", "FOLDER", "--key", "TABLE"],
    ("hallmark report", "folder"): ["report", "FOLDER"],
    ("hallmark deploy", "spec"): ["deploy", "--spec", "TABLE"],
    ("hallmark deploy", "calendar"): ["deploy", "--calendar", "TABLE"],
    ("hallmark calendar show", "calendar"): ["calendar", "show", "TABLE"],
    ("hallmark calendar run", "calendar"): ["calendar", "run", "TABLE", "of"],
}


@pytest.mark.parametrize("header", ["a,b,c", "", "a: b", "a\tb"], ids=repr)
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=" ".join)
def test_a_table_in_place_of_a_document_is_not_quoted(
    arguments: list[str], header: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr("hallmark.flows.quiet.configure", lambda **_: None)  # of this very process
    monkeypatch.setattr("hallmark.flows.quiet.start_orchestrator", lambda: None)
    delimiter = "\t" if "\t" in header else ","
    table, record = tmp_path / "table-of-others.csv", f"{CANARY}{delimiter}1"
    table.write_text("\n".join(filter(None, [header, record, record])) + "\n")
    spec = certificate(tmp_path, 5)
    said = {"TABLE": str(table), "FOLDER": str(tmp_path), "SPEC": str(spec)}
    done = CliRunner().invoke(app, [said.get(word, word) for word in arguments])
    assert done.exit_code != 0
    assert CANARY not in f"{done.output} {done.exception}"


def test_the_skeleton_of_a_spec_holds_no_value(tmp_path: Path) -> None:
    example.table(5).assign(age=CANARY).to_csv(tmp_path / "table.csv", index=False)
    done = CliRunner().invoke(app, ["init", str(tmp_path / "table.csv")])
    assert done.exit_code == 0, done.output
    assert CANARY not in done.output
