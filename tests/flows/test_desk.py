"""The review desk: what it shows, whom it lets in, and which decisions it takes."""

import html
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings
from ruamel.yaml import YAML
from starlette.testclient import TestClient

from hallmark.flows import engine
from hallmark.flows.desk import accounts, assets, desk
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost
from hallmark.mechanisms.privacy.ledger import steps
from hallmark.mechanisms.privacy.ledger.history import Step
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.privacy.presence import Presence
from hallmark.schemas.documents.decisions import Decision
from hallmark.schemas.visible import visible
from hallmark.tasks.gates.decision_keys import sign
from hallmark.tasks.gates.gate_history import History
from hallmark.tasks.gates.waiting import asked_now, waiting_of, waiting_releases
from hallmark.tasks.installation.operator import ordering
from hallmark.tasks.installation.signing import private_key
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.ledger import words
from hallmark.tasks.people.actions import actions
from hallmark.tasks.people.rights import Role
from hallmark.tasks.planning.looks import looks_at_table_of
from hallmark.tasks.planning.places import specs_folder
from tests import example
from tests.flows.conftest import PLAN_GATE, TITLE, Hallmark
from tests.flows.people import as_somebody, introduce, log_in
from tests.flows.runs import rehearsal_ends


@pytest.fixture
def client(home: Path) -> TestClient:
    """A program of somebody who reviews and steers."""
    return TestClient(desk, headers=as_somebody(Role.REVIEWER, Role.OPERATOR, Role.AUDITOR))


def decision(keys: dict[str, Path], name: str = "Ada", **changes: object) -> dict[str, object]:
    """What a browser sends after somebody has decided."""
    waits = waiting_of("test-release")
    content = {
        **asked_now(waits, History.in_ledger(Ledger(ledger_url()), "test-release")),
        "role": "methodologist",
        "person": name,
        "decision": "approve",
        "reason": "for the test",
        "decided": datetime.now(UTC).replace(microsecond=0),
    }
    said = Decision.model_validate(content | changes)
    return sign(said, private_key(keys[name], lambda: "")).model_dump(mode="json")


def test_nothing_waits_on_a_new_installation(client: TestClient, home: Path):
    assert "There is no release yet" in client.get("/").text
    assert client.get("/releases/unknown").status_code == 404


def test_a_waiting_plan_is_shown_with_what_is_decided_about(
    client: TestClient, keys: dict[str, Path]
):
    assert "A table made up for the tests" in client.get("/").text
    page = client.get("/releases/test-release").text
    for shown in ("pmm", "Expected records", "methodologist", *waiting_of("test-release").seen):
        assert shown in page
    assert client.get("/releases/test-release/files/plan.json").json()["mechanism"] == "pmm"


def test_a_title_is_text_in_the_desk_and_on_the_terminal(
    client: TestClient, keys: dict[str, Path], hallmark: Hallmark
):
    for page in (client.get("/").text, client.get("/releases/test-release").text):
        assert html.escape(visible(TITLE)).replace("&quot;", "&#34;") in page
        assert "<script>" not in page
    done = hallmark("waiting")
    assert done.code == 0
    assert visible(TITLE) in done.out
    assert "\x1b" not in done.out + hallmark("waiting", "--json").out


@pytest.mark.parametrize(
    "name", ["../waiting.json", "%2e%2e%2fwaiting.json", "lock", "waiting.json"]
)
def test_no_other_file_of_the_workspace_can_be_had(
    name: str, client: TestClient, keys: dict[str, Path]
):
    assert client.get(f"/releases/test-release/files/{name}").status_code == 404


def test_a_signed_decision_is_taken_and_opens_the_gate(client: TestClient, keys: dict[str, Path]):
    said = client.post("/decisions", json=decision(keys, reason="I read it all")).json()
    assert said == {
        "passed": True, "rejected": False, "missing": [], "not_recorded": 0, "run": None,
    }  # fmt: skip
    page = client.get("/releases/test-release").text
    assert "Nothing is missing" in page
    assert page.count("I read it all") == 1  # which once stood below as void, too
    assert "<h2>All decisions" not in page


