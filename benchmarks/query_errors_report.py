"""The page about measured errors of linear queries, written from the journal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import query_errors_tables as tables
from benchmarks.query_errors_fits import MIRROR_DESCENT, Line, width
from benchmarks.query_errors_plots import plot_errors, plot_laws

ENOUGH = 4_000  # records times epsilon from which on Theorem 5 holds for the grid's queries

PAGE = """# Linear queries, measured

This page is made by `python -m benchmarks.query_errors report` from [errors.jsonl](errors.jsonl),
one JSON line a run (`... run` makes those that are missing). [Linear queries](../linear-queries.md)
says what the methods are, and which to take.

**Runs.** Whole releases with simulated noise: plan, measure (what was asked is checked against the
budget), records, certificate. δ = 10⁻⁵, a record is replaced, so the number of records is public.
One thread. At d = 8 there are one to three runs of a kind, above that one. {state}

**Data.** *binary*: yes/no questions about census income records (UCI Adult), of 48,842 people, the
first d of twenty (`benchmarks/query_errors_data.py`); there are 20 since some columns are asked
about twice, so some answers exclude others. *acs-binary*: the first d of sixteen questions to the
people of the national excerpt of the American Community Survey 2019. Seeds draw other records and
other noise.
*adult*, *acs*: six categorical columns of Adult (9 × 16 × 7 × 15 × 2 × 2 cells) and of the national
excerpt of the American Community Survey 2019 (2 × 7 × 9 × 3 × 13 × 11).

**Errors** are of the released answers (`answers.csv`), beside the exact ones: the largest and the
mean over all queries, means over seeds. All queries are shares, so .01 is one record in a hundred.
*certified* is the largest bound of the certificate (confidence .95), *forecast* what `plan` said.
CPU seconds include planning and the certificate, on a machine that others used too: the same run
may take two to three times as many. {base} MiB of a peak are imported code.

## By number of columns

All cells of all three-way marginals; n = 10,000, ε = 1.

{columns}

The same of *acs-binary*.

{survey}

## By records and ε

d = 8, three-way marginals (448 queries). Largest error / mean error; a dash was not run.

{budget}

## By workload

d = 8, n = 10,000, ε = 1. *random*: so many conjunctions of two to four columns. Largest error /
mean error; a dash was not run.

{workload}

## Categorical columns

All cells of all two-way marginals. Largest error / mean error; CPU seconds and peak at ε = 1.

{categorical}

## Settings

d = 8, n = 10,000, ε = 1, three-way marginals.

{settings}

![Largest errors by records, epsilon, queries and columns](errors.png)

## Runs without a result

{failures}

Cases of `benchmarks/query_errors.py` that were not run, by its parts, in all seeds:

{missing}

## Fitted exponents

Of the largest error (of the Frank–Wolfe gap for Theorem 1) in n and ε, fitted together over all
runs by records and ε above, and over those with nε ≥ {enough:,}, from where on Theorem 5 holds for
these queries (n ≥ w³ log(1/δ) / (ε log^{{3/2}} k), w = {width:.1f}). Then that of log 2|Q|, or of
the Gaussian width w for DPAM, over random workloads at n = 10,000, ε = 1, with fewer runs.
± is a standard error; in brackets what is claimed, a dash where we compare with nothing.

{slopes}

Where they differ from the theorems', and why:

- Exponents of ε are nearer to 0 than those of n, since noise is accounted for exactly: from ε = 0.2
  to 2.5 the noise that a budget buys falls as ε^-0.92, not as ε^-1.
- The exponents of Theorems 1 and 3 come out nearly, with the paper's constants and our noise. By
  default `dpfw` falls faster: averaging the later half of the path takes off most of what the noise
  of a single iterate leaves, and the theorems are about the worst data.
- `dpam` is steeper in n than Theorem 5 and no better for it: what it starts from, a histogram, has
  noise of order n^-1, and Theorem 5 bounds the error by about the square root of that.
  `linear-queries` keeps the n^-1.
- The gap of Theorem 1 grows faster with log 2|Q| than its bound, from far below it: ten random
  queries are nowhere near the worst data.
- Small workloads need not follow a power of log 2|Q|: `mwem-queries` has 30 rounds, and so measures
  10 or 30 queries outright; `linear-queries` measures the same histogram for 30 as for 100.
- No error is much larger than that of the uniform distribution, where most methods start, which
  flattens slopes where nε is small. `fem` and `sep-fem` are flat at the other end: 300 rounds of 20
  records leave an error of their own that no budget takes away.
- As printed, `dpfw` hardly falls before nε is 25,000, since its noise stands for all cells of a
  query together, and `dpam` does not fall at all, since it steps away from the answers.

![Measured errors beside theorems with their constant set to 1](rates.png)

## Forecasts and certificates

Ratios to the measured largest error, over the grid: geometric mean, least and largest. A forecast
below 1 was passed. *held*: runs in which no error passed its bound, of all that finished.

{ratios}
"""


def write_report(
    journal: Mapping[Any, Line], asked: Mapping[str, Sequence[Line]], folder: Path
) -> None:
    """The page and its plots.

    Args:
        asked: the terms of all cases of every part, run or not.
    """
    runs = sorted(journal.values(), key=lambda line: (line["method"], line["seed"]))
    done = tables.finished(runs)
    grid = tables.at_base(done, "n", "epsilon")
    random = [
        line for line in tables.at_base(done, "queries") if line["queries"].endswith("random")
    ]
    page = PAGE.format(
        state=_state(runs),
        base=round(float(np.median([line["base_mib"] for line in done]))),
        columns=tables.by_columns(runs, "binary"),
        survey=tables.by_columns(runs, "acs-binary"),
        failures=tables.failures(runs),
        missing=tables.missing(asked, runs),
        budget=tables.by_budget(grid),
        workload=tables.by_workload(runs),
        categorical=tables.by_table(runs, ("adult", "acs")),
        settings=tables.costs(tables.at_base(done)),
        enough=ENOUGH,
        width=width(MIRROR_DESCENT.runs(grid)[0]),
        slopes=tables.slopes(grid, ENOUGH, random),
        ratios=tables.ratios(grid, runs),
    )
    (folder / "README.md").write_text(page)
    plot_errors(done, folder / "errors.png")
    plot_laws(grid, folder / "rates.png")


def _state(runs: Sequence[Line]) -> str:
    commits = ", ".join(sorted({line["commit"] for line in runs}))
    dates = sorted({line["date"] for line in runs})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"{len(runs):,} runs, {when}, commits {commits} (+: with changes not committed then)."
