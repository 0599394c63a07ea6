"""How far fitted tables follow the noise in the tables that they were fitted to.

Claim.   `Covariances.by_clique` estimates the sum over cells of the covariance between the noise
         of a table and what a fit says of it, without bias to first order in the added noise.
Why.     Noise that is added on purpose is known, unlike the noise in the table, and a smooth fit
         follows both alike: the covariance with what is added, per unit of its variance, is the
         trace of the fit's derivative. Centring on the mean of all fits leaves the expectation, but
         for a factor that is known, and takes most of the variance.
Source.  Efron (2004), "The estimation of prediction error: covariance penalties and
         cross-validation", JASA 99(467); Ye (1998), "On measuring and correcting the effects of
         data mining and model selection", JASA 93(441), for derivatives by added noise.
Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_covariances.py has linear fits,
         whose trace is known.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from hallmark.mechanisms.arrays import Table
from hallmark.mechanisms.domain.cliques import Clique


@dataclass
class Covariances:
    """Sums over fits to tables with noise added.

    Attributes:
        step: what noise of the tables' own law was multiplied by before it was added.
    """

    step: float
    _fits: int = 0
    _products: dict[Clique, float] = field(default_factory=dict)
    _noise: dict[Clique, Table] = field(default_factory=dict)
    _fitted: dict[Clique, Table] = field(default_factory=dict)

    def add(self, noises: Mapping[Clique, Table], fitted: Callable[[Clique], Table]) -> None:
        """Another fit.

        Args:
            noises: of the law of the measured tables' noise, drawn for this fit; times `step`, it
                was added to them.
            fitted: what the fit says of a table, in the same unit.
        """
        self._fits += 1
        for clique, noise in noises.items():
            table = fitted(clique)
            self._products[clique] = self._products.get(clique, 0.0) + float(np.vdot(noise, table))
            for sums, own in ((self._noise, noise), (self._fitted, table)):
                if clique in sums:
                    sums[clique] += own
                else:
                    sums[clique] = own.copy()

    @property
    def by_clique(self) -> Mapping[Clique, float]:
        """The covariances, in the square of the tables' unit; of one fit nothing is known."""
        return dict(self._estimates()) if self._fits > 1 else {}

    def _estimates(self) -> Iterator[tuple[Clique, float]]:
        for clique, products in self._products.items():
            of_means = float(np.vdot(self._noise[clique], self._fitted[clique])) / self._fits
            yield clique, (products - of_means) / (self._fits - 1) / self.step
