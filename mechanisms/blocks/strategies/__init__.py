"""Strategies: which integer linear queries measure a histogram, and with how much noise each."""
