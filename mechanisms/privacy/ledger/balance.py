"""The balance of an account: how much of its cap is taken, and how much is left.

Claim.   All releases on an account together are differentially private with its cap, however the
         releases, and their sizes, were chosen after seeing earlier ones.
Sums.    If its composition is "sum", the budgets of all reservations that are not cancelled sum to
         at most the cap, in epsilon and in delta.
Filter.  If it is "zcdp", reservations state the most that their release may cost, charges keep to
         that (`book`), and a filter admits the reservations (`account_filter`). The filter opens
         with the first release that it admits and that is not pure, for what is left of the cap
         then; until it opens, reservations are summed. It closes again while it has admitted no
         release: cancelled releases have drawn nothing. If the cap is in rho, the releases' rho
         sums to at most that, and nothing else is summed. If the account keeps a series, that is
         the sum over every set of periods in which one unit may have records (`presence`).
Plan.    Rho that is planned for periods counts as taken, as far as they have not taken as much: no
         release takes what a later one was promised. It restricts; the claim does not rest on it.
Caps.    A cap may be changed, but only people decide that. The claim is the highest cap that the
         account ever had; a filter keeps its order, so that everything it admitted before would
         also have been admitted under that cap.
Source.  Sums with adaptively chosen budgets: Rogers, Roth, Ullman, Vadhan (2016),
         arXiv:1605.08294. Releases that run at once: Haney et al. (2023), arXiv:2309.05901, for
         filters in (epsilon, delta) and for those at one Renyi order.
Oracle.  tests/mechanisms/privacy/ledger/test_balance.py, test_account_filter.py.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import final

from hallmark.mechanisms.privacy.account_filter import Filter, Taken, gaussian_epsilon
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost, zcdp_epsilon
from hallmark.mechanisms.privacy.ledger.errors import AccountRefused, BudgetRefused
from hallmark.mechanisms.privacy.ledger.terms import (
    Allowance,
    Pair,
    Reservation,
    Terms,
    shown,
)
from hallmark.mechanisms.privacy.presence import Presence, period
from hallmark.mechanisms.privacy.rounding import float_above

_NOTHING = Fraction(0), Fraction(0)
_SHARE = Fraction(1, 10**6)  # grid of shares
_ROUNDING = 1e-9  # relative, of the epsilon stated with a cap in rho


@final
class Balance:
    """One account's cap and the part of it that its reservations take. Refusals change nothing.

    Raises:
        LedgerError: the terms cannot be kept.
    """

    def __init__(self, account: str, terms: Terms) -> None:
        self._account = account
        self.terms = terms
        self._filter: Filter | None = None
        self._taken = Taken()  # by what stands in the filter, or under a cap in rho
        self.by_period: dict[str, Fraction] = {}  # rho that is taken in a series
        self.planned: Mapping[str, Fraction] = {}  # rho
        # Budgets of what is not given back: by state, by allowance, of what is summed, and of what
        # states no cost.
        self._sums: dict[tuple[str, str | None], Pair] = defaultdict(lambda: _NOTHING)
        self._stated_rho = Fraction(0)
        self._refuse_without_delta(terms)
        self._refuse_wrong_rho(terms)
        if terms.presence is not None and terms.rho_cap is None:
            raise AccountRefused(f"account {account!r}: a series needs a cap in rho")

    def copy(self) -> "Balance":
        """A balance that changes without changing this one."""
        made = copy(self)
        made._sums = self._sums.copy()
        made.by_period = self.by_period.copy()
        made.planned = dict(self.planned)
        return made

    # What is taken and left

    @property
    def spent(self) -> Pair:
        """Budgets of reservations with a charge, added up."""
        return self._sums["state", "spent"]

    @property
    def reserved(self) -> Pair:
        """Budgets of open reservations without a charge, added up."""
        return self._sums["state", "reserved"]

    @property
    def remaining(self) -> Pair:
        """The budget that one more release can reserve; with a filter, roughly a Gaussian one's; in
        a series, one about whatever period."""
        cap = self.terms.cap
        if self.terms.rho_cap is not None:
            return gaussian_epsilon(self.terms.rho_cap - self._rho_promised, cap.delta), cap.delta
        left = self._left_of_sums
        if self._standing is None:
            return left
        rho = self._standing.rho_left(self._taken, left[0])
        gaussian = min(left[0], gaussian_epsilon(rho, self._standing.delta))
        return max(gaussian, self._left_of_pure(left[0])), self._standing.delta

    @property
    def share_left(self) -> Fraction:
        """Share of the cap that remains, in the account's own currency, in [0, 1].

        Rounded down: exact sums of many noises have thousands of digits.
        """
        return floor(self._share_left / _SHARE) * _SHARE

    @property
    def _share_left(self) -> Fraction:
        cap = self.terms.cap
        if self.terms.rho_cap is not None:
            return 1 - self._rho_taken / self.terms.rho_cap
        epsilon, delta = self._left_of_sums
        if self._standing is not None:
            whole = cap.epsilon - self._standing.conversion
            left = self._standing.order * self._standing.rho_left(self._taken, epsilon)
            by_order = left / whole if whole > 0 else Fraction(0)
            return max(by_order, self._left_of_pure(epsilon) / cap.epsilon)
        shares = [epsilon / cap.epsilon, *([delta / cap.delta] if cap.delta else [])]
        return min(shares)

    @property
    def composed(self) -> float | None:
        """Epsilon of all reservations together at the cap's delta, the least that is proved: by
        zCDP if they state their cost, by the filter, or as a sum. None if the cap has no delta, or
        no delta is left for the proof.
        """
        cap = self.terms.cap
        if cap.is_pure:
            return None
        epsilon, delta = added([self.spent, self.reserved])
        bounds = [float_above(epsilon)] if delta <= cap.delta else []
        if self.terms.presence is not None:
            return min([*bounds, zcdp_epsilon(self._rho_taken, cap.delta)])
        epsilon, delta = self._sums["stated", "no"]
        if delta < cap.delta:
            converted = zcdp_epsilon(self._stated_rho, cap.delta - delta)
            bounds.append(float_above(epsilon) + converted)
        if self._standing is not None:
            summed = self._sums["summed", "yes"][0]
            by_order = summed + self._standing.conversion + self._taken.divergence
            bounds.append(float_above(by_order))
        return min(bounds, default=None)

    # What changes it

    def put(self, before: Reservation | None, after: Reservation) -> None:
        """Count a reservation in place of the release's earlier one."""
        for one, by in ((before, -1), (after, 1)):
            if one is None or one.state == "cancelled":
                continue
            for key in (
                ("state", one.state),
                ("allowance", one.allowance),
                ("summed", "no" if one.filtered else "yes"),
                ("stated", "no" if one.cost is None else "yes"),
            ):
                epsilon, delta = self._sums[key]
                self._sums[key] = epsilon + by * one.budget.epsilon, delta + by * one.budget.delta
            if one.cost is not None:
                self._stated_rho += by * one.cost.rho
                if one.period is not None:
                    rho = self.by_period.get(one.period, Fraction(0)) + by * one.cost.rho
                    self.by_period[one.period] = rho
                if one.filtered:
                    divergence = self._filter.divergence(one.cost) if self._filter else Fraction(0)
                    self._taken = self._taken.changed(one.cost, divergence, by=by)

    def admit(
        self,
        release: str,
        budget: Budget,
        cost: Cost | None,
        opened: Filter | None,
        about: str | None = None,
    ) -> tuple[Cost | None, bool]:
        """Whether a release may reserve a budget; its cost, and whether the filter admits it.

        Args:
            about: name of the period that it is about, in a series.
            opened: the filter that the reservation opens, from `opening` when it was entered.
        Raises:
            BudgetRefused: too little is left.
            AccountRefused: the filter is not one that may be opened, or the cost is not stated.
        """
        standing = self._standing
        if opened is not None:
            if self.terms.composition == "sum" or self.terms.rho_cap or standing is not None:
                raise AccountRefused(f"account {self._account!r}: no filter can be opened now")
            standing = opened
        if standing is None and self.terms.rho_cap is None:
            self._refuse_beyond_sums(release, budget)
            self._filter = None
            return cost, False
        if cost is None and budget.is_pure:
            cost = Cost(pure=budget.epsilon, rho=budget.epsilon**2 / 2)
        if cost is None:
            raise AccountRefused(
                f"account {self._account!r}: release {release!r} does not state its cost in zCDP, "
                "by which the account composes its releases"
            )
        if self.terms.presence is not None:
            self._refuse_beyond_series(release, budget, cost, about)
            return cost, True
        if not self._passes(standing, cost):
            left = self.remaining
            raise BudgetRefused(
                f"account {self._account!r}: release {release!r} asks for {shown(budget)}, "
                f"which is rho {float(cost.rho):.4g}. Composed by zCDP, the releases so far leave "
                f"about epsilon {float(left[0]):g} at delta {float(left[1]):g} of the cap "
                f"{shown(self.terms.cap)}; ask for less, cancel a reservation that is not used, or "
                "have the cap raised"
            )
        self._filter = standing
        return cost, True

    def refuse_beyond(self, allowance: Allowance, release: str, budget: Budget) -> None:
        """Refuse a budget that would exceed an allowance.

        Raises:
            BudgetRefused: the budget would exceed the allowance.
        """
        taken = self._sums["allowance", allowance.name]
        epsilon, delta = added([taken, (budget.epsilon, budget.delta)])
        if epsilon > allowance.budget.epsilon or delta > allowance.budget.delta:
            raise BudgetRefused(
                f"account {self._account!r}: release {release!r} asks for {shown(budget)}, but "
                f"{allowance.name!r} allows {shown(allowance.budget)}, of which {shown(taken)} is "
                "taken; ask for less, wait for the next period, or have its budget raised"
            )

    def set_cap(self, cap: Budget, rho_cap: Fraction | None, refitted: Filter | None) -> None:
        """Take another cap, which must cover what is taken.

        Args:
            refitted: the filter under the new cap, from the method `refitted`.
        """
        if (self.terms.rho_cap is None) != (rho_cap is None):
            raise AccountRefused(
                f"account {self._account!r}: a cap in epsilon cannot become one in rho, nor the "
                "other way; open another account"
            )
        terms = replace(self.terms, cap=cap, rho_cap=rho_cap)
        self._refuse_without_delta(terms)
        self._refuse_wrong_rho(terms)
        standing = self._standing
        if refitted is not None and (standing is None or refitted.order != standing.order):
            raise AccountRefused(
                f"account {self._account!r}: the order of its filter cannot change"
            )
        if not self._covers(terms, refitted or standing):
            composed = "" if standing is None else f", epsilon {self.composed:.4g} by zCDP"
            taken = f"{shown(added([self.spent, self.reserved]))} is spent or reserved{composed}"
            if terms.presence is not None:
                promised = f"rho {float(self._rho_promised):.4g}"
                taken = f"{promised} is taken and planned for {terms.presence}"
            raise AccountRefused(
                f"account {self._account!r}: the cap cannot be {shown(cap)}, since {taken}; set it "
                "to at least that, or cancel unused reservations first"
            )
        self._filter = refitted or standing
        self.terms = terms

    def set_plan(self, planned: Mapping[str, Fraction]) -> None:
        """Take another plan of the series: the rho that periods have, by their names.

        Raises:
            AccountRefused: the account keeps no series; the cap does not cover the plan together
                with what is taken; or a name is none of the series' periods.
        """
        presence, cap = self.terms.presence, self.terms.rho_cap
        if presence is None or cap is None:
            raise AccountRefused(
                f"account {self._account!r} keeps no series, so nothing is planned"
            )
        for name in planned:
            self._refuse_other_period(presence, name)
        if any(rho <= 0 for rho in planned.values()):
            raise AccountRefused(
                f"account {self._account!r}: a period has some rho, or is left out"
            )
        promised = presence.heaviest(_numbered(_larger(self.by_period, planned)))
        if promised > cap:
            raise AccountRefused(
                f"account {self._account!r}: the plan and what is taken come to rho "
                f"{float(promised):.4g} for {presence}, and the cap is {float(cap):.4g}; plan "
                "less, or have the cap raised"
            )
        self.planned = dict(planned)

    def left_for(self, about: str) -> Fraction:
        """The rho that releases about a period of a series can still reserve.

        Raises:
            AccountRefused: the account keeps no series, or this is none of its periods.
        """
        presence, cap = self.terms.presence, self.terms.rho_cap
        if presence is None or cap is None:
            raise AccountRefused(f"account {self._account!r} keeps no series of periods")
        self._refuse_other_period(presence, about)
        promised = _larger(self.by_period, self.planned)
        promised |= {about: self.by_period.get(about, Fraction(0))}
        return cap - presence.heaviest(_numbered(promised), holding=period(about).number)

    # What a filter is opened or kept with, for whoever writes the entry that records it

    def opening(self, budget: Budget, cost: Cost | None) -> Filter | None:
        """The filter that a reservation opens; None if one is open, or would not admit it.

        A pure release is summed until a filter is open, which takes nothing of delta.
        """
        left = self._unsummed
        if self.terms.composition == "sum" or self.terms.rho_cap or self._standing or not left:
            return None
        if cost is None or budget.is_pure:
            return None
        found = Filter.opened(left)
        taken = Taken().changed(cost, found.divergence(cost))
        return found if found.admits(taken, left.epsilon) else None

    def refitted(self, cap: Budget) -> Filter | None:
        """The open filter under another cap, with the same order; None if none is open."""
        if self._standing is None:
            return None
        # Its delta excludes what was cancelled since it opened: answers may have decided that.
        delta = self._standing.delta + cap.delta - self.terms.cap.delta
        if delta <= 0:
            raise AccountRefused(
                f"account {self._account!r}: delta {float(cap.delta):g} leaves none for the filter "
                "of its releases; set a larger one"
            )
        return Filter.at(self._standing.order, Budget(epsilon=cap.epsilon, delta=delta))

    def refiltered(self, reservations: Iterable[Reservation], opened: Filter | None) -> "Balance":
        """The balance that composes by a filter, with these reservations instead of its own.

        Args:
            opened: the filter of the reservations that are `filtered`.
        Raises:
            AccountRefused: that is impossible, or they do not fit the cap in that way.
        """
        if self.terms.composition != "sum":
            raise AccountRefused(f"account {self._account!r}: its releases compose by zCDP already")
        balance = Balance(self._account, replace(self.terms, composition="zcdp"))
        balance._filter = opened
        for one in reservations:
            balance.put(None, one)
        if not balance._covers(balance.terms, opened):
            raise AccountRefused(
                f"account {self._account!r}: its releases so far fit {shown(self.terms.cap)} as "
                "sums only, not by zCDP; let them stay sums"
            )
        return balance

    def reopening(self, summed: Iterable[Reservation]) -> Filter | None:
        """The filter for all but these reservations; None if they leave no epsilon or delta."""
        balance = Balance(self._account, self.terms)
        for one in summed:
            balance.put(None, one)
        left = balance._unsummed
        return None if left is None else Filter.opened(left)

    # The law

    @property
    def _rho_taken(self) -> Fraction:
        """What the account has taken of a cap in rho; of a series, in the most exposed periods."""
        if self.terms.presence is None:
            return self._taken.rho
        return self.terms.presence.heaviest(_numbered(self.by_period))

    @property
    def _rho_promised(self) -> Fraction:
        """The same, with what is planned."""
        if self.terms.presence is None:
            return self._taken.rho
        return self.terms.presence.heaviest(_numbered(_larger(self.by_period, self.planned)))

    def _refuse_other_period(self, presence: Presence, name: str) -> None:
        try:
            if (length := period(name).length) != presence.length:
                raise ValueError(f"{name!r} is a {length}")
        except ValueError as error:
            raise AccountRefused(
                f"account {self._account!r} keeps a series of {presence.length}s: {error}"
            ) from None

    def _refuse_beyond_series(
        self, release: str, budget: Budget, cost: Cost, about: str | None
    ) -> None:
        presence = self.terms.presence
        if about is None:
            raise AccountRefused(
                f"account {self._account!r} keeps a series, {presence}, and release {release!r} "
                "does not state the period that it is about; give it as series.period in the spec"
            )
        left = self.left_for(about)
        if cost.rho > left:
            delta = self.terms.cap.delta
            raise BudgetRefused(
                f"account {self._account!r}: release {release!r} about {about} asks for "
                f"{shown(budget)}, which is rho {float(cost.rho):.4g}. What is taken and planned "
                f"for {presence} leaves rho {float(left):.4g}, about epsilon "
                f"{float(gaussian_epsilon(max(left, Fraction(0)), delta)):g} at delta "
                f"{float(delta):g}; ask for less, change the plan of the series, or have the cap "
                "raised"
            )

    @property
    def _standing(self) -> Filter | None:
        """The filter, if it has admitted a release; else None."""
        return self._filter if self._taken.releases else None

    @property
    def _left_of_sums(self) -> Pair:
        epsilon, delta = self._sums["summed", "yes"]
        return self.terms.cap.epsilon - epsilon, self.terms.cap.delta - delta

    def _left_of_pure(self, epsilon: Fraction) -> Fraction:
        """The epsilon that one more pure release may take, if all others are pure."""
        return Fraction(0) if self._taken.impure else epsilon - self._taken.pure

    @property
    def _unsummed(self) -> Budget | None:
        """The part of the cap that sums leave; None if that is no epsilon or no delta."""
        epsilon, delta = self._left_of_sums
        return Budget(epsilon=epsilon, delta=delta) if epsilon > 0 and delta > 0 else None

    def _passes(self, standing: Filter | None, cost: Cost) -> bool:
        if self.terms.rho_cap is not None:
            return self._rho_taken + cost.rho <= self.terms.rho_cap
        assert standing is not None, "a filter admits"
        epsilon, delta = self._left_of_sums
        taken = self._taken.changed(cost, standing.divergence(cost))
        return standing.delta <= delta and standing.admits(taken, epsilon)

    def _covers(self, terms: Terms, standing: Filter | None) -> bool:
        """Whether other terms, and a filter under them, cover everything that is taken."""
        if terms.rho_cap is not None:
            return self._rho_promised <= terms.rho_cap
        summed = self._sums["summed", "yes"]
        epsilon, delta = terms.cap.epsilon - summed[0], terms.cap.delta - summed[1]
        if epsilon < 0 or delta < 0:
            return False
        if not self._taken.releases:
            return True
        return (
            standing is not None
            and standing.delta <= delta
            and standing.admits(self._taken, epsilon)
        )

    def _refuse_beyond_sums(self, release: str, budget: Budget) -> None:
        epsilon, delta = self._left_of_sums
        if budget.epsilon > epsilon or budget.delta > delta:
            raise BudgetRefused(
                f"account {self._account!r}: release {release!r} asks for {shown(budget)}, but "
                f"only {shown((epsilon, delta))} is left of the cap {shown(self.terms.cap)}; ask "
                "for less, cancel a reservation that is not used, or have the cap raised"
            )

    def _refuse_without_delta(self, terms: Terms) -> None:
        if terms.composition == "zcdp" and terms.cap.is_pure:
            raise AccountRefused(
                f"account {self._account!r}: with delta 0 only sums of epsilons can be proved; "
                "give the cap a delta, or let its releases compose as sums"
            )

    def _refuse_wrong_rho(self, terms: Terms) -> None:
        """Refuse a cap in rho with a stated epsilon other than the one it implies."""
        if terms.rho_cap is None:
            return
        if terms.composition != "zcdp" or not terms.rho_cap > 0:
            raise AccountRefused(
                f"account {self._account!r}: a cap in rho is positive, and needs composition zcdp"
            )
        implied = zcdp_epsilon(terms.rho_cap, terms.cap.delta)
        if float(terms.cap.epsilon) < implied * (1 - _ROUNDING):
            raise AccountRefused(
                f"account {self._account!r}: rho {float(terms.rho_cap):g} implies epsilon "
                f"{implied:g} at delta {float(terms.cap.delta):g}, more than "
                f"{shown(terms.cap)}"
            )


def _larger(some: Mapping[str, Fraction], others: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """The larger of the two for each period."""
    return dict(some) | {name: max(rho, some.get(name, rho)) for name, rho in others.items()}


def _numbered(by_period: Mapping[str, Fraction]) -> dict[int, Fraction]:
    return {period(name).number: rho for name, rho in by_period.items()}


def added(pairs: Iterable[Pair]) -> Pair:
    """Epsilons and deltas, each added up."""
    rows = list(pairs)
    return sum((e for e, _ in rows), Fraction(0)), sum((d for _, d in rows), Fraction(0))
