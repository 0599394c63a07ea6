"""Epsilons of public deployments: `python -m hallmark.tasks.rendering.deployments` writes their
table into docs/deciding.md.

An epsilon means nothing without its unit: the same number for a day of somebody's use protects far
less than for all that is known of them. Each entry is as its publisher states it. A test fails
while the table is out of date.
"""

from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "deciding.md"
BEGIN, END = "<!-- deployments: begin -->\n", "<!-- deployments: end -->\n"
"""The marks between which the table stands."""


@dataclass(frozen=True)
class Deployment:
    """A deployment of differential privacy whose parameters are published.

    Attributes:
        epsilon, delta: as published; `delta` is empty for pure differential privacy.
        unit: what two tables differ in that cannot be told apart.
        period: after which the same is spent again; empty for a single release.
        source: where the publisher states it.
    """

    what: str
    publisher: str
    year: int
    epsilon: str
    delta: str
    unit: str
    period: str
    source: str

    @property
    def cost(self) -> str:
        """Epsilon and delta in one text."""
        return self.epsilon + (f", δ = {self.delta}" if self.delta else "")


DEPLOYMENTS = (
    Deployment(
        "counts of persons for redistricting, census of 2020",
        "US Census Bureau", 2021, "17.14", "1e-10", "a person (ρ = 2.56 in zCDP)", "",
        "https://arxiv.org/abs/2204.08986",
    ),
    Deployment(
        "counts of housing units for redistricting, census of 2020",
        "US Census Bureau", 2021, "2.47", "1e-10", "a housing unit (ρ = 0.07 in zCDP)", "",
        "https://arxiv.org/abs/2204.08986",
    ),
    Deployment(
        "synthetic records of live births in 2014",
        "Ministry of Health, Israel", 2024, "9.98", "", "a birth", "",
        "https://arxiv.org/abs/2405.00267",
    ),
    Deployment(
        "views of pages by country",
        "Wikimedia Foundation", 2023, "1", "1e-7",
        "ten pages that a device sees in a day (ρ = 0.015 in zCDP, which implies these)", "day",
        "https://arxiv.org/abs/2308.16298",
    ),
    Deployment(
        "visits to kinds of places, mobility reports",
        "Google", 2020, "2.64", "", "a day of a user", "day",
        "https://arxiv.org/abs/2004.04145",
    ),
    Deployment(
        "engagement of members with content",
        "LinkedIn", 2020, "34.9", "7e-9", "a month of a member", "month",
        "https://arxiv.org/abs/2002.05839",
    ),
    Deployment(
        "employers that hire most",
        "LinkedIn", 2020, "4.8", "4e-10", "one hiring of a member", "report",
        "https://arxiv.org/abs/2010.13981",
    ),
    Deployment(
        "emojis that are used most, noise added on the device",
        "Apple", 2017, "4", "", "what a device sends in a day", "day",
        "https://www.apple.com/privacy/docs/Differential_Privacy_Overview.pdf",
    ),
)  # fmt: skip


def with_table(page: str) -> str:
    """The page with the table as it should be between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{_table()}{END}{after}"


def _table() -> str:
    head = "| what | publisher | ε | protects | anew each | source |\n|---|---|---|---|---|---|\n"
    return head + "".join(
        f"| {one.what} | {one.publisher}, {one.year} | {one.cost} | {one.unit} | "
        f"{one.period or '–'} | <{one.source}> |\n"
        for one in DEPLOYMENTS
    )


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
