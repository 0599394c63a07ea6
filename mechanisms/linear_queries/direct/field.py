"""The graphical model of measured marginals, for universes too large to enumerate.

Of all distributions that fit the noisy marginals best it is the one of most entropy, which is where
mirror descent from the uniform distribution tends as well; it is kept by the cliques of a junction
tree, whose size is checked before anything is asked.

Source.  McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for
         differential privacy", ICML; mechanisms/marginals/generators/graphical.
Oracle.  tests/mechanisms/linear_queries/direct/test_field.py: mirror descent on small universes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechanisms.contract import Progress
from mechanisms.geometry.domain import Attribute, Domain, Kind
from mechanisms.linear_queries.universe import Universe
from mechanisms.marginals.cliques import Clique
from mechanisms.marginals.evidence import Evidence, NoisyMarginal
from mechanisms.marginals.generators.graphical.model import GraphicalFit, GraphicalModel
from mechanisms.privacy.cells import Counts

MODEL = GraphicalModel()


@dataclass(frozen=True, eq=False)
class RandomField:
    """A distribution that is kept by the cliques of a tree."""

    universe: Universe
    fit: GraphicalFit

    def answers(self) -> NDArray[np.float64]:
        """Of all queries, shape (queries,)."""
        cliques = set(self.universe.cliques)
        tables = {clique: self.fit.marginal(clique).ravel() for clique in cliques}
        return self.universe.answers_to(tables)

    def cells(self, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Records drawn along the tree, as cells by column: (rows, columns)."""
        codes, _ = self.fit.records(rows, rng, lambda share, what: None)
        return codes.astype(np.int64)


def memory(universe: Universe, cliques: Sequence[Clique], records: int) -> int:
    """Bytes that fitting takes.

    Raises:
        ValueError: the tree would be too large.
    """
    try:
        return MODEL.memory(_domain(universe), cliques, records)
    except ValueError as error:
        raise ValueError(
            f"mechanism.estimator: the universe's {universe.size:,} cells are too many to "
            f"enumerate, and a graphical model is too large as well ({error}); ask about fewer "
            "columns together, give them fewer cells, or choose method dpfw"
        ) from None


def fitted(
    universe: Universe,
    tables: Mapping[Clique, Counts],
    deviations: Mapping[Clique, float],
    total: float,
    *,
    total_is_public: bool,
    progress: Progress,
) -> RandomField:
    """The model of noisy marginals, each of shape (its cells,), by their standard deviations."""
    evidence = Evidence(
        domain=_domain(universe),
        marginals=tuple(
            NoisyMarginal(
                clique,
                table.reshape([universe.shape[a] for a in clique]).astype(np.float64),
                deviations[clique],
            )
            for clique, table in tables.items()
        ),
        total=total,
        total_is_public=total_is_public,
    )
    fit = MODEL.fit(evidence, rng=np.random.default_rng(0), progress=progress)  # draws nothing
    return RandomField(universe, fit)


def _domain(universe: Universe) -> Domain:
    """The universe's columns, whose metric plays no part here."""
    return Domain(
        tuple(
            Attribute(
                name=f"column {number}",
                kind=Kind.NOMINAL,
                positions=(np.arange(k) + 0.5) / k,
                widths=np.zeros(k),
            )
            for number, k in enumerate(universe.shape)
        )
    )
