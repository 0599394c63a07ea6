"""Two periods of the tests' example, with or without noise, ready to be asked questions."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.inference.measured import MeasuredTable
from hallmark.mechanisms.privacy.cells import CellMap, count_codes, marginal
from hallmark.mechanisms.privacy.queries import GaussianNoise
from hallmark.mechanisms.privacy.transforms import HISTOGRAM
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import TableCodec
from hallmark.tasks.questions.questioning import Questioning
from tests import example


def spec(**columns: dict[str, Any]) -> ReleaseSpec:
    """The example's spec, with keys of some columns replaced; those that become None are left
    out."""
    given = example.spec("table.csv")
    for name, keys in columns.items():
        merged = given["columns"].get(name, {}) | keys
        given["columns"][name] = {key: value for key, value in merged.items() if value is not None}
    return ReleaseSpec.model_validate(given)


def period(
    table: pd.DataFrame,
    of: ReleaseSpec | None = None,
    *,
    sigma2: float = 1e-6,
    rng: np.random.Generator | None = None,
    records: bool = False,
    ways: int = 2,
) -> Questioning:
    """A release that measured all pairs of columns (or triples), without noise unless there is a
    generator, and with a public total."""
    of = of or spec()
    codec = TableCodec.of(of.columns)
    text = table.assign(since=table["since"].dt.strftime("%Y-%m-%d"))
    text = text.astype({"age": "str", "employed": "str"})
    codes = np.stack([one.encode(one.read(text[one.name])[0]) for one in codec.codecs], axis=1)
    shape = codec.domain.shape
    noise = GaussianNoise(Fraction(sigma2))
    maps = [marginal(clique, shape) for clique in combinations(range(len(shape)), ways)]
    tables = tuple(_measured(cells, codes, noise, rng) for cells in maps)
    return Questioning(of, Estimator(tables, len(codes)), codes if records else None)


def _measured(
    cells: CellMap, codes: np.ndarray, noise: GaussianNoise, rng: np.random.Generator | None
) -> MeasuredTable:
    counts = count_codes(codes, [cells])[0]
    if rng is not None:
        counts = counts + np.rint(rng.normal(scale=float(noise.variance) ** 0.5, size=len(counts)))
    return MeasuredTable(
        cells=cells,
        sums=HISTOGRAM.sums(cells.size),
        noise=noise,
        answers=counts.astype(np.int64),
    )
