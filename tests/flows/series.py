"""A monthly series that a calendar runs, with people who decide, for tests of several flows."""

from fractions import Fraction
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from hallmark.mechanisms.privacy.account_filter import implied_budget
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.mechanisms.privacy.presence import Presence
from hallmark.tasks.installation.workspace import ledger_url
from tests import example
from tests.flows.conftest import Done, Hallmark
from tests.flows.people import introduce

ROWS = 400
DELTA = Fraction(1, 10**5)
CAP = Fraction(1, 5)
SHARE = Fraction(1, 20)  # of one month; epsilon 1 costs less
MONTHS = ("2026-09", "2026-10", "2026-11")


class MonthlySeries:
    """A calendar whose entry `acs` has a table for each of three months, all in one account."""

    def __init__(self, hallmark: Hallmark, folder: Path, home: Path, **spec: Any) -> None:
        self.hallmark, self.home, self.folder = hallmark, home, folder
        self.out = folder / "out"
        self.keys = introduce(folder / "keys", home)
        few = example.some_columns("age", "region")
        few["data"]["source"] = "people-{period}.csv"
        sections = {
            "release": "acs-{period}",
            "series": {"period": "{period}", "learn": True},
            "mechanism": {"name": "mst"},
        }
        self.spec = example.write(folder, ROWS, **(sections | few | spec))
        for month in MONTHS:
            self.table(month)
        self.calendar = folder / "calendar.yaml"
        self.schedule()
        self.open()

    def open(self, account: str = "test-people") -> None:
        """Open an account of months in one of which a person may be."""
        example.open_account(
            account,
            cap=implied_budget(CAP, DELTA),
            rho_cap=CAP,
            composition="zcdp",
            presence=Presence(length="month", most=1),
        )

    def schedule(self, **entry: Any) -> None:
        """Write the calendar, with these keys of the entry."""
        keys = {
            "spec": self.spec.name,
            "period": "month",
            "cron": "0 2 1 * *",
            "budget": {"epsilon": "2", "delta": "1e-4"},
        }
        content = {"hallmark_calendar": 1, "releases": {"acs": keys | entry}}
        with self.calendar.open("w") as handle:
            YAML().dump(content, handle)

    def table(self, month: str) -> None:
        """Deliver the table of a month."""
        table = example.table(ROWS, int(month[-2:]))
        table.to_csv(self.folder / f"people-{month}.csv", index=False, na_rep="NA")

    def plan(self, share: Fraction = SHARE, account: str = "test-people") -> None:
        """Give the months their shares of the cap."""
        Ledger(ledger_url()).plan_series(
            account, dict.fromkeys(MONTHS, share), by="tests", reason="tests"
        )

    def change(self, old: str, new: str) -> None:
        """Change the text of the template."""
        text = self.spec.read_text()
        assert text.count(old) == 1, text
        self.spec.write_text(text.replace(old, new))

    def run(self, period: str, *options: str) -> Done:
        return self.hallmark(
            "calendar", "run", self.calendar, "acs", "--period", period, "--out", self.out, *options
        )

    def decide(self, what: str, release: str, name: str, role: str = "") -> Done:
        arguments = ["--name", name, "--key", self.keys[name], "--reason", "for the test"]
        arguments += ["--role", role] if role else []
        return self.hallmark(what, release, *arguments)
