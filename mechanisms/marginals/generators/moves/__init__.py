"""Compiled local search on coded records, whose moves obey the edit rules."""
