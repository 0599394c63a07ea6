"""Faults that are planted in a copy of the code, one at a time, to see that the tests notice.

`faults.toml` lists them: realistic slips, each against one claim, with the tests that have to fail.
They are run without what is marked `slow` or `service`, so that what everybody runs notices them.

    python -m tests.planted                 # plants all, and says which were caught, and by what
    python -m tests.planted ID ...          # plants some
"""
