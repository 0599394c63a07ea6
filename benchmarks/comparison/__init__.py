"""Hallmark next to published peers, on the same tables with the same budgets."""
