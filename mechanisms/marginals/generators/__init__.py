"""Generators: from noisy marginals to synthetic records."""
