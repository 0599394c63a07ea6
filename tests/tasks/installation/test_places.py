"""Places: what a run publishes lasts, and what it reads is what was named."""

from pathlib import Path
from typing import Any

import pytest
from prefect import Flow

from hallmark.flows.audit import audit
from hallmark.flows.certify import certify
from hallmark.flows.form import release_form
from hallmark.flows.rehearsal import rehearsal
from hallmark.flows.release import release
from hallmark.flows.scheduled import calendar_release
from hallmark.schemas.loading import load_spec
from hallmark.schemas.spec_form import form_of
from hallmark.tasks.installation.places import PathRefused, given, out_folder, release_folder
from tests import example
from tests.flows.test_certify import vendor
from tests.flows.test_certify import write as certificate_spec


@pytest.fixture
def on_a_server(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A run that a deployment started, as a worker starts one: in a folder that is deleted."""
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", "0c4e6a4c-8e57-4b3a-9a5e-2d7b6f4a1c11")
    monkeypatch.delenv("HALLMARK_RELEASES", raising=False)
    passing = home / "tmp" / "tmpabcprefect"
    passing.mkdir(parents=True)
    monkeypatch.chdir(passing)
    return passing


@pytest.mark.parametrize("out", [None, "", "releases", "./there/it/is"])
def test_on_a_server_without_a_home_for_releases_only_an_absolute_folder_is_taken(
    out: str | None, on_a_server: Path, tmp_path: Path
) -> None:
    with pytest.raises(PathRefused, match="deleted afterwards; give an absolute path, or set"):
        out_folder(out)
    assert out_folder(str(tmp_path / "out")) == tmp_path / "out"


@pytest.mark.parametrize(
    ("out", "found"), [(None, "."), ("", "."), ("2026", "2026"), ("/srv/other", "/srv/other")]
)
def test_a_relative_folder_starts_in_the_home_for_releases(
    out: str | None, found: str, on_a_server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLMARK_RELEASES", str(tmp_path))
    assert out_folder(out) == tmp_path / found
    assert release_folder(found) == tmp_path / found


def test_a_home_for_releases_that_is_relative_is_refused(
    on_a_server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLMARK_RELEASES", "releases")
    with pytest.raises(PathRefused, match="HALLMARK_RELEASES is 'releases'; give an absolute"):
        out_folder(None)


@pytest.mark.parametrize("deeper", [".", "releases"])
def test_nothing_is_published_among_what_is_deleted(deeper: str, on_a_server: Path) -> None:
    with pytest.raises(PathRefused, match="whose content is deleted"):
        out_folder(str(on_a_server / deeper))


def test_without_a_server_paths_start_where_the_process_runs(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert out_folder(None) == tmp_path / "releases"
    assert out_folder(None, otherwise="certificates") == tmp_path / "certificates"
    assert out_folder("there") == tmp_path / "there"
    assert given("spec", "spec.yaml") == Path("spec.yaml")


def test_what_a_run_on_a_server_reads_is_named_by_an_absolute_path(on_a_server: Path) -> None:
    with pytest.raises(PathRefused, match=r"spec: 'spec\.yaml' is a relative path"):
        given("spec", "spec.yaml")
    with pytest.raises(PathRefused, match="folder: 'releases/x' is a relative path"):
        release_folder("releases/x")
    assert given("spec", "/srv/spec.yaml") == Path("/srv/spec.yaml")


def test_every_path_that_a_flow_is_given_is_asked_where_it_leads(
    on_a_server: Path, tmp_path: Path
) -> None:
    spec = str(example.write(tmp_path / "data", rows=10))
    calendar, there = _calendar(tmp_path / "monthly"), str(tmp_path)
    certificate = str(certificate_spec(tmp_path / "certificate"))
    paths: dict[Flow[..., Any], dict[str, str]] = {
        release: {"spec": spec, "out": there, "folder": there},
        release_form: {"spec": spec, "out": there},
        calendar_release: {"calendar": calendar, "out": there},
        certify: {
            "spec": certificate,
            "file": str(vendor(tmp_path)),
            "out": there,
            "folder": there,
        },
        rehearsal: {"spec": spec, "folder": there},
        audit: {"folder": there, "key": there, "file": there},
    }
    others: dict[Flow[..., Any], dict[str, Any]] = {
        release_form: {"form": form_of(load_spec(Path(spec)))},
        calendar_release: {"entry": "monthly", "period": None, "revision": None},
    }
    for flow, named in paths.items():
        more = others.get(flow, {})
        assert set(flow.parameters.properties) - {"resume", "order"} == {*named, *more}, flow.name
        for one in named:
            with pytest.raises(PathRefused, match=f"^{one}: "):
                flow.fn(**named | more | {one: "relative/path"})


def _calendar(folder: Path) -> str:
    example.write(folder, release="monthly-{period}", rows=10)
    (folder / "calendar.yaml").write_text(
        "hallmark_calendar: 1\nreleases:\n  monthly:\n    spec: spec.yaml\n    period: month\n"
        '    cron: "0 2 1 * *"\n    budget: {epsilon: 1, delta: 1e-5}\n'
    )
    return str(folder / "calendar.yaml")
