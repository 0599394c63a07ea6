"""The default of the house: one mixture of products fitted to all noisy marginals."""
