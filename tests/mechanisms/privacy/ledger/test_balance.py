"""What may be taken of an account's cap: sums, the filter, caps in rho, and going from one to
another."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.mechanisms.privacy.account_filter import Filter, implied_budget
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost, zcdp_epsilon
from hallmark.mechanisms.privacy.ledger.balance import Balance
from hallmark.mechanisms.privacy.ledger.errors import BudgetRefused, LedgerError
from hallmark.mechanisms.privacy.ledger.terms import Reservation, Terms

DELTA = Fraction(1, 10**5)
CAP = Budget(epsilon=Fraction(1), delta=DELTA)


def balance(cap: Budget = CAP, **terms: Any) -> Balance:
    composition = terms.pop("composition", "zcdp")
    adjacency = Adjacency(neighbours=Neighbours.ADD_REMOVE)
    return Balance(
        "people",
        Terms(adjacency=adjacency, cap=cap, composition=composition, opened_at="", **terms),
    )


def gaussian(rho: str) -> Cost:
    return Cost(pure=None, rho=Fraction(rho))


def pure(epsilon: str) -> Cost:
    return Cost(pure=Fraction(epsilon), rho=Fraction(epsilon) ** 2 / 2)


def asked(cost: Cost | None, epsilon: str = "1/10", delta: Fraction = DELTA / 10) -> Budget:
    if cost is not None and cost.pure is not None:
        return Budget(epsilon=cost.pure)
    return Budget(epsilon=Fraction(epsilon), delta=delta)


def reserve(
    held: Balance, name: str, cost: Cost | None, budget: Budget | None = None
) -> Reservation:
    budget = budget or asked(cost)
    admitted, filtered = held.admit(name, budget, cost, held.opening(budget, cost))
    made = Reservation(
        account="people",
        release=name,
        budget=budget,
        state="reserved",
        binding="",
        cost=admitted,
        filtered=filtered,
    )
    held.put(None, made)
    return made


def cancel(held: Balance, made: Reservation) -> None:
    held.put(made, replace(made, state="cancelled"))


def test_many_gaussian_releases_pass_one_cap_that_their_budgets_would_not():
    held = balance()
    made = [reserve(held, f"r{n}", gaussian("1/1000")) for n in range(20)]
    assert all(one.filtered for one in made)
    assert held.reserved == (2, DELTA * 2)  # added up, twice the cap
    assert held.composed == pytest.approx(zcdp_epsilon(Fraction(20, 1000), DELTA))
    with pytest.raises(BudgetRefused, match=r"rho 0\.02\. Composed by zCDP, .* leave about"):
        reserve(held, "too much", gaussian("1/50"))


@given(st.lists(st.fractions(min_value=0, max_value=Fraction(1, 50)), max_size=12))
def test_what_passes_the_filter_never_comes_to_more_than_the_cap(rhos: list[Fraction]):
    held, passed = balance(), Fraction(0)
    for n, rho in enumerate(rhos):
        try:
            made = reserve(held, f"r{n}", Cost(pure=None, rho=rho))
        except BudgetRefused:
            continue
        passed += rho if made.filtered else 0
    assert zcdp_epsilon(passed, DELTA) <= 1
    assert held.composed is not None
    assert 0 <= held.share_left <= 1


def test_a_first_release_that_only_sums_let_pass_is_summed():
    held = balance()
    whole = reserve(held, "whole", gaussian("9/250"), CAP)  # about 1.09 by zCDP
    assert not whole.filtered
    assert held.remaining == (0, 0)
    with pytest.raises(BudgetRefused, match="only epsilon 0, delta 0 is left"):
        reserve(held, "more", gaussian("1/1000"))


def test_pure_releases_are_summed_before_the_filter_opens_and_counted_at_its_order_after():
    held = balance()
    before = reserve(held, "before", pure("1/4"))
    first = reserve(held, "first", gaussian("1/1000"))
    after = reserve(held, "after", pure("1/20"))
    assert [one.filtered for one in (before, first, after)] == [False, True, True]
    opened = Filter.opened(Budget(epsilon=Fraction(3, 4), delta=DELTA))
    taken = opened.divergence(gaussian("1/1000")) + opened.divergence(pure("1/20"))
    whole = Fraction(3, 4) - opened.conversion
    share = float((whole - taken) / (1 - opened.conversion))
    assert held.share_left == pytest.approx(share, abs=1e-6)


def test_pure_releases_alone_may_take_all_that_sums_would_let_them():
    held = balance()
    first = reserve(held, "g", gaussian("1/1000"))
    for name in "ab":
        reserve(held, name, pure("1/20"))
    cancel(held, first)
    assert held.remaining[0] >= Fraction(9, 10)
    reserve(held, "c", pure("9/10"))
    assert held.share_left == 0


def test_a_filter_closes_with_its_last_release_and_opens_anew():
    held = balance()
    cancel(held, reserve(held, "a", gaussian("1/1000")))
    assert held.remaining == (1, DELTA)
    summed = reserve(held, "b", None)
    assert not summed.filtered
    again = reserve(held, "c", gaussian("1/1000"))
    assert again.filtered
    assert held.remaining[1] == DELTA - summed.budget.delta


def test_nothing_is_summed_beside_a_filter():
    held = balance()
    reserve(held, "a", gaussian("1/1000"))
    with pytest.raises(LedgerError, match="does not state its cost"):
        reserve(held, "b", None)


def test_delta_given_back_after_the_filter_opened_stays_out_of_it():
    held = balance()
    summed = reserve(held, "summed", None)
    reserve(held, "a", gaussian("1/1000"))
    opened = held.refitted(CAP)
    cancel(held, summed)
    assert opened is not None
    assert held.refitted(CAP) == opened
    assert opened.delta == DELTA - summed.budget.delta


def test_a_cap_may_change_and_the_order_may_not():
    held = balance()
    reserve(held, "a", gaussian("1/100"))
    order = held.refitted(CAP).order  # type: ignore[union-attr]
    more = Budget(epsilon=Fraction(2), delta=DELTA * 2)
    refitted = held.refitted(more)
    assert refitted is not None
    assert refitted.order == order
    with pytest.raises(LedgerError, match="order of its filter cannot change"):
        held.set_cap(more, None, Filter.opened(more))
    held.set_cap(more, None, refitted)
    assert held.remaining[0] > 1
    small = Budget(epsilon=Fraction(1, 10), delta=DELTA)
    with pytest.raises(
        LedgerError, match=r"epsilon 0\.1, .* spent or reserved, epsilon .* by zCDP"
    ):
        held.set_cap(small, None, held.refitted(small))


def test_a_cap_without_enough_delta_is_refused():
    held = balance()
    reserve(held, "summed", None)
    reserve(held, "a", gaussian("1/1000"))
    with pytest.raises(LedgerError, match="leaves none for the filter"):
        held.refitted(Budget(epsilon=Fraction(1), delta=DELTA / 100))
    with pytest.raises(LedgerError, match="cap cannot be"):
        held.set_cap(Budget(epsilon=Fraction(1), delta=DELTA / 2), None, None)


def test_the_balance_of_many_noises_stays_short():
    held = balance(Budget(epsilon=Fraction(100), delta=DELTA))
    for n in range(300):
        rho = Fraction(1, 10**6 + 7 * n)
        reserve(held, f"r{n}", Cost(pure=None, rho=rho), Budget(epsilon=Fraction(1, 50)))
    reserve(held, "gaussian", gaussian("1/1000"))
    assert len(str(held.share_left)) < 20
    assert all(len(str(part)) < 40 for part in held.remaining)


def test_a_cap_in_rho_is_met_exactly():
    rho = Fraction(1, 50)
    held = balance(implied_budget(rho, DELTA), rho_cap=rho)
    for name in "ab":
        half = Budget(epsilon=Fraction(1, 2), delta=DELTA)
        assert reserve(held, name, gaussian("1/100"), half).filtered
    assert held.remaining == (0, DELTA)
    assert held.share_left == 0
    with pytest.raises(BudgetRefused):
        reserve(held, "c", gaussian("1/1000000"))
    assert held.composed == pytest.approx(float(held.terms.cap.epsilon), abs=1e-6)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "zcdp without delta": ({"cap": Budget(epsilon=Fraction(1))}, "with delta 0 only sums"),
    "rho as a sum": ({"composition": "sum", "rho_cap": Fraction(1, 50)}, "needs composition zcdp"),
    "no rho": ({"rho_cap": Fraction(0)}, "is positive"),
    "rho beyond epsilon": ({"rho_cap": Fraction(1, 2)}, "implies epsilon"),
}


@pytest.mark.parametrize(("terms", "why"), BROKEN.values(), ids=BROKEN.keys())
def test_terms_that_cannot_be_kept_are_refused(terms: dict[str, Any], why: str):
    with pytest.raises(LedgerError, match=why):
        balance(**terms)


def test_a_filter_can_be_opened_once_and_not_where_budgets_are_added_up():
    held = balance()
    reserve(held, "a", gaussian("1/1000"))
    for other in (held, balance(composition="sum")):
        with pytest.raises(LedgerError, match="no filter can be opened now"):
            other.admit("b", CAP, gaussian("1/1000"), Filter.opened(CAP))


def test_a_filter_that_takes_more_delta_than_is_left_admits_nothing():
    held = balance()
    reserve(held, "summed", None)
    with pytest.raises(BudgetRefused):
        held.admit("b", asked(None), gaussian("1/1000"), Filter.opened(CAP))


def summed(held: Balance, costs: Sequence[str]) -> list[Reservation]:
    made = [
        reserve(held, f"r{n}", gaussian(rho), Budget(epsilon=Fraction(1, 4), delta=DELTA / 4))
        for n, rho in enumerate(costs)
    ]
    return [replace(one, state="spent", filtered=True) for one in made]


def test_a_sum_can_become_a_filter_with_what_it_has_or_without():
    held = balance(composition="sum")
    earlier = summed(held, ["1/1000"] * 4)
    assert held.remaining == (0, 0)
    opened = held.reopening([])
    refiltered = held.refiltered(earlier, opened)
    assert refiltered.remaining[0] > Fraction(1, 2)
    assert refiltered.reserved == (0, 0)
    assert refiltered.spent == (1, DELTA)
    assert refiltered.composed == pytest.approx(zcdp_epsilon(Fraction(4, 1000), DELTA))
    kept = held.refiltered([replace(one, filtered=False) for one in earlier], None)
    assert kept.remaining == (0, 0)
    with pytest.raises(LedgerError, match="compose by zCDP already"):
        refiltered.refiltered(earlier, opened)


def test_what_fits_as_a_sum_only_stays_one():
    held = balance(composition="sum")
    earlier = summed(held, ["1/100"] * 4)
    with pytest.raises(LedgerError, match="as sums only"):
        held.refiltered(earlier, held.reopening([]))
