"""The cliques of a workload, and each one's own small universe with a curator of its records.

The cliques are the maximal column sets of the workload's marginals. The universe of a clique has
its columns, and as queries those of the workload that see no others.

Claim.   What is asked of `curator_within` is charged as what a curator of records with these
         columns alone would be asked, under a name that no other clique uses.
Proof.   A record's cell in the clique is a function of its cell in the whole universe, so the maps
         joined are maps from records to cells (`asking`), with the same rows of queries on them.
Rules.   A clique's universe allows the cells that some record has which obeys all rules at once:
         their exact projection on its columns (`Rules.allowed`).
Oracle.  tests/mechanisms/linear_queries/test_within_clique.py selects the columns of the records.
"""

from dataclasses import replace

import numpy as np

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.domain.cliques import Clique, cells, title
from hallmark.mechanisms.domain.rules import Rules, RuleTable
from hallmark.mechanisms.linear_queries.asking import UniverseCurator
from hallmark.mechanisms.linear_queries.universe import Universe
from hallmark.mechanisms.privacy.calls import RefreshedRounds, TablesByCall
from hallmark.mechanisms.privacy.cells import marginal
from hallmark.mechanisms.privacy.linear_queries import Block, EachCell, LinearQueries


def cliques_of(universe: Universe) -> tuple[Clique, ...]:
    """The workload's cliques, in the order in which the queries have them.

    Raises:
        ValueError: a query is no cell of a marginal, or a clique has a single cell, whose answer
            is known without the data.
    """
    for block, clique, place in zip(
        universe.queries.blocks, universe.cliques, universe.places, strict=True
    ):
        if not isinstance(block.rows, EachCell) or place is not None:
            raise ValueError(
                "mechanism.cliquewise: true takes marginals alone, but mechanism.queries asks for "
                f"something else over {named(universe, clique)}; leave that out, or set "
                "cliquewise: false"
            )
    distinct = {clique: frozenset(clique) for clique in universe.cliques}
    found = tuple(c for c, own in distinct.items() if not any(own < o for o in distinct.values()))
    for clique in found:
        if cells(clique, universe.shape) == 1:
            raise ValueError(
                f"mechanism.queries: the marginal over {named(universe, clique)} has a single "
                "cell, whose answer is known without the data; leave it out"
            )
    return found


def within(universe: Universe, clique: Clique) -> Universe:
    """The clique's own universe; its columns are numbered from 0 in their order."""
    place = {column: position for position, column in enumerate(clique)}
    shape = tuple(universe.shape[column] for column in clique)
    blocks = tuple(
        Block(marginal([place[column] for column in seen], shape), block.rows)
        for block, seen in zip(universe.queries.blocks, universe.cliques, strict=True)
        if place.keys() >= set(seen)
    )
    return Universe(
        shape,
        LinearQueries(blocks, universe.queries.unit),
        tuple(universe.levels[column] for column in clique),
        rules=_projected(universe.rules, clique),
        names=tuple(universe.name(column) for column in clique),
    )


def table_of(universe: Universe, answers: Floats) -> Floats:
    """The distribution over a clique's universe, whose cells are among its queries.

    Args:
        universe: of `within`.
        answers: to all of its queries, shape (queries,).
    Returns:
        Shares, shape (universe.size,).
    """
    block = universe.cliques.index(tuple(range(len(universe.shape))))
    start, stop = universe.queries.starts[block : block + 2]
    rows = universe.queries.blocks[block].rows
    assert isinstance(rows, EachCell)
    shares: Floats = answers[start:stop] * (universe.queries.unit / rows.value)
    return shares


def in_clique(call: str, clique: Clique) -> str:
    """The call's name where it is asked about a clique; no other clique has it."""
    return f"{call} in clique {' '.join(map(str, clique))}"


def of_clique(answers: TablesByCall, clique: Clique) -> TablesByCall:
    """What was asked about a clique, under the names that its method gave the calls."""
    where = in_clique("", clique)
    return {
        call.removesuffix(where): tables for call, tables in answers.items() if call.endswith(where)
    }


def named(universe: Universe, clique: Clique) -> str:
    """The clique for people."""
    return title(clique, [universe.name(column) for column in range(len(universe.shape))])


def curator_within(
    curator: RefreshedRounds, own: Universe, clique: Clique, counted: int | None = None
) -> UniverseCurator:
    """Asks `curator`, of the whole universe, about the clique's columns.

    Args:
        own: the universe of the clique.
        counted: the number of records, where it was measured before: it costs nothing more.
    """
    cells_themselves = tuple(np.arange(k) for k in own.shape)
    asked = replace(own, levels=cells_themselves)
    return UniverseCurator(curator, asked, clique, in_clique("", clique), counted)


def _projected(rules: Rules, clique: Clique) -> Rules:
    """What rules on all columns say of the clique's."""
    if not rules:
        return Rules(())
    allowed = rules.allowed(clique)
    columns = tuple(range(len(clique)))
    tables = () if allowed.all() else (RuleTable("edit rules", columns, allowed),)
    return Rules(allowed.shape, tables)
