"""The subjects of ledger entries: terms, reservations, allowances; and their plain JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from hallmark.mechanisms.privacy.account_filter import Filter
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.costs import Cost
from hallmark.mechanisms.privacy.ledger.errors import LedgerError
from hallmark.mechanisms.privacy.presence import LENGTHS, Presence

Pair = tuple[Fraction, Fraction]
"""Epsilon and delta; unlike a `Budget` it may be zero."""

Composition = Literal["sum", "zcdp"]
"""How the releases of an account compose: budgets add up, or a filter admits their costs."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms with which an account was opened, and its present cap.

    Attributes:
        cap: the most that may ever be spent on the population.
        rho_cap: the cap in zCDP, which implies `cap`; None if `cap` itself is the cap.
        presence: in which periods of a series one unit may have records; None if every release may
            be about all of them.
    """

    adjacency: Adjacency
    cap: Budget
    composition: Composition
    opened_at: str  # UTC, ISO 8601
    rho_cap: Fraction | None = None
    presence: Presence | None = None


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The budget that releases of one kind may reserve together, such as those of one month."""

    name: str
    budget: Budget


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Budget set aside for one release.

    Attributes:
        binding: digest of the questions that the release may ask.
        allowance: name of the allowance that it counts against.
        period: name of the period that it is about, if the account keeps a series.
        cost: the most that its events may cost; None if only its budget bounds them.
        filtered: whether the account's filter admitted it, instead of summing it.
        proved: whether it was entered from what the release published, since the ledger had lost
            its draws; nothing more may be drawn for it.
    """

    account: str
    release: str
    budget: Budget
    state: Literal["reserved", "spent", "cancelled"]
    binding: str
    allowance: str | None = None
    period: str | None = None
    cost: Cost | None = None
    filtered: bool = False
    proved: bool = False


def terms_to_json(terms: Terms) -> dict[str, Any]:
    """Plain JSON of the terms of an account, without the time of its opening."""
    return {
        "cap": cap_to_json(terms.cap, terms.rho_cap),
        "composition": terms.composition,
        "neighbours": terms.adjacency.neighbours.value,
        "records": terms.adjacency.records,
        "person": terms.adjacency.person,
    } | ({} if terms.presence is None else {"presence": presence_to_json(terms.presence)})


def terms_from_json(row: Mapping[str, Any], opened_at: str) -> Terms:
    """Inverse of `terms_to_json`; entries of earlier versions have no composition."""
    return Terms(
        adjacency=Adjacency(
            neighbours=Neighbours(row["neighbours"]), records=row["records"], person=row["person"]
        ),
        cap=budget_from_json(row["cap"]),
        composition=composition_from_json(row.get("composition", "sum")),
        opened_at=opened_at,
        rho_cap=rho_from_json(row["cap"]),
        presence=presence_from_json(row.get("presence")),
    )


def presence_to_json(presence: Presence) -> dict[str, Any]:
    """Plain JSON of the periods that one unit may have records in."""
    pattern = presence.pattern
    return {
        "length": presence.length,
        "pattern": None if pattern is None else list(pattern),
        "most": presence.most,
    }


def presence_from_json(row: Mapping[str, Any] | None) -> Presence | None:
    """Inverse of `presence_to_json`; None if there is none.

    Raises:
        LedgerError: this version does not know such periods.
    """
    if row is None:
        return None
    for length in LENGTHS:
        if length == row["length"]:
            pattern = None if row["pattern"] is None else tuple(row["pattern"])
            return Presence(length=length, pattern=pattern, most=row["most"])
    raise LedgerError(f"periods of a {row['length']!r} are unknown here")


def composition_from_json(name: str) -> Composition:
    """The composition with this name.

    Raises:
        LedgerError: this version does not know it.
    """
    match name:
        case "sum" | "zcdp":
            return name
    raise LedgerError(
        f"composition {name!r} is unknown here: use the version of hallmark that wrote it, or a "
        "newer one"
    )


def cap_to_json(cap: Budget, rho_cap: Fraction | None) -> dict[str, str]:
    """Plain JSON of a cap, exact."""
    return budget_to_json(cap) | ({} if rho_cap is None else {"rho": str(rho_cap)})


def rho_from_json(row: Mapping[str, str]) -> Fraction | None:
    """Rho of a cap; None if the cap is not in zCDP."""
    return Fraction(row["rho"]) if "rho" in row else None


def budget_to_json(budget: Budget) -> dict[str, str]:
    """Plain JSON of a budget, exact."""
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}


def budget_from_json(row: Mapping[str, str]) -> Budget:
    """Inverse of `budget_to_json`."""
    return Budget(epsilon=Fraction(row["epsilon"]), delta=Fraction(row["delta"]))


def allowance_to_json(allowance: Allowance) -> dict[str, Any]:
    """Plain JSON of an allowance, exact."""
    return {"name": allowance.name, "budget": budget_to_json(allowance.budget)}


def allowance_from_json(row: Mapping[str, Any] | None) -> Allowance | None:
    """Inverse of `allowance_to_json`; None if there is none."""
    if row is None:
        return None
    return Allowance(name=row["name"], budget=budget_from_json(row["budget"]))


def cost_to_json(cost: Cost) -> dict[str, str | None]:
    """Plain JSON of a cost, exact."""
    return {"pure": None if cost.pure is None else str(cost.pure), "rho": str(cost.rho)}


def cost_from_json(row: Mapping[str, Any] | None) -> Cost | None:
    """Inverse of `cost_to_json`; None if there is none."""
    if row is None:
        return None
    pure = row["pure"]
    return Cost(pure=None if pure is None else Fraction(pure), rho=Fraction(row["rho"]))


def planned_to_json(planned: Mapping[str, Fraction]) -> dict[str, str]:
    """Plain JSON of the rho that periods have, by their names; exact."""
    return {name: str(planned[name]) for name in sorted(planned)}


def planned_from_json(row: Mapping[str, str]) -> dict[str, Fraction]:
    """Inverse of `planned_to_json`."""
    return {name: Fraction(rho) for name, rho in row.items()}


def filter_to_json(terms: Filter) -> dict[str, str]:
    """Plain JSON of a filter's terms, exact."""
    return {name: str(value) for name, value in vars(terms).items()}


def filter_from_json(row: Mapping[str, str] | None) -> Filter | None:
    """Inverse of `filter_to_json`; None if there is none. Raises if the filter claims too much."""
    return None if row is None else Filter(**{name: Fraction(row[name]) for name in row})


def shown(budget: Budget | Pair) -> str:
    """An (epsilon, delta) for people: decimals if they are exact, else fractions."""
    pair = (budget.epsilon, budget.delta) if isinstance(budget, Budget) else budget
    epsilon, delta = map(decimals, pair)
    return f"epsilon {epsilon}, delta {delta}"


def decimals(value: Fraction) -> str:
    """A number for people: in decimals if they are exact and short, else as a fraction."""
    short = f"{float(value):.12g}"
    return short if Fraction(short) == value else str(value)
