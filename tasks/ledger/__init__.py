"""The ledger beside a run: its heads written down, losses noticed, balances told."""
