"""What the ledger keeps, what it refuses, and that it notices tampering; on both databases."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from sqlalchemy import Connection, create_engine, text

from hallmark.mechanisms.privacy.account_filter import implied_budget
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost, cost, zcdp_epsilon
from hallmark.mechanisms.privacy.events import DiscreteGaussian, DiscreteLaplace
from hallmark.mechanisms.privacy.ledger.chain import canonical
from hallmark.mechanisms.privacy.ledger.ledger import (
    Allowance,
    BudgetRefused,
    Entry,
    Head,
    Ledger,
    LedgerError,
    Reservation,
    Standing,
)
from hallmark.mechanisms.privacy.presence import Presence

RECORD = Adjacency(neighbours=Neighbours.REPLACE_ONE)
PERSON = Adjacency(neighbours=Neighbours.REPLACE_ONE, records=5)
CAP = Budget(epsilon=Fraction(1), delta=Fraction(1, 1000))
THIRD = Budget(epsilon=Fraction(1, 3), delta=Fraction(1, 3000))
LAPLACE = DiscreteLaplace(l1=2, scale=Fraction(7, 2))
GAUSSIAN = DiscreteGaussian(l2_squared=2, sigma2=Fraction(9), unit_moves=2, times=3)


def allow(_standing: Standing) -> None:
    """A check that lets every composition pass."""


@pytest.fixture
def opened(ledger: Ledger) -> Ledger:
    """A ledger with account "people", and release "r" reserved on it."""
    return with_reservation(ledger)


def with_reservation(ledger: Ledger) -> Ledger:
    ledger.open_account("people", cap=CAP, adjacency=RECORD, by="steward", reason="census law")
    ledger.reserve("people", "r", THIRD, adjacency=RECORD, binding="plan")
    return ledger


def draw(ledger: Ledger, call: str = "a", outcome: bytes = b"\x00noisy\xff") -> bytes:
    return ledger.record("r", call, "question", [LAPLACE, GAUSSIAN], outcome, allow)


# Accounts


def test_an_account_keeps_its_terms(ledger: Ledger):
    state = ledger.open_account("people", cap=CAP, adjacency=PERSON, by="steward", reason="law")
    assert state == ledger.account("people")
    assert (state.cap, state.neighbours, state.unit) == (
        CAP,
        Neighbours.REPLACE_ONE,
        "person of at most 5 records",
    )
    (entry,) = ledger.entries("people")
    assert (entry.kind, entry.payload["by"], entry.payload["reason"]) == ("open", "steward", "law")
    assert (state.opened_at, state.head, state.entries) == (entry.at, entry.hash, 1)


def test_opening_an_account_again_with_the_same_terms_changes_nothing(opened: Ledger):
    before = opened.account("people")
    again = opened.open_account("people", cap=CAP, adjacency=RECORD, by="another", reason="again")
    assert again == before == opened.account("people")


@pytest.mark.parametrize(("cap", "adjacency"), [(THIRD, RECORD), (CAP, PERSON)])
def test_opening_an_account_again_with_other_terms_is_refused(
    opened: Ledger, cap: Budget, adjacency: Adjacency
):
    with pytest.raises(LedgerError, match=r"'people' exists, with cap epsilon 1, delta 0\.001"):
        opened.open_account("people", cap=cap, adjacency=adjacency, by="steward", reason="law")


def test_accounts_are_listed_by_name(ledger: Ledger):
    for name in ("b", "a"):
        ledger.open_account(name, cap=CAP, adjacency=RECORD, by="steward", reason="law")
    assert ledger.accounts() == [ledger.account("a"), ledger.account("b")]


def test_an_unknown_account_is_refused(ledger: Ledger):
    for ask in (ledger.account, ledger.entries, ledger.verify):
        with pytest.raises(LedgerError, match="no account 'peopel'"):
            ask("peopel")
    with pytest.raises(LedgerError, match="no account 'peopel'"):
        ledger.reserve("peopel", "r", THIRD, adjacency=RECORD, binding="plan")


def test_hashes_are_those_of_the_entries(opened: Ledger):
    opened.open_account("others", cap=CAP, adjacency=RECORD, by="steward", reason="law")
    opened.set_cap("people", THIRD, by="board", reason="less")
    assert opened.hashes("people") == [entry.hash for entry in opened.entries("people")]
    assert opened.hashes("peopel") == []


def test_a_cap_can_be_raised_and_lowered_to_what_is_taken(opened: Ledger):
    opened.set_cap("people", THIRD, by="board", reason="stop")
    assert opened.account("people").remaining == (0, 0)
    state = opened.set_cap("people", CAP, by="board", reason="go on")
    assert state.remaining == (Fraction(2, 3), Fraction(2, 3000))
    assert [e.payload["reason"] for e in opened.entries("people")[2:]] == ["stop", "go on"]


def test_a_cap_below_what_is_taken_is_refused(opened: Ledger):
    for cap in (Budget(epsilon=Fraction(1)), Budget(epsilon=Fraction(1, 4), delta=Fraction(1, 9))):
        with pytest.raises(LedgerError, match="since epsilon 1/3, delta 1/3000 is spent or res"):
            opened.set_cap("people", cap, by="board", reason="stop")
    assert opened.account("people").cap == CAP


def test_setting_the_same_cap_again_writes_nothing(opened: Ledger):
    assert opened.set_cap("people", CAP, by="board", reason="twice").entries == 2


@pytest.mark.parametrize("bad", ["", " ", "a\nb", "a\x00b"])
def test_names_that_cannot_be_read_are_refused(opened: Ledger, bad: str):
    with pytest.raises(LedgerError, match="`account` must be printable"):
        opened.open_account(bad, cap=CAP, adjacency=RECORD, by="steward", reason="law")
    with pytest.raises(LedgerError, match="`reason` must be printable"):
        opened.set_cap("people", CAP, by="board", reason=bad)
    with pytest.raises(LedgerError, match="`release` must be printable"):
        opened.reserve("people", bad, THIRD, adjacency=RECORD, binding="plan")
    with pytest.raises(LedgerError, match="`by` must be printable"):
        opened.cancel("r", by=bad, reason="unused")
    with pytest.raises(LedgerError, match="`call` must be printable"):
        draw(opened, call=bad)


def test_an_account_composes_its_releases_by_zcdp(ledger: Ledger):
    """Ten releases that state their cost pass a cap that three of their budgets would fill."""
    small = cost([GAUSSIAN])
    state = ledger.open_account(
        "people", cap=CAP, adjacency=RECORD, by="steward", reason="law", composition="zcdp"
    )
    assert state.remaining == (CAP.epsilon, CAP.delta)
    tenth = Cost(pure=None, rho=small.rho / 100)
    for n in range(10):
        ledger.reserve("people", f"r{n}", THIRD, adjacency=RECORD, binding="plan", cost=tenth)
    state = ledger.account("people")
    assert state.reserved == (10 * THIRD.epsilon, 10 * THIRD.delta)
    assert state.composed == pytest.approx(zcdp_epsilon(10 * tenth.rho, CAP.delta))
    assert state.composed < 1
    opening = [entry for entry in ledger.entries("people") if "filter" in entry.payload]
    assert [entry.release for entry in opening] == ["r0"]
    ledger.verify("people")


def test_a_release_is_charged_no_more_than_the_account_set_aside(ledger: Ledger):
    ledger.open_account(
        "people", cap=CAP, adjacency=RECORD, by="steward", reason="law", composition="zcdp"
    )
    ledger.reserve("people", "r", THIRD, adjacency=RECORD, binding="plan", cost=cost([GAUSSIAN]))
    once = ledger.record("r", "a", "question", [GAUSSIAN], b"noisy", allow)
    with pytest.raises(LedgerError, match="'b': it would cost more than the account set aside"):
        ledger.record("r", "b", "question", [GAUSSIAN], b"more", allow)  # by itself it would fit
    assert ledger.lookup("r", "a", "question") == once
    assert ledger.lookup("r", "b", "question") is None


def test_an_account_of_sums_can_compose_from_now_on(opened: Ledger):
    draw(opened)
    before = opened.account("people")
    after = opened.compose_by_zcdp("people", with_earlier=False, by="steward", reason="series")
    assert (before.composition, after.composition) == ("sum", "zcdp")
    assert after.remaining == before.remaining
    with pytest.raises(LedgerError, match="compose by zCDP already"):
        opened.compose_by_zcdp("people", with_earlier=True, by="steward", reason="series")
    opened.verify("people")


def test_an_account_of_sums_can_compose_what_it_has_drawn(ledger: Ledger):
    ledger.open_account("people", cap=CAP, adjacency=RECORD, by="steward", reason="law")
    wide = replace(GAUSSIAN, sigma2=Fraction(900))
    for name in "abc":
        ledger.reserve("people", name, THIRD, adjacency=RECORD, binding="plan")
        ledger.record(name, "call", "question", [wide], b"noisy", allow)
    assert ledger.account("people").remaining == (0, 0)
    state = ledger.compose_by_zcdp("people", with_earlier=True, by="steward", reason="planned")
    assert state.remaining[0] > Fraction(1, 2)
    assert state.composed == pytest.approx(zcdp_epsilon(9 * cost([wide]).rho / 3, CAP.delta))
    with pytest.raises(LedgerError, match="more than the account set aside"):
        ledger.record("a", "another", "question", [wide], b"noisy", allow)
    ledger.verify("people")


def test_a_cap_in_rho_is_kept_and_changed(ledger: Ledger):
    rho = Fraction(1, 50)
    ledger.open_account(
        "people",
        cap=implied_budget(rho, CAP.delta),
        rho_cap=rho,
        adjacency=RECORD,
        by="steward",
        reason="law",
        composition="zcdp",
    )
    state = ledger.set_cap(
        "people", implied_budget(2 * rho, CAP.delta), rho_cap=2 * rho, by="board", reason="more"
    )
    assert state.rho_cap == 2 * rho
    with pytest.raises(LedgerError, match="cannot become one in rho"):
        ledger.set_cap("people", CAP, by="board", reason="epsilon")
    assert ledger.account("people") == state


def series(ledger: Ledger, presence: Presence) -> Ledger:
    """A ledger with a series whose cap pays for four of `of`."""
    rho = Fraction(4, 100)
    ledger.open_account(
        "people",
        cap=implied_budget(rho, CAP.delta),
        rho_cap=rho,
        adjacency=RECORD,
        by="steward",
        reason="law",
        composition="zcdp",
        presence=presence,
    )
    return ledger


def of(ledger: Ledger, period: str | None, name: str = "", times: int = 1) -> Reservation:
    """A release about a period, at `times` hundredths of rho."""
    return ledger.reserve(
        "people",
        f"of-{period}{name}",
        THIRD,
        adjacency=RECORD,
        binding="plan",
        cost=Cost(pure=None, rho=Fraction(times, 100)),
        period=period,
    )


def test_releases_of_different_periods_add_up_only_where_a_unit_is_in_both(ledger: Ledger):
    held = series(ledger, Presence(length="month", pattern=(0, 1)))
    for month, times in (("2026-01", 3), ("2026-02", 1), ("2026-03", 3)):
        of(held, month, times=times)
    with pytest.raises(BudgetRefused, match="any 2 months in a row leaves rho 0, about epsilon 0"):
        of(held, "2026-02", "-again")
    assert held.left_for("people", "2026-04") == Fraction(1, 100)
    assert held.left_for("people", "2026-05") == Fraction(4, 100)
    state = held.account("people")
    assert state.composed == pytest.approx(zcdp_epsilon(Fraction(4, 100), CAP.delta))
    assert state.share_left == 0
    held.verify("people")


def test_what_is_planned_for_later_periods_is_not_taken_before(ledger: Ledger):
    held = series(ledger, Presence(length="year"))
    plan = {"2026": Fraction(1, 100), "2027": Fraction(2, 100)}
    assert held.plan_series("people", plan, by="board", reason="law").planned == plan
    assert held.plan_series("people", plan, by="board", reason="law").entries == 2
    of(held, "2026", times=2)  # one more than planned: the cap has one to spare
    with pytest.raises(BudgetRefused, match="change the plan of the series"):
        of(held, "2028")
    of(held, "2027", times=2)
    with pytest.raises(LedgerError, match="plan less, or have the cap raised"):
        held.plan_series("people", {"2028": Fraction(1, 100)}, by="board", reason="more")
    held.cancel("of-2027", by="board", reason="no data")
    held.plan_series("people", {"2028": Fraction(2, 100)}, by="board", reason="2027 is missing")
    of(held, "2028", times=2)
    held.verify("people")


def test_a_cap_covers_the_plan(ledger: Ledger):
    held = series(ledger, Presence(length="year"))
    held.plan_series("people", {"2026": Fraction(3, 100)}, by="board", reason="law")
    less = Fraction(2, 100)
    with pytest.raises(LedgerError, match="the cap cannot be"):
        held.set_cap(
            "people", implied_budget(less, CAP.delta), rho_cap=less, by="board", reason="less"
        )


def test_a_release_of_a_series_states_its_period_and_keeps_it(ledger: Ledger):
    held = series(ledger, Presence(length="month", most=1))
    with pytest.raises(LedgerError, match="does not state the period"):
        of(held, None)
    with pytest.raises(LedgerError, match="a series of months: '2026' is a year"):
        of(held, "2026")
    of(held, "2026-01", "-r")
    with pytest.raises(LedgerError, match="a reservation for period 2026-01, not 2026-02"):
        held.reserve(
            "people", "of-2026-01-r", THIRD, adjacency=RECORD, binding="plan", period="2026-02"
        )


def test_an_account_without_a_series_has_no_periods(opened: Ledger):
    with pytest.raises(LedgerError, match="keeps no series, so nothing is planned"):
        opened.plan_series("people", {"2026": Fraction(1, 100)}, by="board", reason="law")
    with pytest.raises(LedgerError, match="keeps no series of periods"):
        opened.left_for("people", "2026")
    made = opened.reserve("people", "s", THIRD, adjacency=RECORD, binding="plan", period="2026")
    assert made.period is None


def test_a_series_has_a_cap_in_rho(ledger: Ledger):
    with pytest.raises(LedgerError, match="a series needs a cap in rho"):
        ledger.open_account(
            "people",
            cap=CAP,
            adjacency=RECORD,
            by="steward",
            reason="law",
            composition="zcdp",
            presence=Presence(length="month"),
        )


def test_what_a_release_of_a_series_proves_counts_in_its_period(ledger: Ledger):
    held = series(ledger, Presence(length="month", most=1))
    wide = DiscreteGaussian(l2_squared=2, sigma2=Fraction(100), unit_moves=2)
    held.prove(
        "people",
        "lost",
        THIRD,
        adjacency=RECORD,
        events=[wide],
        manifest="digest",
        by="steward",
        reason="restored",
        period="2026-01",
    )
    assert held.left_for("people", "2026-01") == Fraction(3, 100)
    assert held.left_for("people", "2026-02") == Fraction(4, 100)


# Reservations


def test_a_reservation_is_taken_off_what_remains(opened: Ledger):
    reservation = opened.reservation("r")
    assert reservation is not None
    assert (reservation.state, reservation.budget, reservation.binding) == (
        "reserved",
        THIRD,
        "plan",
    )
    state = opened.account("people")
    assert (state.spent, state.reserved) == ((0, 0), (THIRD.epsilon, THIRD.delta))


def test_a_release_that_was_never_reserved_has_no_reservation(opened: Ledger):
    assert opened.reservation("s") is None


def test_reserving_again_with_the_same_terms_changes_nothing(opened: Ledger):
    again = opened.reserve("people", "r", THIRD, adjacency=RECORD, binding="plan")
    assert again == opened.reservation("r")
    draw(opened)
    assert opened.reserve("people", "r", THIRD, adjacency=RECORD, binding="plan").state == "spent"
    assert opened.account("people").entries == 3


def test_reserving_again_with_other_terms_is_refused(opened: Ledger):
    opened.open_account("others", cap=CAP, adjacency=RECORD, by="steward", reason="law")
    less = Budget(epsilon=Fraction(1, 4))
    with pytest.raises(LedgerError, match=r"for epsilon 1/3, delta 1/3000, not epsilon 0\.25"):
        opened.reserve("people", "r", less, adjacency=RECORD, binding="plan")
    with pytest.raises(LedgerError, match="another plan"):
        opened.reserve("people", "r", THIRD, adjacency=RECORD, binding="other plan")
    with pytest.raises(LedgerError, match="belongs to account 'people', not 'others'"):
        opened.reserve("others", "r", THIRD, adjacency=RECORD, binding="plan")


def test_a_reservation_that_would_pass_the_cap_is_refused(opened: Ledger):
    opened.reserve("people", "s", THIRD, adjacency=RECORD, binding="plan")
    for epsilon, delta in (("2/5", "0"), ("1/3", "1/2000")):
        over = Budget(epsilon=Fraction(epsilon), delta=Fraction(delta))
        with pytest.raises(BudgetRefused, match="only epsilon 1/3, delta 1/3000 is left of the"):
            opened.reserve("people", "t", over, adjacency=RECORD, binding="plan")
        with pytest.raises(BudgetRefused, match="only epsilon 1/3, delta 1/3000 is left of the"):
            opened.refuse_new("people", "t", over, adjacency=RECORD)
    before = opened.hashes("people")
    opened.refuse_new("people", "t", THIRD, adjacency=RECORD)  # which writes nothing
    assert opened.hashes("people") == before
    assert opened.reservation("t") is None
    opened.reserve("people", "t", THIRD, adjacency=RECORD, binding="plan")
    assert opened.account("people").remaining == (0, 0)


def test_another_adjacency_than_the_account_s_is_refused(opened: Ledger):
    for other in (PERSON, Adjacency(neighbours=Neighbours.ADD_REMOVE)):
        with pytest.raises(LedgerError, match="such epsilons do not add up"):
            opened.reserve("people", "s", THIRD, adjacency=other, binding="plan")
        with pytest.raises(LedgerError, match="such epsilons do not add up"):
            opened.refuse_new("people", "s", THIRD, adjacency=other)


def test_a_cancelled_reservation_is_given_back(opened: Ledger):
    opened.cancel("r", by="operator", reason="file missing")
    opened.cancel("r", by="operator", reason="again")  # changes nothing
    reservation = opened.reservation("r")
    assert reservation is not None
    assert reservation.state == "cancelled"
    assert opened.account("people").remaining == (CAP.epsilon, CAP.delta)
    assert opened.entries("people")[-1].payload == {"by": "operator", "reason": "file missing"}


def test_a_cancelled_release_can_be_reserved_anew_on_its_account(opened: Ledger):
    opened.cancel("r", by="operator", reason="wrong spec")
    again = opened.reserve("people", "r", CAP, adjacency=RECORD, binding="fixed plan")
    assert (again.state, again.budget, again.binding) == ("reserved", CAP, "fixed plan")


def test_a_drawn_release_cannot_be_cancelled(opened: Ledger):
    draw(opened)
    with pytest.raises(LedgerError, match="a draw is never refunded"):
        opened.cancel("r", by="operator", reason="regret")
    assert opened.account("people").spent == (THIRD.epsilon, THIRD.delta)


# The measurement log


def test_a_draw_is_charged_and_logged(opened: Ledger):
    assert draw(opened) == b"\x00noisy\xff" == opened.lookup("r", "a", "question")
    assert opened.events("r") == (LAPLACE, GAUSSIAN)
    ((call, request, events, at),) = opened.calls("r")
    assert (call, request, events) == ("a", "question", (LAPLACE, GAUSSIAN))
    assert at == opened.entries("people")[-1].at
    assert opened.account("people").spent == (THIRD.epsilon, THIRD.delta)


def test_a_call_that_was_not_logged_is_not_found(opened: Ledger):
    draw(opened)
    assert opened.lookup("r", "b", "question") is None
    assert opened.lookup("s", "a", "question") is None


def test_a_second_draw_of_a_call_is_forgotten_and_not_charged(opened: Ledger):
    def never(_standing: Standing) -> None:
        raise AssertionError("a logged call is not checked again")

    first = draw(opened, outcome=b"first")
    assert opened.record("r", "a", "question", [LAPLACE], b"second", never) == first == b"first"
    assert len(opened.calls("r")) == 1


def test_a_logged_call_cannot_answer_another_request(opened: Ledger):
    draw(opened)
    with pytest.raises(LedgerError, match="answered before, for another request"):
        opened.lookup("r", "a", "other question")
    with pytest.raises(LedgerError, match="answered before, for another request"):
        opened.record("r", "a", "other question", [LAPLACE], b"", allow)


def test_the_check_sees_all_events_of_the_release_and_no_others(opened: Ledger):
    opened.reserve("people", "s", THIRD, adjacency=RECORD, binding="plan")
    opened.record("s", "a", "question", [LAPLACE], b"", allow)
    draw(opened)
    seen: list[Standing] = []
    opened.record("r", "b", "question", [LAPLACE], b"", seen.append)
    (standing,) = seen
    assert standing.events == (LAPLACE, GAUSSIAN, LAPLACE)
    assert (standing.adjacency, standing.reservation.state) == (RECORD, "spent")
    assert standing == opened.standing("r")


def test_a_draw_that_fails_the_check_is_neither_charged_nor_logged(opened: Ledger):
    class TooMuch(Exception):
        pass

    def refuse(_standing: Standing) -> None:
        raise TooMuch

    with pytest.raises(TooMuch):
        opened.record("r", "a", "question", [LAPLACE], b"seen by nobody", refuse)
    assert opened.lookup("r", "a", "question") is None
    assert opened.account("people").reserved == (THIRD.epsilon, THIRD.delta)
    opened.verify("people")


def test_nothing_is_drawn_without_an_open_reservation(opened: Ledger):
    opened.cancel("r", by="operator", reason="unused")
    with pytest.raises(LedgerError, match="'r' was cancelled"):
        draw(opened)
    with pytest.raises(LedgerError, match="'s' has no reservation"):
        opened.record("s", "a", "question", [LAPLACE], b"", allow)
    for ask in (opened.events, opened.calls):
        with pytest.raises(LedgerError, match="'s' has no reservation"):
            ask("s")


def test_a_draw_without_a_charge_is_refused(opened: Ledger):
    with pytest.raises(LedgerError, match="a draw without a charge"):
        opened.record("r", "a", "question", [], b"free", allow)
    assert opened.lookup("r", "a", "question") is None


# Tampering


def tamper(url: str, *statements: str) -> None:
    """Write past the triggers and foreign keys, as an administrator of the database could."""
    with create_engine(url).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL session_replication_role = replica"))
        else:
            triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for name in connection.scalars(text(triggers)).all():
                connection.execute(text(f"DROP TRIGGER {name}"))
        for statement in statements:
            connection.exec_driver_sql(statement)


@pytest.fixture
def busy(opened: Ledger) -> Ledger:
    """Entries: 1 open, 2 reserve r, 3 charge r/a, 4 charge r/b, 5 reserve s, 6 cancel s."""
    draw(opened)
    draw(opened, "b")
    opened.reserve("people", "s", THIRD, adjacency=RECORD, binding="plan")
    opened.cancel("s", by="operator", reason="unused")
    return opened


def test_an_untouched_ledger_verifies(busy: Ledger):
    busy.verify("people")


@pytest.mark.parametrize("table", ["ledger_entries", "ledger_measurements"])
@pytest.mark.parametrize("verb", ["UPDATE {} SET release = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
def test_triggers_refuse_to_change_what_was_written(
    busy: Ledger, ledger_url: str, verb: str, table: str
):
    if ledger_url.startswith("sqlite"):
        verb = verb.replace("TRUNCATE", "DELETE FROM")  # it has no other way to empty a table
    cascade = " CASCADE" if verb.startswith("TRUNCATE") else ""
    with (
        create_engine(ledger_url).connect() as connection,
        pytest.raises(Exception, match="is append-only"),
    ):
        connection.exec_driver_sql(verb.format(table) + cascade)
    busy.verify("people")


@pytest.mark.parametrize("table", ["ledger_entries", "ledger_measurements"])
def test_triggers_refuse_to_replace_what_was_written(sqlite_url: str, table: str):
    draw(with_reservation(Ledger(sqlite_url)))
    with (
        create_engine(sqlite_url).connect() as connection,
        pytest.raises(Exception, match="is append-only"),
    ):
        connection.exec_driver_sql(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")


TAMPERED = {
    "terms changed": (
        ["UPDATE ledger_entries SET payload = replace(payload, '1/3000', '1/9000') WHERE seq = 2"],
        "entry 2: its content was changed",
    ),
    "charge removed": (["DELETE FROM ledger_entries WHERE seq = 3"], "entry 3: it is missing"),
    "payload spoilt": (
        ["UPDATE ledger_entries SET payload = '{' WHERE seq = 4"],
        "entry 4: .*JSON",
    ),
    "tail removed": (["DELETE FROM ledger_entries WHERE seq > 4"], "entry 5: .* another head"),
    "head moved": (["UPDATE ledger_accounts SET seq = 5"], "entry 7: .* another head"),
    "tail and head removed": (
        [
            "DELETE FROM ledger_entries WHERE seq > 3",
            "UPDATE ledger_accounts SET seq = 3, "
            "hash = (SELECT hash FROM ledger_entries WHERE seq = 3)",
            "DELETE FROM ledger_releases WHERE release = 's'",
        ],
        "no entry charges the logged outcome of release 'r', call 'b'",
    ),
    "outcome changed": (
        ["UPDATE ledger_measurements SET outcome = request WHERE call = 'b'"],
        "entry 4: the outcome that it charges was changed",
    ),
    "outcome removed": (
        ["DELETE FROM ledger_measurements WHERE call = 'a'"],
        "entry 3: the outcome that it charges is not in the log",
    ),
    "request changed": (
        ["UPDATE ledger_measurements SET request = 'x' WHERE call = 'a'"],
        "entry 3: the outcome that it charges was changed",
    ),
    "outcome without a charge": (
        [
            "INSERT INTO ledger_measurements SELECT release, 'c', request, outcome, account, seq "
            "FROM ledger_measurements WHERE call = 'a'"
        ],
        "no entry charges the logged outcome of release 'r', call 'c'",
    ),
    "release forgotten": (
        ["DELETE FROM ledger_releases WHERE release = 's'"],
        "index of releases does not agree with the entries about s",
    ),
}
WRITE_BYTES = {"sqlite": "CAST(request AS BLOB)", "postgresql": "CAST(request AS BYTEA)"}


@pytest.mark.parametrize(("statements", "found"), TAMPERED.values(), ids=TAMPERED.keys())
def test_tampering_past_the_triggers_is_found(
    busy: Ledger, ledger_url: str, statements: list[str], found: str
):
    as_bytes = WRITE_BYTES[ledger_url.partition("+")[0].partition(":")[0]]
    tamper(
        ledger_url, *(s.replace("outcome = request", f"outcome = {as_bytes}") for s in statements)
    )
    with pytest.raises(LedgerError, match=found):
        busy.verify("people")


# The content of an outcome is checked when it is read, and of all before a run reads the table.
WHILE_WRITING = TAMPERED.keys() - {"outcome changed"}


@pytest.mark.parametrize("how", sorted(WHILE_WRITING))
def test_nothing_more_is_reserved_or_drawn_on_what_does_not_verify(
    busy: Ledger, ledger_url: str, how: str
):
    statements, found = TAMPERED[how]
    tamper(ledger_url, *statements)
    with pytest.raises(LedgerError, match=found):
        busy.reserve("people", "t", THIRD, adjacency=RECORD, binding="plan")
    with pytest.raises(LedgerError, match=found):
        draw(busy, "c")


def test_a_well_chained_entry_that_breaks_the_law_is_found(opened: Ledger, ledger_url: str):
    last = opened.entries("people")[-1]
    terms = {"budget": {"epsilon": "1", "delta": "0"}, "binding": "plan"}
    fields = ["people", 3, last.at, "reserve", "s", terms, last.hash]
    forged = hashlib.sha256(canonical(fields).encode()).hexdigest()

    def forge(connection: Connection) -> None:
        row = dict(
            zip(
                ("account", "seq", "at", "kind", "release", "payload", "previous"),
                fields,
                strict=True,
            )
        )
        row |= {"payload": json.dumps(terms), "hash": forged}
        columns = ", ".join(row)
        places = ", ".join(f":{name}" for name in row)
        connection.execute(text(f"INSERT INTO ledger_entries ({columns}) VALUES ({places})"), row)
        connection.execute(text("UPDATE ledger_accounts SET seq = 3, hash = :hash"), row)

    with create_engine(ledger_url).begin() as connection:
        forge(connection)
    with pytest.raises(LedgerError, match=r"entry 3: a 'reserve' entry, .* only epsilon 2/3"):
        opened.verify("people")


# Charges that releases prove, after a ledger was put back from a copy


def prove(ledger: Ledger, release: str = "r", budget: Budget = THIRD) -> Reservation:
    return ledger.prove(
        "people",
        release,
        budget,
        adjacency=RECORD,
        events=[LAPLACE, GAUSSIAN],
        manifest="ab" * 32,
        by="steward",
        reason="a flood",
    )


def test_a_proved_release_is_spent_in_full_and_closed(opened: Ledger):
    before = opened.account("people").remaining
    proved = prove(opened, "s")
    assert (proved.state, proved.proved, proved.budget) == ("spent", True, THIRD)
    assert opened.events("s") == (LAPLACE, GAUSSIAN)
    after = opened.account("people")
    assert after.spent == (THIRD.epsilon, THIRD.delta)
    assert after.remaining == (before[0] - THIRD.epsilon, before[1] - THIRD.delta)
    opened.verify("people")
    closed = "nothing more may be drawn for it or given back"
    with pytest.raises(LedgerError, match=closed):
        opened.record("s", "a", "question", [LAPLACE], b"fresh noise", allow)
    with pytest.raises(LedgerError, match=closed):
        opened.cancel("s", by="steward", reason="unused")
    with pytest.raises(LedgerError, match=closed):
        opened.reserve("people", "s", THIRD, adjacency=RECORD, binding="plan")


def test_proving_it_again_changes_nothing(opened: Ledger):
    prove(opened)
    entries = opened.entries("people")
    assert prove(opened).proved
    assert opened.entries("people") == entries


def test_a_release_whose_draws_are_lost_in_part_can_draw_none_of_them_again(opened: Ledger):
    draw(opened, "a", b"kept")
    taken = opened.account("people").taken
    prove(opened)
    assert opened.account("people").taken == taken  # it was counted in full before
    assert opened.lookup("r", "a", "question") == b"kept"
    opened.verify("people")
    with pytest.raises(LedgerError, match="nothing more may be drawn"):
        draw(opened, "b")


def test_a_cancelled_release_that_proves_to_have_drawn_takes_its_budget_again(opened: Ledger):
    opened.cancel("r", by="steward", reason="unused")
    prove(opened)
    assert opened.account("people").spent == (THIRD.epsilon, THIRD.delta)


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (Budget(epsilon=Fraction(2), delta=THIRD.delta), "only epsilon 1, delta 0.001 is left"),
        (Budget(epsilon=Fraction(1, 2), delta=THIRD.delta), "cannot be proved for this budget"),
    ],
)
def test_what_the_cap_or_a_reservation_does_not_cover_is_not_entered(
    opened: Ledger, budget: Budget, told: str
):
    if "left" in told:
        opened.cancel("r", by="steward", reason="unused")
    entries = opened.entries("people")
    with pytest.raises(LedgerError, match=told):
        prove(opened, budget=budget)
    assert opened.entries("people") == entries


def test_an_account_by_zcdp_takes_what_the_events_cost(ledger: Ledger):
    ledger.open_account(
        "people", cap=CAP, adjacency=RECORD, by="steward", reason="law", composition="zcdp"
    )
    small = Budget(epsilon=Fraction(1, 10), delta=THIRD.delta)
    gaussian = DiscreteGaussian(l2_squared=2, sigma2=Fraction(10**5), unit_moves=2)
    told = {"adjacency": RECORD, "manifest": "ab" * 32, "by": "steward", "reason": "a flood"}
    for release in "abcdefghijklmnop":  # sixteen tenths: more than the cap as a sum
        proved = ledger.prove("people", release, small, events=[gaussian], **told)
        assert proved.filtered
        assert proved.cost == cost([gaussian])
    assert ledger.account("people").spent[0] > CAP.epsilon
    ledger.verify("people")


# Allowances


MONTH = Allowance(name="acs 2026-11", budget=Budget(epsilon=Fraction(1, 5)))
TENTH = Budget(epsilon=Fraction(1, 10))


def reserve_within(ledger: Ledger, release: str, allowance: Allowance) -> None:
    ledger.reserve("people", release, TENTH, adjacency=RECORD, binding="plan", allowance=allowance)


def test_releases_of_one_allowance_never_pass_it_together(opened: Ledger):
    reserve_within(opened, "first", MONTH)
    reserve_within(opened, "second", MONTH)
    with pytest.raises(
        BudgetRefused, match=r"'acs 2026-11' allows epsilon 0\.2.*wait for the next"
    ):
        reserve_within(opened, "third", MONTH)
    assert opened.reservation("third") is None


def test_what_is_cancelled_is_free_again_under_its_allowance(opened: Ledger):
    reserve_within(opened, "first", MONTH)
    reserve_within(opened, "second", MONTH)
    opened.cancel("first", by="operator", reason="not needed")
    reserve_within(opened, "third", MONTH)
    opened.verify("people")


def test_another_period_has_an_allowance_of_its_own(opened: Ledger):
    reserve_within(opened, "first", MONTH)
    reserve_within(opened, "second", MONTH)
    reserve_within(opened, "third", Allowance(name="acs 2026-12", budget=MONTH.budget))
    third = opened.reservation("third")
    assert third is not None
    assert third.allowance == "acs 2026-12"


# Statements


def test_statements_move_no_budget_and_stay_in_order(opened: Ledger):
    before = opened.account("people")
    opened.state("r", "request", {"gate": "plan"})
    opened.state("r", "decision", {"by": "Ada"})
    assert [(said.kind, said.payload) for said in opened.statements("r")] == [
        ("request", {"gate": "plan"}),
        ("decision", {"by": "Ada"}),
    ]
    after = opened.account("people")
    assert (after.spent, after.reserved, after.entries) == (
        before.spent,
        before.reserved,
        before.entries + 2,
    )
    opened.verify("people")


def test_saying_the_same_again_changes_nothing(opened: Ledger):
    first = opened.state("r", "request", {"gate": "plan"})
    assert opened.state("r", "request", {"gate": "plan"}) == first
    opened.state("r", "request", {"gate": "disclosure"})
    assert opened.state("r", "request", {"gate": "plan"}) != first
    assert len(opened.statements("r")) == 3


def test_a_statement_is_made_in_view_of_those_before_it(opened: Ledger):
    def second(before: Sequence[Entry]) -> dict[str, int]:
        if len(before) != 1:
            raise ValueError("too late")
        return {"after": len(before)}

    opened.state("r", "request", {"gate": "plan"})
    opened.state_next("r", "decision", second)
    with pytest.raises(ValueError, match="too late"):
        opened.state_next("r", "decision", second)
    assert [said.payload for said in opened.statements("r")] == [{"gate": "plan"}, {"after": 1}]


def test_a_statement_is_written_once_though_the_connection_is_lost_after_it(
    opened: Ledger, monkeypatch: pytest.MonkeyPatch
):
    """The first try was written, and nobody was told so."""
    said: list[int] = []

    def once(before: Sequence[Entry]) -> dict[str, int]:
        assert not said, "what is in the ledger is not said again"
        said.append(len(before))
        return {"after": len(before)}

    def twice(work: Callable[[Connection], Entry]) -> Entry:
        written(work)
        return written(work)

    written = opened._database.write
    monkeypatch.setattr(opened._database, "write", twice)
    entry = opened.state_next("r", "decision", once)
    assert opened.statements("r") == [entry]


def test_nothing_can_be_stated_about_a_release_that_was_never_started(opened: Ledger):
    with pytest.raises(LedgerError, match="'unknown' has no reservation"):
        opened.state("unknown", "decision", {"by": "Ada"})
    assert opened.statements("unknown") == []


def test_a_statement_cannot_pass_for_a_charge(opened: Ledger):
    with pytest.raises(LedgerError, match="'charge' is no statement"):
        opened.state("r", "charge", {})
    with pytest.raises(LedgerError, match="'charge' is no statement"):
        opened.state_next("r", "charge", lambda _: {})


# Heads


def test_a_witness_is_told_every_new_head_and_nothing_else(ledger_url: str):
    told: list[Head] = []
    ledger = with_reservation(Ledger(ledger_url, told.append))
    with_reservation(ledger)  # nothing new
    draw(ledger)
    draw(ledger)
    ledger.state("r", "request", {"gate": "plan"})
    with pytest.raises(LedgerError):
        ledger.cancel("r", by="operator", reason="drawn already")
    assert told == [entry.head for entry in ledger.entries("people")]
    assert [head.entries for head in told] == [1, 2, 3, 4]


def test_a_witness_is_told_when_the_entry_is_durable_and_before_its_outcome_is_shown(
    ledger_url: str,
):
    seen: list[str] = []

    def witness(head: Head) -> None:
        assert Ledger(ledger_url).entries("people")[-1].head == head
        seen.append("head")

    draw(with_reservation(Ledger(ledger_url, witness)))
    assert seen == ["head"] * 3


def test_digests_that_are_published_hide_what_they_cover(opened: Ledger):
    draw(opened)
    opened.state("r", "publish", {})
    opened.state("r", "publish", {})
    entries = opened.entries("people")
    assert [(entry.kind, entry.hides) for entry in entries] == [
        ("open", False), ("reserve", True), ("charge", True), ("publish", True)
    ]  # fmt: skip
    nonces = {entry.payload["nonce"] for entry in entries if entry.hides}
    assert len(nonces) == 3
    assert all(len(nonce) == 32 for nonce in nonces)
    assert entries[-1].said == {}
    opened.verify("people")
