"""What a public table of the year before is worth, and what a wrong one costs.

    python -m benchmarks.prior --data national ma --epsilon 0.2 1 --seeds 1 2

Excerpts of a census of 2019 are released by privpgd (replace one, delta 1e-5; measured by
SimulatedCurator, whose answers must not be published) with nothing public beside them, with the
excerpt of 2018, with a tenth of that, and with wrong tables: that of 2018 with one column shuffled,
or all, or turned round, or with values drawn at random. Printed are the mean total variation of all
pairs of columns and of 150 triples to the private ones, for the public table itself, too; the error
of gradient boosting that learns education on released records, in variances of it in a fifth of the
private records, which are held out; the shares of the public table in what was fitted; CPU seconds.
"""

import argparse
import time
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks import simulated
from benchmarks.data import excerpt
from benchmarks.detail import source
from hallmark.mechanisms.arrays import AnyCodes, Codes
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.marginals.prior import LEANED, Prior
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.tasks.planning.coding import TableCodec

_TRIPLES = 150
_PREDICTED = "EDU"


def tables(name: str) -> tuple[Domain, Codes, Codes]:
    """The domain of an excerpt, its records of 2019, and those of 2018."""
    columns = source(name).columns
    codec = TableCodec.of(columns)

    def read(year: int) -> Codes:
        text = excerpt(f"{name}{year}")[list(columns)]
        return codec.encode(text.where(lambda t: t != "N")).astype(np.int32)

    return codec.domain, read(2019), read(2018)


def priors(domain: Domain, before: Codes) -> Iterator[tuple[str, AnyCodes | None]]:
    """What is public, by name."""
    rng = np.random.default_rng(0)
    yield "nothing", None
    yield "2018", before
    yield "a tenth of 2018", before[rng.permutation(len(before))[: len(before) // 10]]
    one = before.copy()
    one[:, 2] = rng.permutation(one[:, 2])
    yield "a column shuffled", one
    yield "all shuffled", np.column_stack([rng.permutation(column) for column in before.T])
    yield "turned round", (np.array(domain.shape) - 1 - before).astype(np.int32)
    at_random = [rng.integers(k, size=len(before), dtype=np.int32) for k in domain.shape]
    yield "at random", np.column_stack(at_random)


def released(
    domain: Domain, codes: Codes, public: AnyCodes | None, epsilon: str, seed: int
) -> tuple[Codes, dict[str, float]]:
    """Records of privpgd, and the shares of the public table."""
    mechanism = MECHANISMS["privpgd"]
    plan = mechanism.plan(simulated.asked(domain, codes, epsilon, public=public))
    _, made = simulated.released(mechanism, plan, codes, np.random.default_rng(seed))
    return made.codes, made.history.get(LEANED, {})


def variation(domain: Domain, a: AnyCodes, b: AnyCodes, ways: int) -> float:
    """Mean over marginals of so many columns, or over some of them."""
    cliques = list(combinations(range(len(domain)), ways))
    if ways > 2:
        chosen = np.random.default_rng(5).choice(len(cliques), _TRIPLES, replace=False)
        cliques = [cliques[i] for i in chosen]
    one, other = Prior(domain, a), Prior(domain, b)
    gaps = [np.abs(one.table(clique) - other.table(clique)).sum() / 2 for clique in cliques]
    return float(np.mean(gaps))


def learnt(domain: Domain, train: AnyCodes, test: Codes) -> float:
    """Squared error of a prediction in held-out records, in their variance."""
    column = domain.names.index(_PREDICTED)
    given = [a for a in range(len(domain)) if a != column]
    model = HistGradientBoostingRegressor(random_state=0).fit(train[:, given], train[:, column])
    error = model.predict(test[:, given]) - test[:, column]
    return float(np.square(error).mean() / test[:, column].var())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="*", default=["national", "ma"])
    parser.add_argument("--epsilon", nargs="*", default=["0.2", "1"])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2])
    asked = parser.parse_args()
    for name in asked.data:
        domain, codes, before = tables(name)
        order = np.random.default_rng(0).permutation(len(codes))
        private, test = codes[order[len(codes) // 5 :]], codes[order[: len(codes) // 5]]
        for what, table in (("the private table", private), ("2018 itself", before)):
            print(
                f"{name:9}          {what:18} pairs {variation(domain, private, table, 2):.4f}  "
                f"triples {variation(domain, private, table, 3):.4f}  "
                f"learnt {learnt(domain, table, test):.3f}"
            )
        for epsilon in asked.epsilon:
            for what, public in priors(domain, before):
                found, begun = [], time.process_time()
                for seed in asked.seeds:
                    made, shares = released(domain, private, public, epsilon, seed)
                    errors = [variation(domain, private, made, ways) for ways in (2, 3)]
                    kept = [shares.get(key, 0.0) for key in ("columns", "tables")]
                    found.append([*errors, learnt(domain, made, test), *kept])
                spent = (time.process_time() - begun) / len(asked.seeds)
                pairs, triples, error, columns, joint = np.mean(found, axis=0)
                print(
                    f"{name:9} eps {epsilon:4} {what:18} pairs {pairs:.4f}  triples {triples:.4f}  "
                    f"learnt {error:.3f}  shares {columns:.2f} {joint:.2f}  {spent:.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
