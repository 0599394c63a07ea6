"""Graphical models over cliques: junction trees, exact marginals, and sampling."""
