"""Write the tables of a monthly series, for the example in `schemas/examples/series`.

Every person of a table of the American Community Survey, which asks some people in every month,
is given a month by a seed: the excerpts do not say which it was. So nobody is in two months.

    python -m hallmark.flows.months schemas/examples/data/national2019.csv.gz build/series
"""

import gzip
import random
import sys
from pathlib import Path

from hallmark.flows.screen import say

SEED = 2019


def main(table: Path, folder: Path) -> None:
    """Write the persons of each month of 2019 to a file of the folder."""
    with gzip.open(table, "rt", encoding="utf-8", newline="") as lines:
        header, *people = lines
    draw = random.Random(SEED)
    months: dict[int, list[str]] = {month: [header] for month in range(1, 13)}
    for person in people:
        months[draw.randint(1, 12)].append(person)
    folder.mkdir(parents=True, exist_ok=True)
    for month, rows in months.items():
        file = folder / f"people-2019-{month:02d}.csv"
        file.write_text("".join(rows), encoding="utf-8", newline="")
    say(f"Wrote the people of twelve months to {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
