"""Answers to questions about a release, from its folder alone, with the error of every answer."""
