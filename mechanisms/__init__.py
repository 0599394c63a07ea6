"""Every algorithm of the house, and the trusted core (`mechanisms.privacy`) that guards the data.

Plain numpy, scipy and numba: nothing in here knows an orchestrator, so every mechanism also runs in
a notebook on plain arrays.
"""
