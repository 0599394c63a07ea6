"""Mechanisms whose error is a Wasserstein distance that a certificate bounds."""
