"""Who gets in and who may do what: all routes of the desk for every role, and attacks on log-in."""

import json
import time
from pathlib import Path

import pyotp
import pytest
from argon2 import PasswordHasher
from fastapi.routing import APIRoute
from httpx import Response
from starlette.testclient import TestClient

from hallmark.flows.desk import (
    accounts,
    agency,
    answers,
    asking,
    calendar,
    comparing,
    desk,
    documentation,
    entrance,
    keys,
    log_in,
    people,
    provider,
    questions,
    releases,
    runs,
    specs,
    tables,
)
from hallmark.flows.desk.attempts import BY_ADDRESS, OVER_ALL, Attempts
from hallmark.flows.desk.routes import BY_NO_PROGRAM, NEEDED
from hallmark.tasks.installation.errors import PrivateFact, SafeError
from hallmark.tasks.installation.guesses import FREE
from hallmark.tasks.people import directory, sessions
from hallmark.tasks.people.actions import Actor, actions, check, doing, exported
from hallmark.tasks.people.database import reading, writing
from hallmark.tasks.people.rights import Right, Role, rights_of
from tests.flows.people import PASSWORD, TEST, as_somebody, join
from tests.flows.people import log_in as session_of

NAMES = {
    "release": "none", "name": "none", "account": "none", "entry": "none", "login": "nobody",
    "number": "0", "secret": "0", "kind": "private",
}  # fmt: skip
HERE = "http://testserver"


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed at the least cost, which is not what is tested here."""
    monkeypatch.setattr(
        directory, "_hasher", lambda: PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    )


@pytest.fixture
def browser(home: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A browser that nobody has logged in with; between guesses no time passes."""
    monkeypatch.setattr(log_in, "attempts", Attempts(lambda: 0.0))
    return TestClient(desk, headers={"Accept": "text/html"}, follow_redirects=False)


def entered(browser: TestClient, login: str, seed: str, **changes: str) -> int:
    """Fill in the log-in form; returns the status."""
    form = {"login": login, "password": PASSWORD, "code": pyotp.TOTP(seed).now()} | changes
    return browser.post("/log-in", data=form, headers={"Origin": HERE}).status_code


def fresh(seed: str, login: str) -> str:
    """A code that was not used yet: accepting the invitation used that of this step."""
    with writing() as connection:
        connection.execute("UPDATE people SET last_step = 0 WHERE login = ?", (login,))
    return pyotp.TOTP(seed).now()


