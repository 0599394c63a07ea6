"""Public geometry: domains, grids, partitions and Wasserstein distances on them."""
