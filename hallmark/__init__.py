"""Hallmark: certified, differentially private synthetic data for statistical agencies."""
