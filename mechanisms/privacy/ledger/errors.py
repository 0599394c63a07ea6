"""Errors of the ledger, with messages for users: what is wrong, where, and what to do."""


class LedgerError(Exception):
    """The ledger refuses, was tampered with, or cannot be reached; the message says what to do."""


class LedgerUnreachable(LedgerError):
    """The ledger's database does not answer, or cannot be written to: a matter of the machine."""


class AccountRefused(LedgerError):
    """An account cannot be opened or changed as it was asked for; everything stays as it is."""


class BudgetRefused(LedgerError):
    """An account has too little budget left for a reservation."""