def test_the_table_of_rights_names_every_route_and_no_other():
    rooms = (
        accounts,
        agency,
        answers,
        asking,
        calendar,
        comparing,
        documentation,
        keys,
        log_in,
        people,
        provider,
        questions,
        releases,
        runs,
        specs,
        tables,
    )
    routes = [desk.routes, *(room.router.routes for room in rooms)]
    found = {
        (method, route.path)
        for several in routes
        for route in several
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    assert found == set(NEEDED)


PAGE = (Path(__file__).parents[2] / "docs" / "desk.md").read_text("utf-8")
WORDS = {
    Right.SEE: "see", Right.REVIEW: "review", Right.DECIDE: "hand in decisions",
    Right.PREPARE: "write specs", Right.RUN: "start, stop", Right.BUDGET: "open accounts",
    Right.AUDIT: "read and export the log", Right.MANAGE: "manage people",
    Right.ACCOUNTS: "balances", Right.GOVERN: "govern",
    Right.SCHEDULE: "propose what recurs", Right.WITHDRAW: "withdraw published",
}  # fmt: skip


def rows(header: str) -> list[list[str]]:
    """The cells of the table with this header, on the page about the desk."""
    table = PAGE.partition(header)[2].partition("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.split("\n")[2:]]


def test_roles_have_the_rights_that_the_page_about_the_desk_gives_them():
    told = {name: {r for r, word in WORDS.items() if word in may} for name, may in rows("| role |")}
    assert told == {str(role): rights_of([role]) for role in Role}


def test_pages_are_for_whom_the_page_about_the_desk_says():
    everybody = set(Role)
    for name, _, readers in rows("| page |"):
        told = {role for role in Role if f"{role}s" in readers}
        if readers == "everybody" or readers.startswith("all but "):
            told = everybody - told
        path = "/" if name == "Releases" else f"/{name.lower()}"
        below = [n for (m, p), n in NEEDED.items() if m == "GET" and p.startswith(f"{path}/")]
        assert {role for role in Role if NEEDED["GET", path] in rights_of([role])} == told, name
        for needed in below if path != "/" else ():
            assert {role for role in Role if needed in rights_of([role])} <= told, name


@pytest.mark.parametrize("role", Role)
def test_every_role_gets_what_it_has_a_right_to_and_nothing_else(role: Role, home: Path):
    browser = TestClient(desk, follow_redirects=False)
    directory.add("ada", "Ada A", [role], by=TEST)
    browser.headers["X-CSRF"] = session_of(browser, "ada")
    program = TestClient(desk, headers=as_somebody(role), follow_redirects=False)
    for (method, path), needed in sorted(NEEDED.items(), key=lambda one: one[0][1] == "/log-out"):
        for sender in (browser, program):
            answer = sender.request(method, path.format(**NAMES))
            assert answer.status_code != 401
            assert answer.status_code < 500 or answer.status_code == 503, (path, answer.text)
            lacks = isinstance(needed, Right) and needed not in rights_of([role])
            in_person = sender is program and needed in BY_NO_PROGRAM
            assert ("this needs the right" in answer.text) == (lacks and not in_person), path
            assert ("no program does this" in answer.text) == in_person, path
            refused = answer.status_code == 403
            assert needed == "open" or refused == (lacks or in_person), (role, method, path)


def test_no_program_makes_credentials_or_lets_people_in(home: Path):
    """What a stolen token of an administrator is good for ends with it."""
    told = {path for (_, path), needed in NEEDED.items() if needed in BY_NO_PROGRAM}
    assert told >= {
        "/me/tokens", "/me/tokens/{number}/withdraw", "/people", "/people/{login}/roles",
        "/people/{login}/invite", "/people/{login}/leave", "/people/tokens/{number}/withdraw",
    }  # fmt: skip
    stolen = TestClient(desk, headers=as_somebody(*Role, login="root"))
    kept = [one.id for one in sessions.tokens()]
    assert stolen.get("/me").status_code == 200
    for path, form in (
        ("/me/tokens", {"name": "mine", "days": "365", "roles": "administrator"}),
        ("/people", {"login": "eve", "name": "Eve E", "roles": "administrator"}),
        ("/people/root/invite", {}),
        ("/people/root/roles", {"roles": ["viewer", "administrator"]}),
        (f"/me/tokens/{kept[0]}/withdraw", {}),
    ):
        answer = stolen.post(path, data=form)
        assert answer.status_code == 403
        assert "no program does this with an access token" in answer.text
    assert [one.id for one in sessions.tokens()] == kept
    assert [one.login for one in directory.people()] == ["root"]


@pytest.mark.parametrize("ends", ["leaves", "loses the role"])
def test_links_end_with_the_right_of_who_made_them(ends: str, home: Path):
    join("root", Role.ADMINISTRATOR)
    join("eve", Role.ADMINISTRATOR, Role.VIEWER)
    join("ada", Role.VIEWER)
    eve = Actor("eve", "session")
    kept, other = directory.invite("ada", by=eve), directory.invite("root", by=TEST)
    directory.set_roles("eve", [Role.ADMINISTRATOR], by=TEST)
    assert directory.invitation(kept) is not None
    if ends == "leaves":
        directory.leave("eve", by=TEST)
    else:
        directory.set_roles("eve", [Role.VIEWER], by=TEST)
    assert directory.invitation(kept) is None
    assert directory.invitation(other) is not None


def test_a_token_gets_no_role_back_that_its_owner_lost(home: Path):
    join("ada", Role.STEWARD, Role.AUDITOR, Role.VIEWER)
    ada = directory.person("ada")
    assert ada is not None
    both = sessions.make_token(ada, "both", [Role.AUDITOR, Role.VIEWER], 1, by=TEST)
    one = sessions.make_token(ada, "one", [Role.AUDITOR], 1, by=TEST)
    directory.set_roles("ada", [Role.VIEWER, Role.STEWARD], by=TEST)
    directory.set_roles("ada", [Role.VIEWER, Role.STEWARD, Role.AUDITOR], by=TEST)
    assert sessions.bearer(one) is None
    acts = sessions.bearer(both)
    assert acts is not None
    assert acts[0].roles == (Role.VIEWER,)


def test_nobody_gets_anything_but_the_way_in(home: Path):
    stranger = TestClient(desk, follow_redirects=False)
    for (method, path), needed in NEEDED.items():
        answer = stranger.request(method, path.format(**NAMES), headers={"Origin": HERE})
        assert (answer.status_code == 401) == (needed != "open"), (method, path)
    for wrong in ("Bearer hallmark_0", "Basic b3BlcmF0b3I6c2VjcmV0", "Bearer", "bearer  "):
        assert stranger.get("/", headers={"Authorization": wrong}).status_code == 401
    assert stranger.get("/", headers={"Cookie": "hallmark-desk=guess"}).status_code == 401
    assert stranger.get("/nowhere").status_code == 401
    assert stranger.get("/static/../app.py").status_code in (401, 404)
    assert stranger.get("/static/%2e%2e/app.py").status_code in (401, 404)


def test_somebody_is_invited_sets_up_codes_and_logs_in(browser: TestClient):
    directory.add("ada", "Ada Lovelace", [Role.VIEWER], by=TEST)
    secret = directory.invite("ada", by=TEST)
    page = browser.get(f"/invitation/{secret}")
    assert "Ada Lovelace" in page.text
    seed = directory.invitation(secret).seed  # type: ignore[union-attr]
    assert seed in page.text
    here = {"Origin": HERE}
    form = {"password": PASSWORD, "again": PASSWORD, "code": pyotp.TOTP(seed).now()}
    for wrong in (
        {"code": "000000"}, {"again": "another password"}, {"password": "short", "again": "short"},
        {"password": "adalovelace1234", "again": "adalovelace1234"},
    ):  # fmt: skip
        refused = browser.post(f"/invitation/{secret}", data=form | wrong, headers=here)
        assert refused.status_code == 409, wrong
    accepted = browser.post(f"/invitation/{secret}", data=form, headers=here)
    assert (accepted.status_code, accepted.headers["Location"]) == (303, "/")
    assert browser.get("/").status_code == 200
    assert browser.get(f"/invitation/{secret}").status_code == 404  # it works once
    assert browser.post(f"/invitation/{secret}", data=form, headers=here).status_code == 404


def test_a_log_in_makes_a_new_session_and_ends_with_a_log_out(browser: TestClient):
    seed = join("ada", Role.VIEWER)
    browser.cookies.set("hallmark-desk", "planted")
    assert entered(browser, "ada", seed, code=fresh(seed, "ada")) == 303
    own = [c.value for c in browser.cookies.jar if c.name == "hallmark-desk"]
    assert "planted" not in own[-1:]
    assert sessions.session("planted") is None
    (secret,) = [value for value in own if value and sessions.session(value)]
    running = sessions.session(secret)
    assert running is not None
    browser.cookies.delete("hallmark-desk")
    browser.cookies.set("hallmark-desk", secret)
    out = {"csrf": running.csrf}
    assert browser.post("/log-out", data=out, headers={"Origin": HERE}).status_code == 303
    assert sessions.session(secret) is None
    ada = directory.person("ada")
    assert ada is not None
    assert len({secret, *(sessions.begin(ada, TEST) for _ in range(2))}) == 3


@pytest.mark.parametrize(
    "wrong", [{"login": "nobody"}, {"password": "wrong"}, {"code": "000000"}, {"code": ""}]
)
def test_what_is_wrong_is_not_told(wrong: dict[str, str], browser: TestClient):
    seed = join("ada", Role.VIEWER)
    right = {"code": fresh(seed, "ada")} | wrong
    form = {"login": "ada", "password": PASSWORD, "code": "1"} | right
    answer = browser.post("/log-in", data=form, headers={"Origin": HERE})
    assert answer.status_code in (401, 422)
    if answer.status_code == 401:
        assert "Login, password or code is wrong." in answer.text
        refused = actions()[0].action == "log-in-refused"
        assert refused == (form["login"] == "ada")  # nobody fills the log with other names


def test_a_code_counts_once(browser: TestClient):
    seed = join("ada", Role.VIEWER)
    code = fresh(seed, "ada")
    assert entered(browser, "ada", seed, code=code) == 303
    other = TestClient(desk, follow_redirects=False)
    assert entered(other, "ada", seed, code=code) == 401


def test_whoever_guesses_is_slowed_down_but_not_the_person_at_their_own_browser(
    browser: TestClient,
):
    seed = join("ada", Role.VIEWER)
    assert entered(browser, "ada", seed, code=fresh(seed, "ada")) == 303
    strangers = [TestClient(desk, client=(f"192.0.2.{i}", 1)) for i in range(10)]
    statuses = [entered(one, "ada", seed, password=f"guess {i}") for i, one in enumerate(strangers)]
    assert statuses == [401] * FREE + [429] * (10 - FREE)  # from however many addresses
    slowed = strangers[0].post(
        "/log-in",
        data={"login": "ada", "password": PASSWORD, "code": "1"},
        headers={"Origin": HERE},
    )
    assert int(slowed.headers["Retry-After"]) >= 1
    assert entered(browser, "ada", seed, code=fresh(seed, "ada")) == 303


def test_guesses_at_many_logins_are_slowed_down_but_not_a_person_at_their_own_browser(
    browser: TestClient,
):
    seed = join("ada", Role.VIEWER)
    assert entered(browser, "ada", seed, code=fresh(seed, "ada")) == 303
    stranger = TestClient(desk, follow_redirects=False)
    tried = [entered(stranger, f"login-{i}", seed) for i in range(40)]
    assert tried == [401] * BY_ADDRESS.at_once + [429] * (40 - BY_ADDRESS.at_once)
    others = [TestClient(desk, client=(f"192.0.2.{i}", 1)) for i in range(40)]
    tried = [entered(one, f"login-{i}", seed) for i, one in enumerate(others)]
    left = OVER_ALL.at_once - BY_ADDRESS.at_once
    assert tried == [401] * left + [429] * (40 - left)
    assert entered(others[-1], "ada", seed, code=fresh(seed, "ada")) == 429
    assert entered(browser, "ada", seed, code=fresh(seed, "ada")) == 303


def test_only_pages_of_the_desk_can_make_a_browser_change_anything(browser: TestClient):
    join("ada", Role.ADMINISTRATOR)
    csrf = session_of(browser, "ada")
    form = {"login": "eve", "name": "Eve E", "roles": "administrator"}
    for headers, secret in (
        ({"Origin": "https://evil.example"}, csrf), ({"Origin": "null"}, csrf),
        ({"Origin": HERE}, ""), ({"Origin": HERE}, "guess"),
    ):  # fmt: skip
        answer = browser.post("/people", data=form | {"csrf": secret}, headers=headers)
        assert answer.status_code == 403, headers
    browser.headers.pop("Origin")
    assert browser.post("/people", data=form | {"csrf": csrf}).status_code == 403
    other = TestClient(desk, follow_redirects=False)
    join("bob", Role.ADMINISTRATOR)
    foreign = session_of(other, "bob")  # a secret, but of another session
    here = {"Origin": HERE}
    assert browser.post("/people", data=form | {"csrf": foreign}, headers=here).status_code == 403
    assert browser.post("/people", json=form, headers=here).status_code == 403
    assert directory.person("eve") is None
    assert browser.post("/people", data=form | {"csrf": csrf}, headers=here).status_code == 200
    assert directory.person("eve") is not None


def test_sessions_and_tokens_end(home: Path, monkeypatch: pytest.MonkeyPatch):
    join("ada", Role.VIEWER, Role.AUDITOR)
    ada = directory.person("ada")
    assert ada is not None
    secret = sessions.begin(ada, TEST)
    token = sessions.make_token(ada, "t", [Role.AUDITOR], 1, by=TEST)
    assert sessions.session(secret) is not None
    acts = sessions.bearer(token)
    assert acts is not None
    assert acts[0].roles == (Role.AUDITOR,)
    now = time.time()
    with monkeypatch.context() as later:
        later.setattr(time, "time", lambda: now + sessions.IDLE + 1)
        assert sessions.session(secret) is None
        later.setattr(time, "time", lambda: now + 86_401)
        assert sessions.bearer(token) is None

    with writing() as connection:
        connection.execute("UPDATE people SET roles = json_array('viewer') WHERE login = 'ada'")
    acts = sessions.bearer(token)
    assert acts is not None
    assert acts[0].rights == frozenset()  # a token has no role that its owner lost
    with pytest.raises(sessions.TokenRefused, match="ada is not operator"):
        sessions.make_token(ada, "t", [Role.OPERATOR], 1, by=TEST)

    join("root", Role.ADMINISTRATOR)
    directory.leave("ada", by=TEST)
    assert sessions.session(secret) is None
    assert sessions.bearer(token) is None
    assert directory.authenticated("ada", PASSWORD, "000000") is None
    with pytest.raises(directory.PersonRefused, match="is taken"):
        directory.add("ada", "Another Ada", [Role.VIEWER], by=TEST)
    with pytest.raises(directory.PersonRefused, match="administrator any more"):
        directory.leave("root", by=TEST)
    with pytest.raises(directory.PersonRefused, match="administrator any more"):
        directory.set_roles("root", [Role.VIEWER], by=TEST)
    assert directory.person("root").roles == (Role.ADMINISTRATOR,)  # type: ignore[union-attr]


def test_a_session_ends_although_it_is_used(home: Path, monkeypatch: pytest.MonkeyPatch):
    ada, now = directory.add("ada", "Ada A", [Role.VIEWER], by=TEST), time.time()
    secret = sessions.begin(ada, TEST)
    step = sessions.IDLE / 2
    for number in range(1, int(sessions.LONGEST / step)):
        monkeypatch.setattr(time, "time", lambda passed=number * step: now + passed)
        assert sessions.session(secret) is not None
    monkeypatch.setattr(time, "time", lambda: now + sessions.LONGEST + 1)
    assert sessions.session(secret) is None


def test_hashes_of_passwords_cost_what_a_guesser_is_to_pay(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    assert directory._hasher().hash("x").startswith("$argon2id$v=19$m=65536,t=3,p=4$")


def test_no_secret_is_kept(home: Path):
    seed = join("ada", Role.VIEWER)
    ada = directory.person("ada")
    assert ada is not None
    told = [
        sessions.begin(ada, TEST), sessions.make_token(ada, "t", ada.roles, 1, by=TEST),
        directory.invite("ada", by=TEST), PASSWORD,
    ]  # fmt: skip
    content = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    assert not [secret for secret in told if secret.encode() in content]
    assert seed.encode() in content  # codes are computed from it
    assert (home / "people.db").stat().st_mode & 0o077 == 0


def test_what_an_earlier_version_remembers_stays_and_a_later_one_is_left_alone(home: Path):
    directory.add("root", "Ro Ot", [Role.ADMINISTRATOR], by=TEST)
    secret = directory.invite("root", by=TEST)
    with reading() as connection:
        connection.execute("ALTER TABLE invitations DROP COLUMN maker")
        connection.execute("PRAGMA user_version = 1")
    assert directory.invitation(secret) is not None
    assert directory.invitation(directory.invite("root", by=TEST)) is not None
    with reading() as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(SafeError, match="of a newer version"):
        directory.people()


def a_thousand_years_ago(line: str) -> str:
    """A line of the exported log with another time."""
    said = json.loads(line)
    return json.dumps({**said, "entry": said["entry"].replace('"at":"2', '"at":"1', 1)})


def test_the_log_can_only_grow_and_shows_every_change(home: Path):
    join("ada", Role.VIEWER)
    join("bob", Role.ADMINISTRATOR)
    lines = list(exported())
    number = check(lines)
    assert number == len(lines) - 1 == len(actions()) == 6
    with reading() as connection:
        for change in ("UPDATE actions SET entry = entry", "DELETE FROM actions"):
            with pytest.raises(Exception, match="can only grow"):
                connection.execute(change)
    for i in range(1, len(lines)):
        for broken in (
            [*lines[:i], a_thousand_years_ago(lines[i]), *lines[i + 1 :]],
            [*lines[:i], *lines[i + 1 :], lines[i]],
            lines[:i] + lines[i + 1 :],
        ):
            if broken not in (lines, lines[:-1]):  # only a longer export shows a cut end
                with pytest.raises(Exception, match=r"is not as it was signed|does not follow"):
                    check(broken)
    with pytest.raises(Exception, match="not with another"):
        check(lines, "another")


@pytest.mark.parametrize(
    ("error", "told"),
    [(SafeError("mend it"), True), (PrivateFact("mend it"), False), (KeyError("mend it"), False)],
)
def test_the_log_quotes_no_error_that_depends_on_a_private_table(
    error: Exception, told: bool, home: Path
):
    with pytest.raises(type(error)), doing(TEST, "ordered", "mine"):
        raise error
    assert ("mend it" in "".join(exported())) == told
    assert [one.action for one in actions(about="mine")] == ["not-done", "ordered"]


def test_a_way_back_leads_nowhere_else():
    for wrong in ("//evil.example", "https://evil.example", "/\\evil.example", "evil", "/a\nb"):
        assert log_in.within(wrong) == "/"
    assert log_in.within("/releases/a?b=c") == "/releases/a?b=c"
    assert entrance.needed_for("POST", "/specs/check") is Right.PREPARE


def test_people_choose_another_password_with_the_old_one_and_a_code(browser: TestClient):
    seed = join("ada", Role.VIEWER)
    other = TestClient(desk, headers={"Accept": "text/html"}, follow_redirects=False)
    session_of(other, "ada")
    csrf = session_of(browser, "ada")
    longer = "quite another battery"

    def change(**changes: str) -> Response:
        form = {"old": PASSWORD, "password": longer, "again": longer, "code": fresh(seed, "ada")}
        return browser.post("/me/password", data=form | changes | {"csrf": csrf})

    for wrong, says in (
        ({"old": "not the old one"}, "the old password or the code is wrong"),
        ({"code": "000000"}, "the old password or the code is wrong"),
        ({"again": "something else"}, "the two passwords differ"),
        ({"password": "short", "again": "short"}, "at least 12"),
    ):
        refused = change(**wrong)
        assert refused.status_code == 409
        assert says in refused.text
    assert change().status_code == 303
    assert other.get("/me").status_code == 303  # to the log-in
    assert browser.get("/me").status_code == 200

    assert actions()[1].action == "password-changed"
    assert entered(other, "ada", seed, code=fresh(seed, "ada")) == 401
    assert entered(other, "ada", seed, code=fresh(seed, "ada"), password=longer) == 303


def test_guesses_at_the_old_password_are_slowed_down(browser: TestClient):
    join("ada", Role.VIEWER)
    csrf = session_of(browser, "ada")
    form = {"old": "x", "password": "y" * 12, "again": "y" * 12, "code": "1", "csrf": csrf}
    said = [browser.post("/me/password", data=form).text for _ in range(8)]
    assert "Too many attempts" in said[-1]
