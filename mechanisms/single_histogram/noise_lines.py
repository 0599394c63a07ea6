"""Lines of a plan's noise table, read off the queries that they are about."""

from fractions import Fraction
from math import sqrt

from mechanisms.contract import NoiseLine
from mechanisms.pmm.noise import variance
from mechanisms.privacy.adjacency import Adjacency
from mechanisms.privacy.queries import HistogramQuery, LaplaceNoise


def noise_line(
    query: HistogramQuery, what: str, cells: int, *, adjacency: Adjacency, unit: str = "records"
) -> NoiseLine:
    """What is measured, with how much noise, and what its scale rests on.

    Args:
        cells: number of noisy entries of the answer.
        unit: of the answer.
    """
    scale = laplace_scale(query)
    return NoiseLine(
        query=what,
        cells=cells,
        family="discrete Laplace",
        parameter=f"scale = {scale} {unit}",
        standard_deviation=sqrt(variance(scale)),
        sensitivity=f"L1 = {query.transform.l1(adjacency)} {unit}",
        source=f"mechanisms/privacy/transforms.py, {type(query.transform).__name__}",
    )


def laplace_scale(query: HistogramQuery) -> Fraction:
    """Noise scale of a query of a mechanism for pure epsilon, in the answer's unit."""
    assert isinstance(query.noise, LaplaceNoise), "Gaussian noise is not for pure epsilon"
    return query.noise.scale
