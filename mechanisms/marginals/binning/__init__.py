"""Columns measured on their own cells once, and on bins of these with others.

Bins are private, of nearly equal record counts, or public: the cells that a column's detail
divides, or groups of categories. Start with `mechanism`; `quantiles` chooses private bins, `bins`
makes the domain that has bins for cells, `asking` asks the curator about it, `within` gives records
cells in their bins, `joined` and `certify` state estimates and bounds on own cells.
"""
