"""Linear queries from one release of noisy tables and least squares over the simplex."""
