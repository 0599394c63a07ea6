"""Notice that one private table is charged to several accounts.

Each account then stays within its cap, but none shows the total privacy loss of the people in the
table. Copies are recognised by the installation's keyed digests (`tasks.planning.private_tables`),
only in restricted workspaces: that two tables are equal is an exact fact about both, so no public
file says it. A table that has changed since, or that another installation charges, is not
recognised.
"""

import sys

from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.visible import visible
from hallmark.tasks.installation.log import tell
from hallmark.tasks.ledger.anchors import open_ledger
from hallmark.tasks.planning.private_tables import releases_like


def warn_if_charged_twice(spec: ReleaseSpec, ledger: str) -> None:
    """Warn the operator, before the table is asked anything, if it is charged to other accounts."""
    accounts = _other_accounts(spec, ledger)
    if accounts:
        tell("charged-twice", accounts=sorted(accounts))
        print(visible(f"warning: {_warning(spec, accounts)}"), file=sys.stderr)


def charged_twice(spec: ReleaseSpec, ledger: str) -> tuple[str, ...]:
    """The warning, for people who read how the run ended; empty if there is none."""
    accounts = _other_accounts(spec, ledger)
    return (_warning(spec, accounts),) if accounts else ()


def _other_accounts(spec: ReleaseSpec, ledger: str) -> dict[str, str]:
    """Other accounts to which the private table was charged, each with one of their releases."""
    book, own = open_ledger(ledger), spec.population.account
    held = [book.reservation(release) for release in releases_like(spec.release)]
    return {
        one.account: one.release
        for one in held
        if one is not None and one.state == "spent" and one.account != own
    }


def _warning(spec: ReleaseSpec, accounts: dict[str, str]) -> str:
    own = spec.population.account
    others = ", ".join(
        f"{account} (by release {accounts[account]})" for account in sorted(accounts)
    )
    return (
        f"the private table of {spec.release}, on account {own}, was also charged to "
        f"{others}. The privacy loss of its people is the sum over these accounts, which none of "
        "them shows and no cap limits. All releases about the same people should name one "
        "population.account"
    )
