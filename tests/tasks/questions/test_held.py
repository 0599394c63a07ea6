"""What is said of intervals from replicate weights was measured of their kind, or is not said."""

import re
from pathlib import Path

import pytest

from hallmark.schemas.question import parse_question
from hallmark.tasks.questions.held import held

UNKNOWN = "how often intervals of this kind hold was not measured"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("count by a, b, c", "92 to 99 % of cases, of numbers below 10 in 74 to 91 %"),
        ("share of a = 1 by b, c, d", "82 to 98 %"),
        ("count by a, b, c, d, e", UNKNOWN),
        ("mean of a", "82 to 91 %"),
        ("mean of a by b", "91 to 96 %"),
        ("mean of a by b, c", "86 to 94 %"),
        ("mean of a by b, c, d", UNKNOWN),
        ("median of a", "82 to 95 %"),
        ("median of a by b", UNKNOWN),
        ("sum of a", UNKNOWN),
        ("mean of a where b = 1 minus mean of a where b = 2", UNKNOWN),
    ],
)
def test_a_kind_of_question_is_told_what_was_measured_of_it(text: str, says: str) -> None:
    assert says in held(parse_question(text))


def test_the_figures_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs/replicates.md").read_text()
    rows = {
        cells[0]: [float(number) for number in re.findall(r"\.\d\d", " ".join(cells[1:4]))]
        for line in page.splitlines()
        if len(cells := line.strip("| ").split(" | ")) >= 4
    }
    shares = rows["shares, 1-, 2-, 3-way"]
    quantiles = rows["means; quantiles"][1::2]
    for kind, found in (
        ("count by a", shares),
        ("count by a, b, c, d", rows["shares, 4-way"]),
        ("mean of a", rows["means; quantiles"][0::2]),
        ("median of a", quantiles),
        ("mean of a by b", rows["means in a group; in 2-way groups"][0::2]),
        ("mean of a by b, c", rows["means in a group; in 2-way groups"][1::2]),
    ):
        said = f"{100 * min(found):.0f} to {100 * max(found):.0f} %"
        assert said in held(parse_question(kind)), kind
