"""The marginal mechanisms: any selection of marginals, joined to any generator of records.

Read `cliques`, `evidence`, `selection.design` and `generators.generator` first: they name what the
rest is made of. `mechanism` joins a selection to a generator.
"""
