"""The trusted core: the only code that touches private counts. Read it first.

Reading order: `adjacency` (who is a neighbour), `budget`, `events` (what is charged), `cells` (how
data are looked at), `transforms`, `queries`, `rounding`, `noise`, `privacy_loss`, `accountant`,
`calibration`, `ledger` (with its `ledger_*` parts), `curator`. `simulation` has no part in privacy.
"""
