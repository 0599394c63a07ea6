"""The trusted core: the only code that touches private counts. Read it first.

Reading order: `adjacency` (who is a neighbour), `budget`, `events` (what is charged), `cells` (how
data are looked at), `transforms`, `queries`, `rounding`, `noise`, `costs`, `privacy_loss`,
`accountant`, `calibration`, `account_filter`, `ledger`, `curator`.
`simulation` plays no role in privacy.
"""
