"""Types of the arrays that modules hand each other: one name for each, with its dtype.

A name says what the entries mean (`Counts`, `Codes`, `Table`) or, where that is left open,
what they are made of.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]
Unsigned = NDArray[np.uint64]
Mask = NDArray[np.bool_]

Counts = NDArray[np.int64]  # records by cell
Table = NDArray[np.float64]  # records or shares by cell, true, noisy or fitted

Codes = NDArray[np.int32]  # cells of records: one row a record, one column an attribute
Codes64 = NDArray[np.int64]
AnyCodes = NDArray[np.integer]