def test_a_rehearsal_is_shown_to_those_who_decide(
    client: TestClient, keys: dict[str, Path], home: Path
):
    page, report = "/releases/test-release", "/releases/test-release/rehearsal/audit-report.html"
    assert "It was not rehearsed when the gate was opened." in client.get(page).text
    assert client.get(report).status_code == 404
    folder = rehearsal_ends(Path(waiting_of("test-release").spec), home)
    shown = client.get(page).text
    assert "It is no part of what you sign." in shown
    assert report in shown
    assert client.get(report).text == "the report of a rehearsal"
    (folder.parent / "secret").write_text("no file of it")
    for name in ("secret", "..%2fsecret", "..%2frehearsal.json"):
        assert client.get(f"/releases/test-release/rehearsal/{name}").status_code == 404
    assert client.post("/decisions", json=decision(keys)).json()["passed"]


def test_what_does_not_count_is_refused_with_the_reason(client: TestClient, keys: dict[str, Path]):
    answer = client.post("/decisions", json=decision(keys, "Bo"))
    assert answer.status_code == 409
    assert "do not have the role methodologist" in answer.json()["detail"]
    unseen = client.post("/decisions", json=decision(keys, reason="good\x1b[2J"))
    assert unseen.status_code == 409
    assert "the reason: line 1 contains the control character U+001B" in unseen.json()["detail"]
    forged = decision(keys) | {"signature": decision(keys, reason="another")["signature"]}
    assert "signature does not belong to" in client.post("/decisions", json=forged).json()["detail"]
    assert client.post("/decisions", json={"decision": {}}).status_code == 422


def test_a_decision_that_is_posted_again_is_refused(client: TestClient, keys: dict[str, Path]):
    rejection = decision(keys, decision="reject", reason="too coarse")
    assert client.post("/decisions", json=rejection).json()["rejected"]
    again = client.post("/decisions", json=rejection)
    assert (again.status_code, "it was made before" in again.json()["detail"]) == (409, True)
    page = client.get("/releases/test-release").text
    assert "hallmark reopen test-release" in page
    assert "too coarse" in page


def test_the_page_holds_what_a_decision_must_name(client: TestClient, keys: dict[str, Path]):
    asked = asked_now(
        waiting_of("test-release"), History.in_ledger(Ledger(ledger_url()), "test-release")
    )
    assert str(asked["previous"]) in client.get("/releases/test-release").text


def test_a_profile_that_is_refused_lets_nobody_decide(
    client: TestClient, keys: dict[str, Path], home: Path
):
    signed = decision(keys)
    profile = YAML().load(home / "profile.yaml")
    profile["approvers"][1]["key"] = profile["approvers"][0]["key"]
    YAML().dump(profile, home / "profile.yaml")
    answer = client.post("/decisions", json=signed)
    assert answer.status_code == 503
    assert "is also the key of Ada" in answer.json()["detail"]


def test_pages_run_no_foreign_script_and_are_not_cached(client: TestClient, home: Path):
    headers = client.get("/").headers
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"


