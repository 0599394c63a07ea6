"""The public domain of a release: its columns, with edit rules and public totals that can hold."""

from collections.abc import Collection

from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.domain.rules import Contradiction, Rules, check
from hallmark.mechanisms.domain.totals import PublicTotals, TotalsContradict, TotalsTooWide
from hallmark.mechanisms.domain.totals import check as check_totals
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.planning.rule_tables import RuleTooWide, rules_on
from hallmark.tasks.planning.total_tables import TotalRefused, total_cells


def domain_of(spec: ReleaseSpec) -> Domain:
    """The spec's columns in cells, with its rules and totals.

    Raises:
        PlanRefused: distances are no metric, or no table obeys the rules and has the totals.
    """
    codec = TableCodec.of(spec.columns)
    try:
        attributes = codec.domain.attributes
    except ValueError as error:
        raise PlanRefused(str(error)) from error
    rules = _rules(spec, codec)
    return Domain(attributes, rules=rules, totals=_totals(spec, codec, rules))


def _rules(spec: ReleaseSpec, codec: TableCodec) -> Rules:
    """The edit rules on cells, which no mechanism can be asked to obey if they contradict."""
    try:
        rules = rules_on(spec.rules, codec).rules
        check(rules, codec.names)
    except RuleTooWide as error:
        raise PlanRefused(f"{_places(spec, [error.rule])}: {error}") from error
    except Contradiction as error:
        raise PlanRefused(
            f"{_places(spec, error.rules)}: {error}; correct one of them, or widen the columns' "
            "domains"
        ) from error
    return rules


def _totals(spec: ReleaseSpec, codec: TableCodec, rules: Rules) -> PublicTotals:
    """The public totals on cells, which some table that obeys the rules must have."""
    try:
        totals = total_cells(spec, codec)
        check_totals(totals, rules, codec.names)
    except TotalRefused as error:
        raise PlanRefused(str(error)) from error
    except TotalsTooWide as error:
        raise PlanRefused(f"{', '.join(error.totals)}: {error}") from error
    except TotalsContradict as error:
        where = ", ".join([*error.totals, *filter(None, [_places(spec, error.rules)])])
        raise PlanRefused(f"{where}: {error}; correct one of them") from error
    return totals


def _places(spec: ReleaseSpec, rules: Collection[str]) -> str:
    """Where the spec states these rules."""
    numbers = (i for i, constraint in enumerate(spec.constraints) if constraint.rule in rules)
    return ", ".join(f"constraints[{i}]" for i in numbers)
