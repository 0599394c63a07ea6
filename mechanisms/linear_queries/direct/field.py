"""The graphical model of measured marginals, for universes too large to enumerate.

Of all distributions that fit the noisy marginals best it is the one of most entropy, which is where
mirror descent from the uniform distribution tends as well; it is kept by the cliques of a junction
tree, whose size is checked before anything is asked.

Source.  McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for
         differential privacy", ICML; mechanisms/marginals/generators/graphical.
Oracle.  tests/mechanisms/linear_queries/direct/test_field.py: mirror descent on small universes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hallmark.mechanisms.domain.cliques import Clique
from hallmark.mechanisms.execution import Execution, Progress
from hallmark.mechanisms.graphical_models.tree import junction_tree
from hallmark.mechanisms.linear_queries.random_field import RandomField
from hallmark.mechanisms.linear_queries.settings import size_in_words
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.marginals.evidence import Evidence, NoisyMarginal
from hallmark.mechanisms.marginals.generators.graphical.model import GraphicalModel

MODEL = GraphicalModel()


def memory(universe: Universe, cliques: Sequence[Clique], records: int) -> int:
    """Bytes that fitting takes.

    Raises:
        ValueError: the tree would be too large.
    """
    try:
        return MODEL.memory(universe.as_domain, cliques, records)
    except ValueError:
        size = junction_tree(universe.shape, cliques).cells(universe.shape)
        raise ValueError(
            f"mechanism.queries: they tell apart {size_in_words(universe)}, too many to enumerate, "
            f"and the tables of a graphical model are too large as well ({size:,} cells); ask "
            "about fewer columns together, give them fewer cells, or choose dpfw"
        ) from None


def fitted(
    universe: Universe,
    tables: Mapping[Clique, NDArray[np.number]],
    deviations: Mapping[Clique, float],
    total: float,
    *,
    total_is_public: bool,
    progress: Progress,
) -> RandomField:
    """The model of noisy marginals, each of shape (its cells,), by their standard deviations."""
    evidence = Evidence(
        domain=universe.as_domain,
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
    # The generator draws nothing.
    fit = MODEL.fit(evidence, rng=np.random.default_rng(0), execution=Execution(progress=progress))
    return RandomField(universe, fit.calibrated, fit.history)