def test_a_decision_stands_where_the_orchestrator_does_not_answer(
    client: TestClient, keys: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    answer = client.post("/decisions", json=decision(keys))
    assert (answer.status_code, answer.json()["passed"], answer.json()["run"]) == (200, True, None)


def test_an_orchestrator_that_does_not_answer_is_unavailable_and_the_page_says_so(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
):
    address = "http://127.0.0.1:9/api"
    monkeypatch.setenv("PREFECT_API_URL", address)
    with temporary_settings({PREFECT_API_URL: address}):
        answer = client.post("/releases/test-release/stop")
    said = answer.json()["detail"]
    assert (answer.status_code, "the orchestrator does not answer" in said) == (503, True)
    assert "to whom hallmark doctor says why" in said
    assert "127.0.0.1" not in said
    last = actions()[0]
    assert (last.action, last.details["why"]) == ("not-done", said)


def test_pages_are_not_compressed(client: TestClient, home: Path):
    page = client.get("/", headers={"Accept-Encoding": "gzip"})
    assert len(page.content) > 1000
    assert "Content-Encoding" not in page.headers


def test_styles_and_scripts_are_compressed_and_kept_for_as_long_as_they_are_the_same(
    client: TestClient, home: Path, tmp_path: Path
):
    for path in assets.FOLDER.iterdir():
        answer = client.get(f"{assets.ADDRESS}/{path.name}", headers={"Accept-Encoding": "gzip"})
        assert "immutable" in answer.headers["Cache-Control"]
        assert (answer.headers.get("Content-Encoding") == "gzip") == (path.stat().st_size > 500)
        assert answer.content == path.read_bytes()
    for elsewhere in ("/static/desk.css", "/static/0/desk.css", f"{assets.ADDRESS}/nowhere.css"):
        answer = client.get(elsewhere)
        assert answer.status_code == 404
        assert answer.headers["Cache-Control"] == "no-store"
    same = shutil.copytree(assets.FOLDER, tmp_path / "static")
    assert assets.address_of(same) == assets.ADDRESS
    (same / "desk.css").write_text("p {}")
    assert assets.address_of(same) != assets.ADDRESS


def test_words_of_others_are_never_markup(client: TestClient, keys: dict[str, Path]):
    client.post(
        "/decisions", json=decision(keys, decision="reject", reason="<script>alert(1)</script>")
    )
    page = client.get("/releases/test-release").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_nobody_hands_in_the_decision_of_somebody_else(
    client: TestClient, keys: dict[str, Path], home: Path
):
    profile = YAML().load(home / "profile.yaml")
    profile["approvers"][0]["login"] = "ada"
    YAML().dump(profile, home / "profile.yaml")
    answer = client.post("/decisions", json=decision(keys))
    assert answer.status_code == 409
    assert "Ada has the login ada, and you are logged in as tess" in answer.json()["detail"]
    own = TestClient(desk, headers=as_somebody(Role.STEWARD, login="ada"))
    assert own.post("/decisions", json=decision(keys)).json()["passed"]


def test_whoever_started_a_release_does_not_decide_about_it(
    client: TestClient, hallmark: Hallmark, home: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    monkeypatch.setenv("HALLMARK_OPERATOR", "tess")  # as an order of hers says
    keys = introduce(tmp_path / "keys", home)
    sections = example.only(tmp_path / "data", "age", "region")
    spec = example.write(tmp_path / "data", 400, approvals=PLAN_GATE, **sections)
    example.open_account()
    assert hallmark("release", spec, "--out", tmp_path / "out").code == 7
    answer = client.post("/decisions", json=decision(keys))
    assert answer.status_code == 409
    assert "tess started the release" in answer.json()["detail"]
    assert "Decide" in client.get("/releases/test-release").text


def test_what_differs_from_the_last_of_the_series_is_shown(
    client: TestClient, hallmark: Hallmark, home: Path, tmp_path: Path
):
    introduce(tmp_path / "keys", home)
    example.open_account()
    few = ("age", "region")
    first = example.write(
        tmp_path / "a", 400, release="series-2025", **example.only(tmp_path / "a", *few)
    )
    assert hallmark("release", first, "--out", tmp_path / "out").code == 0
    again = example.write(
        tmp_path / "b",
        400,
        release="series-2026",
        approvals=PLAN_GATE,
        **example.only(tmp_path / "b", *few),
    )
    assert hallmark("release", again, "--out", tmp_path / "out").code == 7
    page = client.get("/releases/series-2026").text
    assert "the spec of series-2025, last in the series" in page
    assert '<span class="removed">-release: series-2025</span>' in page
    assert '<span class="added">+release: series-2026</span>' in page
    assert "waiting" in client.get("/?state=waiting&find=2026").text
    assert "series-2025" not in client.get("/?state=waiting").text


def test_accounts_are_opened_and_capped_at_the_desk(home: Path):
    steward = TestClient(desk, headers=as_somebody(Role.STEWARD))
    terms = {"epsilon": "2", "delta": "1e-5", "neighbours": "replace_one", "reason": "the board"}
    assert steward.post("/accounts", data=terms | {"name": "people"}).status_code == 200
    for wrong in ({"epsilon": "-1"}, {"epsilon": "x"}, {"delta": "1"}, {"reason": " "}):
        assert steward.post("/accounts", data=terms | {"name": "more"} | wrong).status_code == 409
    assert steward.post("/accounts", data=terms | {"name": "No Name"}).status_code == 409
    other = terms | {"name": "people", "epsilon": "9"}
    assert steward.post("/accounts", data=other).status_code == 409
    assert steward.post("/accounts/people/cap", data=terms | {"epsilon": "3"}).status_code == 200
    less = steward.post("/accounts/people/cap", data=terms | {"epsilon": "3", "delta": "0"})
    assert less.status_code == 409
    state = Ledger(ledger_url()).account("people")
    assert (str(state.cap.epsilon), state.composition) == ("3", "zcdp")
    assert "100 % left" in steward.get("/accounts").text


def test_a_series_is_opened_planned_and_shown_by_periods(home: Path):
    steward = TestClient(desk, headers=as_somebody(Role.STEWARD))
    form = {"epsilon": "2", "delta": "1e-5", "neighbours": "replace_one", "reason": "the board"}
    terms = form | {"name": "people", "series": "month", "rotation": "2-1-1", "most": "2"}
    for wrong, says in (
        ({"rotation": "2-1"}, "is no rotation"),
        ({"delta": "0"}, "a series needs a delta above 0"),
        ({"series": ""}, "say how long the periods of the series are"),
    ):
        refused = steward.post("/accounts", data=terms | wrong)
        assert (refused.status_code, says in refused.text) == (409, True), refused.text
    assert steward.post("/accounts", data=terms).status_code == 200
    book = Ledger(ledger_url())
    opened = book.account("people")
    assert opened.presence == Presence(length="month", pattern=(0, 1, 3), most=2)
    said = steward.get("/accounts/people").text
    assert "any 2 of the months 1, 2, 4 of a rotation" in said
    assert "No period has a share yet" in said

    plan = {"first": "2026-01", "periods": "4", "decay": "1", "kept": "0.5", "reason": "the board"}
    for wrong, says in (
        ({"first": "2026"}, "2026 is a year"),
        ({"kept": "1"}, "from 0 up to below 1"),
        ({"decay": "nan"}, "decay must be above 0"),
    ):
        refused = steward.post("/accounts/people/plan", data=plan | wrong)
        assert (refused.status_code, says in refused.text) == (409, True), refused.text
    assert steward.post("/accounts/people/plan", data=plan).status_code == 200
    planned = book.account("people").planned
    assert set(planned) == {f"2026-0{n}" for n in range(1, 5)}
    assert actions(about="people")[0].action == "series-planned"
    relation = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    budget = Budget(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
    for release in ("of-2026-02", "of-2026-02-r1", "of-2026-02-r2"):
        book.reserve(
            "people", release, budget, adjacency=relation, binding="b", period="2026-02",
            cost=Cost(pure=None, rho=Fraction(1, 1000)),
        )  # fmt: skip
    book.cancel("of-2026-02-r1", by="ada", reason="tests")
    page = steward.get("/accounts/people").text
    months = re.findall(r'data-name="Period" class="when">(\S+?)<', page)
    assert months == ["2026-01", "2026-02", "2026-03", "2026-04"]
    (of_february,) = re.findall(r'"Period" class="when">2026-02<.*?</tr>', page, re.DOTALL)
    state = book.account("people")
    left = book.left_for("people", "2026-02")
    for rho in (planned["2026-02"], Fraction(2, 1000), left):
        assert f">{words.share(state, rho)}<" in of_february
    assert re.findall(r"of-2026-02\S*?(?=<)", of_february) == ["of-2026-02", "of-2026-02-r2"]
    cap = form | {"epsilon": "3"}
    assert steward.post("/accounts/people/cap", data=cap).status_code == 200
    assert book.account("people").cap.epsilon == 3
    assert steward.post("/accounts/people/cap", data=cap | {"delta": "0"}).status_code == 409


def test_periods_of_a_series_are_shown_page_by_page(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(accounts, "_MOST", 4)
    steward = TestClient(desk, headers=as_somebody(Role.STEWARD))
    terms = {"epsilon": "2", "delta": "1e-5", "neighbours": "replace_one", "reason": "the board"}
    steward.post("/accounts", data=terms | {"name": "people", "series": "year", "most": "1"})
    plan = {"first": "2021", "periods": "9", "reason": "the board"}
    assert steward.post("/accounts/people/plan", data=plan).status_code == 200

    def shown(query: str = "") -> tuple[str, str, list[str]]:
        text = steward.get(f"/accounts/people{query}").text
        years = re.findall(r'data-name="Period" class="when">(\d+)<', text)
        return years[0], years[-1], re.findall(r"\?start=\d+", text)

    assert shown() == ("2021", "2024", ["?start=4"])
    assert shown("?start=4") == ("2025", "2028", ["?start=0", "?start=8"])
    assert shown("?start=8") == ("2029", "2029", ["?start=4"])
    assert shown("?start=99") == shown("?start=8")
    assert shown("?start=-9") == shown()
    budget = Budget(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
    Ledger(ledger_url()).reserve(
        "people", "of-2027", budget, binding="b", period="2027",
        adjacency=Adjacency(neighbours=Neighbours.REPLACE_ONE),
        cost=Cost(pure=None, rho=Fraction(1, 1000)),
    )  # fmt: skip
    assert shown()[:2] == ("2025", "2028")


def test_uploads_stay_where_they_belong(home: Path):
    steward = TestClient(desk, headers=as_somebody(Role.STEWARD))
    for name in ("../evil.csv", "a/b.csv", ".hidden.csv", "table.exe", "a b.csv", "\u202egpj.csv"):
        answer = steward.post("/tables", files={"table": (name, b"a,b\n1,2\n")})
        kept = [file.name for file in (home / "tables").rglob("*") if file.is_file()]
        assert answer.status_code == 409 or kept in (["evil.csv"], ["b.csv"]), name
        for file in (home / "tables").glob("*.csv"):
            file.unlink()
    assert steward.post("/tables", files={"table": ("t.csv", b"a,b\n1,2\n")}).status_code == 200
    (file,) = (home / "tables").glob("*.csv")
    assert file.stat().st_mode & 0o077 == 0
    again = steward.post("/tables", files={"table": ("t.csv", b"other")})
    assert (again.status_code, file.read_bytes()) == (409, b"a,b\n1,2\n")
    assert steward.get("/specs/..%2fpeople").status_code == 404
    beyond = {"text": "data: {source: /etc/passwd}"}
    (problem,) = steward.post("/specs/check", json=beyond).json()["problems"]
    assert (problem["key"], problem["line"]) == ("data.source", None)
    assert steward.post("/specs/plan", json=beyond).status_code == 409


def test_a_release_that_was_given_up_waits_no_longer(client: TestClient, keys: dict[str, Path]):
    signed = decision(keys)
    given_up = client.post("/releases/test-release/withdraw", data={"reason": "no longer wanted"})
    assert given_up.status_code == 200
    assert "withdrawn" in given_up.text
    assert waiting_releases() == []  # so the sweep starts nothing
    assert client.post("/decisions", json=signed).status_code == 404
    assert (
        client.post("/releases/test-release/withdraw", data={"reason": "again"}).status_code == 409
    )


def test_a_release_is_ordered_until_its_run_begins(
    client: TestClient, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    started: list[dict[str, object]] = []
    monkeypatch.setattr(engine, "start", lambda _, given, **__: started.append(given))
    monkeypatch.setattr(engine, "stop", lambda _: 1)
    monkeypatch.setenv("HALLMARK_DATA", str(tmp_path))
    spec = example.write(tmp_path, 5, release="mine", **example.only(tmp_path, "age", "region"))
    (specs_folder() / "mine.yaml").write_bytes(spec.read_bytes())

    def shown() -> str:
        return html.unescape(client.get("/releases/mine").text)

    assert client.post("/releases/mine/start", data={"at": "2090-01-01T08:00"}).status_code == 200
    assert "by tess, to begin 2090-01-01 08:00 UTC" in shown()
    assert client.post("/releases/mine/stop").status_code == 200
    assert '<span class="state draft">' in shown()
    assert client.post("/releases/mine/start").status_code == 200
    assert '<span class="state ordered">' in shown()
    assert "by tess; if its run does not begin, order it again" in shown()
    assert len(started) == 2

    (specs_folder() / "mine.yaml").write_text(spec.read_text().replace("epsilon: '1'", ""))
    refused = client.post("/releases/mine/start")
    assert refused.status_code == 409
    assert "privacy.epsilon" in refused.text
    assert len(started) == 2


def test_a_release_links_its_spec_for_those_who_write_specs(home: Path):
    (specs_folder() / "mine.yaml").write_text("release: mine\n")
    writers = {
        role
        for role in Role
        if "/specs/mine"
        in TestClient(desk, headers=as_somebody(role, login=str(role))).get("/releases/mine").text
    }
    assert writers == {Role.STEWARD, Role.OPERATOR}


def test_what_runs_or_was_ordered_can_be_stopped_and_nothing_else(
    client: TestClient, home: Path, monkeypatch: pytest.MonkeyPatch
):
    (specs_folder() / "mine.yaml").write_text("release: mine\n")
    rehearsal = engine.EngineRun(
        "1", "calm-owl", "rehearsal", "Running", None, None, under_way=True
    )

    def can_be_stopped() -> bool:
        return "Stop its runs" in client.get("/releases/mine").text

    assert not can_be_stopped()
    for runs in ([rehearsal], [replace(rehearsal, under_way=False)]):
        monkeypatch.setattr(engine, "runs_of", lambda _, found=runs: found)
        assert can_be_stopped() == runs[0].under_way
    with ordering("mine", "tess"):
        pass
    assert can_be_stopped()


def test_an_account_says_what_its_figures_are_of(home: Path):
    example.open_account()
    relation = Adjacency(neighbours=Neighbours.REPLACE_ONE)
    budget = Budget(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
    cost = Cost(pure=None, rho=Fraction(1, 100))
    book = Ledger(ledger_url())
    book.open_account(
        "zcdp", cap=Budget(epsilon=Fraction(2), delta=Fraction(1, 10**5)), composition="zcdp",
        adjacency=relation, by="ada", reason="tests",
    )  # fmt: skip
    book.reserve("zcdp", "r", budget, adjacency=relation, binding="b", cost=cost)
    steward = TestClient(desk, headers=as_somebody(Role.STEWARD))
    page, everything = steward.get("/accounts/zcdp").text, steward.get("/accounts").text
    assert '<th scope="row">Spent</th><td>ε 0, δ 0</td>' in page
    assert re.search(r"Both together</th><td>ε 0\.\d+ by zCDP</td>", page)
    assert re.search(r"Reserved.>ε 0\.5, δ 1e-06<br>.*both together ε 0\.\d+ by zCDP", everything)
    assert re.findall(r'data-name="By">([^<]*)<', page) == ["its run", "ada"]
    assert "Both together" not in steward.get("/accounts/test-people").text


def test_the_desk_starts_no_run_on_a_table_that_was_looked_at_too_often(
    client: TestClient, hallmark: Hallmark, home: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    started: list[object] = []
    monkeypatch.setattr(engine, "start", lambda *_, **__: started.append(1))
    monkeypatch.setenv("HALLMARK_DATA", str(tmp_path))
    (home / "profile.yaml").write_text("uncharged_looks: 1\n")
    example.open_account()
    few = example.only(tmp_path, "age", "region")
    for name in ("mine", "other"):
        spec = example.write(tmp_path, 400, release=name, **few)
        (specs_folder() / f"{name}.yaml").write_bytes(spec.read_bytes())
    valid = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(valid.replace(",01,", ",99,", 1))
    mine = ("release", specs_folder() / "mine.yaml", "--out", tmp_path / "out")
    assert hallmark(*mine).code == 3

    visitors = {role: TestClient(desk, headers=as_somebody(role, login=str(role))) for role in Role}
    shown = {
        role
        for role, visitor in visitors.items()
        if "1 run, of any release, read this table" in visitor.get("/releases/mine").text
    }
    assert shown == set(Role) - {Role.VIEWER, Role.MONITOR, Role.GOVERNOR}
    for name in ("mine", "other"):  # another spec of another release begins no new count
        refused = client.post(f"/releases/{name}/start")
        assert (refused.status_code, started) == (409, [])
        assert "An administrator can allow more at the desk, on the page of mine" in refused.text
        assert "it depends on the private table" in actions(about=name)[0].details["why"]
    as_somebody(Role.ADMINISTRATOR, Role.STEWARD, login="both")
    for login, reason, status in (
        ("operator", "again", 403), ("both", "again", 409), ("administrator", " ", 409),
        ("administrator", "again", 200),
    ):  # fmt: skip
        browser = TestClient(desk)
        form = {"csrf": log_in(browser, login), "reason": reason}
        assert browser.post("/releases/mine/looks", data=form).status_code == status, login
    assert actions(about="mine")[0].action == "looks-allowed"
    assert client.post("/releases/other/start").status_code == 200
    assert started == [1]

    (tmp_path / "table.csv").write_text(valid)
    assert hallmark(*mine, "--resume").code == 0  # it drew, and what it looked at is charged
    assert len(looks_at_table_of("mine").uncharged) == 1


def test_entries_of_an_account_are_shown_page_by_page(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(accounts, "_MOST", 2)
    steward = TestClient(desk, headers=as_somebody(Role.STEWARD))
    terms = {"delta": "1e-5", "neighbours": "replace_one", "name": "paged"}
    steward.post("/accounts", data=terms | {"epsilon": "1", "reason": "meeting 1"})
    for number in range(2, 6):
        cap = {"epsilon": str(number), "delta": "1e-5", "reason": f"meeting {number}"}
        assert steward.post("/accounts/paged/cap", data=cap).status_code == 200

    def meetings(query: str) -> tuple[list[str], list[str]]:
        text = steward.get(f"/accounts/paged{query}").text
        return re.findall(r"meeting \d", text), re.findall(r"\?before=\d+", text)

    assert meetings("") == (["meeting 5", "meeting 4"], ["?before=4"])
    assert meetings("?before=4") == (["meeting 3", "meeting 2"], ["?before=2"])
    assert meetings("?before=2") == (["meeting 1"], [])
    assert meetings("?before=-7") == ([], [])


def test_accounts_are_folded_before_anybody_comes(home: Path, monkeypatch: pytest.MonkeyPatch):
    example.open_account()
    headers = as_somebody(Role.AUDITOR)

    def fold(*_: object) -> list[Step]:
        raise AssertionError("an entry was folded for whoever came first")

    with TestClient(desk, headers=headers) as client:
        monkeypatch.setattr(steps, "_told", fold)
        assert client.get("/accounts/test-people").status_code == 200


def test_a_desk_whose_accounts_cannot_be_read_starts_and_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    headers = as_somebody(Role.AUDITOR)
    home.joinpath("ledger.db").write_bytes(b"no database")
    with TestClient(desk, headers=headers) as client:
        answer = client.get("/accounts")
    assert answer.status_code == 503
    assert "ledger" in answer.text


def test_a_release_that_the_desk_only_ordered_is_there_until_it_is_stopped(
    client: TestClient, home: Path, monkeypatch: pytest.MonkeyPatch
):
    """As one of a calendar is, which has no spec at the desk."""
    monkeypatch.setattr(engine, "stop", lambda _: 1)
    with ordering("monthly-2026-11", "ada"):
        pass
    assert '<span class="state ordered">' in client.get("/releases/monthly-2026-11").text
    assert "monthly-2026-11" in client.get("/?state=ordered").text
    left = client.post("/releases/monthly-2026-11/stop", follow_redirects=False)
    assert (left.status_code, left.headers["Location"]) == (303, "/")  # it has no page any more
    assert "monthly-2026-11" not in client.get("/").text


@pytest.mark.parametrize("name", ["%00", "a%00b", "..", "%2e%2e"])
def test_what_is_no_name_of_a_release_is_no_page(client: TestClient, home: Path, name: str):
    assert client.get(f"/releases/{name}").status_code in (200, 404)
