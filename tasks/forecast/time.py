"""How long a release will take, from its spec and plan alone.

All figures are CPU seconds of one core like that of docs/scale.md, where they are fitted to whole
releases and compared with them. What is spent on batches and parts is shared by workers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

from hallmark.mechanisms.contract import Forecast
from hallmark.mechanisms.privacy.cells import COUNTING
from hallmark.tasks.planning.prepared import Prepared

_START = 30.0  # the orchestrator, imports of all processes, Great Expectations
_READING = 3.5e-8  # of an entry: read, checked, coded, digested, written
_TEXT = 3.0  # times as long where the file holds texts
_WRITING = 2.8e-7  # of an entry in one format: written, read back, checked
_REFIT = 0.4  # of a fit: one replicate's
_WEIGHING = 3.2e-7  # of a replicate's record in one of its tables
_REPORT, _REPORT_OF_PAIR = 9.0, 0.008  # best estimates, figures, pages


@dataclass(frozen=True, kw_only=True)
class TimeForecast:
    """CPU seconds by stage. Public.

    Attributes:
        shared: what workers do side by side.
        alone: what one process does.
    """

    shared: Mapping[str, float]
    alone: Mapping[str, float]

    @property
    def total(self) -> float:
        """CPU seconds in all."""
        return sum(self.shared.values()) + sum(self.alone.values())

    def on(self, workers: int) -> float:
        """Seconds by the clock with so many workers, a core for each."""
        return sum(self.shared.values()) / workers + sum(self.alone.values())


def time_forecast(prepared: Prepared, forecast: Forecast) -> TimeForecast | None:
    """The time to expect; None where nothing tells how long the mechanism takes."""
    spec, plan = prepared.spec, prepared.plan
    seconds = forecast.seconds
    if seconds is None:
        return None
    rows, made = plan.expected_records, spec.records or plan.expected_records
    columns = len(plan.domain)
    is_text = spec.data.file_format == "csv"
    pairs = comb(columns, 2)
    making = {"make": seconds.make}
    return TimeForecast(
        shared={
            "read": _READING * rows * columns * (_TEXT if is_text else 1),
            "measure": seconds.count,
            **(making if plan.in_batches else {}),
            "write": _WRITING * made * len(spec.released_columns) * len(spec.output.formats),
            **_replicating(prepared, seconds.fit, made),
            "review": COUNTING * rows * pairs,
        },
        alone={
            "start": _START,
            "fit": seconds.fit,
            **({} if plan.in_batches else making),
            "certify": seconds.certify,
            "report": _REPORT + _REPORT_OF_PAIR * pairs + 3 * COUNTING * made * pairs,
        },
    )


def _replicating(prepared: Prepared, fit: float, made: int) -> dict[str, float]:
    """The time of replicate weights, where they are asked for."""
    asked = prepared.spec.output.replicates
    if asked is None:
        return {}
    each = _REFIT * fit + _WEIGHING * prepared.pairs.number * made
    return {"replicate": asked.number * each}
