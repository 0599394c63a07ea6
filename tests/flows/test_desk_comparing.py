"""Two published releases compared at the desk, as the command does."""

import html
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from hallmark.flows.cli.app import app
from hallmark.flows.desk import desk
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.schemas.documents.manifest import MEASUREMENTS_FILE
from hallmark.tasks.notices import withdraw_published
from hallmark.tasks.people.rights import Role
from tests import example
from tests.flows.people import as_somebody


@pytest.fixture(scope="module")
def out(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the releases about two years, of which one was revised."""
    from hallmark.flows.release import release

    folder = tmp_path_factory.mktemp("comparing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALLMARK_HOME", str(folder / "home"))
        example.open_account(cap=Budget(epsilon=Fraction(10), delta=Fraction(1, 10**3)))
        for name in ("2024", "2024-r1", "2026"):
            about = {"release": f"homes-{name}", "series": {"period": name[:4]}}
            spec = example.write(folder / name, 400, title=f"Homes <of> {name}", **about)
            release(str(spec), str(folder / "out"))
        yield folder / "out"


def page(client: TestClient, **asked: str) -> tuple[int, str]:
    answer = client.get("/compare", params=asked)
    return answer.status_code, answer.text


def said(text: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub("<[^>]*>", "", text)))


def test_the_desk_says_what_the_command_says(out: Path) -> None:
    viewer = TestClient(desk, headers=as_somebody(Role.VIEWER) | {"Accept": "text/html"})
    status, empty = page(viewer)
    assert status == 200
    assert "homes-2024: Homes <of> 2024" in html.unescape(empty)
    assert "What changed beyond noise" not in empty
    _, proposed = page(viewer, after="homes-2026")
    assert '<option value="homes-2024-r1" selected>' in proposed
    _, first = page(viewer, after="homes-2024")
    assert first.count(" selected>") == 1
    folders = [str(out / f"homes-{year}") for year in ("2024-r1", "2026")]
    chosen = {"before": "homes-2024-r1", "after": "homes-2026"}
    for question in ("share of employed = true by region", "count by region", "mean of income"):
        status, found = page(viewer, **chosen, question=question)
        assert status == 200
        told = CliRunner().invoke(app, ["compare", *folders, question, "--json"])
        changes = json.loads(told.stdout)
        assert changes["changes"]
        for one in changes["changes"]:
            assert one["in_words"] in said(found)
        assert "tables are samples" in said(found)
    together = page(viewer, **chosen, question="count by region", together="true")[1]
    assert "95 % interval, all at once" in said(together)
    status, found = page(viewer, **chosen)
    told = CliRunner().invoke(app, ["compare", *folders, "--json"])
    tables = json.loads(told.stdout)["tables"]
    assert len(tables) == 5
    for one in tables:
        assert f"± {100 * one['hidden']:.2g}± {100 * one['seen_from']:.2g}" in said(found)
    assert "is not “no change”" in said(found)
    assert "superseded by" not in said(found)
    _, revised = page(viewer, before="homes-2024", after="homes-2026")
    assert "homes-2024 was superseded by homes-2024-r1 on" in said(revised)
    assert '<a href="/compare?after=homes-2026">' in viewer.get("/releases/homes-2026").text


def test_what_cannot_be_compared_is_said_on_the_page(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = TestClient(desk, headers=as_somebody(Role.VIEWER) | {"Accept": "text/html"})
    chosen = {"before": "homes-2024", "after": "homes-2026"}
    for asked, why in (
        ({**chosen, "question": "cuont"}, "is not a statistic"),
        ({**chosen, "question": "mean of nothing"}, "there is no column nothing"),
        ({**chosen, "after": "homes-2024"}, "both folders are release homes-2024"),
        ({**chosen, "before": "../home"}, "../home is no published release"),
    ):
        status, text = page(viewer, **asked)
        assert status == 409
        assert why in said(text)
        assert str(out) not in text
    assert viewer.get("/compare", params={**chosen, "question": "c" * 501}).status_code == 422
    withdraw_published(out / "homes-2026", reason="half of it was of another year")
    status, text = page(viewer, **chosen)
    assert status == 409
    assert "homes-2026 must not be used: it was withdrawn on" in said(text)
    assert str(out) not in text
    file = out / "homes-2024" / MEASUREMENTS_FILE
    as_it_was = file.read_bytes()
    file.write_bytes(as_it_was + b"more")
    status, text = page(viewer, **chosen)
    file.write_bytes(as_it_was)
    assert status == 409
    assert "homes-2024 is not as it was signed" in said(text)
    assert str(out) not in text
    monkeypatch.setattr("hallmark.tasks.compared_apart.asked_apart", lambda *_: None)
    assert "too much memory or time" in page(viewer, **chosen)[1]
