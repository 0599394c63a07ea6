"""The ledger: the privacy budget of every population, its charges, and the log of answers."""
