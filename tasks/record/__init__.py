"""The audit record of a release, and what it is made of."""
