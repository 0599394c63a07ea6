"""Linear queries answered by a distribution over an enumerated universe, or by a random field."""
