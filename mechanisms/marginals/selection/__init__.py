"""Selection: which marginals to measure, and with how much noise."""
