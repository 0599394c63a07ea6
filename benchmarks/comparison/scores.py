"""The metrics of one synthetic table; whichever implementation is imported here scores all runs."""

from benchmarks.data import Table
from hallmark.mechanisms.arrays import Codes64
from hallmark.mechanisms.utility import Label, evaluate

METRICS = {
    "downstream": "downstream error",
    "covariance": "covariance",
    "count": "counting queries",
    "thresh": "threshold queries",
    "sw1": "sliced W1 of pairs",
    "tv": "total variation of pairs",
}
"""Title by name; lower is better for all."""


def score(table: Table, synthetic: Codes64) -> dict[str, float]:
    """All metrics of `synthetic` against the table, those left out that it leaves undefined.

    Raises:
        ValueError: codes do not fit the domain.
    """
    found = evaluate(
        table.train,
        synthetic,
        list(table.cells.values()),
        test=table.test,
        label=Label(column=table.label, equals=1),
    )
    values = {name: getattr(found, name) for name in METRICS}
    return {name: float(value) for name, value in values.items() if value is not None}
