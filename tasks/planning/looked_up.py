"""Columns that are looked up: filled in from the spec, and compared with a table's own.

Claim.   A value that `filled_in` writes is a function of the record's code and of the spec. No
         value of a lookup is read from a private table but to be compared with the spec's: cells
         are made of measured columns alone.
Oracle.  tests/flows/test_lookup_release.py plants other values in the private table.
"""

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import AnyCodes, Mask
from hallmark.schemas.columns.columns import Column, NumericColumn
from hallmark.schemas.lookups import CodedColumn, Lookup
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import Text, Values, codec_of


def filled_in(spec: ReleaseSpec, frame: pd.DataFrame) -> pd.DataFrame:
    """The published columns, in order, of records in original units with all measured columns."""
    lookups = spec.published_lookups
    return pd.DataFrame(
        {
            name: looked_up(lookups[name], column, frame[lookups[name].of])
            if name in lookups
            else frame[name]
            for name, column in spec.published.items()
        }
    )


def looked_up(lookup: Lookup, column: Column, codes: Text) -> Values:
    """The value of each code, null for a null.

    Args:
        column: the lookup as files of the release hold it.
    """
    texts = codes.astype(object).map(lookup.values)
    if not isinstance(column, NumericColumn):
        return texts.astype("str")
    numbers = pd.to_numeric(texts)
    return numbers.astype("Int64") if column.integer else numbers.astype("float64")


def numbered(lookup: Lookup, measured: Column, of: Text, own: Text) -> tuple[AnyCodes, AnyCodes]:
    """Numbers of the values that are looked up for some texts of `lookup.of`, and of some own
    values, of which equal ones have one number.

    A table's own value disagrees where both numbers are not negative and not the same. The number
    is -1 where there is nothing to compare: a code that the spec does not list, which counts as the
    spec says of it, or an own value that is missing.

    Args:
        measured: the column `lookup.of`.
    """
    assert isinstance(measured, CodedColumn), "the spec is sound"
    codes, _ = codec_of(lookup.of, measured).read(of)
    codec = codec_of("", column := lookup.column(measured))
    values, unreadable = codec.read(own)
    wanted, _ = codec.read(looked_up(lookup, column, codes))
    numbers, _ = pd.factorize(pd.concat([wanted, values], ignore_index=True).astype(object))
    expected, found = numbers[: len(of)], numbers[len(of) :]
    other = numbers.max(initial=0) + 1  # than any value: what is there beside a null is wrong
    expected = np.where(codes.isin(measured.codes), expected, np.where(codes.isna(), other, -1))
    return expected, np.where(unreadable, other + 1, found)


def disagreeing(expected: AnyCodes, found: AnyCodes) -> Mask:
    """Where numbers as `numbered` gives them disagree."""
    return np.asarray((expected >= 0) & (found >= 0) & (expected != found))
