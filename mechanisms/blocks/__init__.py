"""Families of projections onto finite metric spaces: all s-way marginals of a grid, and others."""
