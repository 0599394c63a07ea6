"""Polish a coded table: a local search that lowers the squared error of all pair counts.

This last step is ours, not of the PrivPGD paper. It takes a record and an attribute, proposes
another record's code (or, one time in five, any code) and keeps the change if the squared error
of the counts of all pairs against their targets falls. Local search on records is the idea of
Liu, Tang, Vietri, Wu (2023), "Generating private synthetic data with genetic algorithms", ICML;
here the targets are denoised first, and only the cells that change are rescored.

Claim.   The squared error never rises, and the last one reported is that of the result.
Oracle.  tests/mechanisms/privpgd/test_polish.py recounts from scratch.
"""

from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from mechanisms.privpgd.denoise import Targets

_BLOCK = 1 << 18  # proposals between two reports of progress
_ANY_CODE = 0.2  # share of proposals of a code drawn uniformly

Codes = NDArray[np.int32]


def polish(
    codes: Codes,
    targets: Targets,
    *,
    proposals: int,
    rng: np.random.Generator,
    report: Callable[[float], None] = lambda share: None,
) -> tuple[Codes, list[float]]:
    """Polished codes, and the error before and after every block of proposals.

    The error is the mean over pairs of the squared L2 distance of probabilities.

    Args:
        codes: shape (rows, attributes), within the targets' shapes; not changed.
        proposals: how many single changes are tried.
        report: called with the share done.
    """
    rows, size = codes.shape
    sizes = np.array([len(marginal) for marginal in targets.one_way], dtype=np.int32)
    excess, offsets, strides = _excess(codes, targets)
    polished = np.array(codes, dtype=np.int32, order="C")
    scale = len(targets.pairs) * rows**2
    error = float(np.square(excess, dtype=np.float64).sum())
    history = [error / scale]
    for start in range(0, proposals, _BLOCK):
        block = min(_BLOCK, proposals - start)
        attribute = rng.integers(size, size=block, dtype=np.int32)
        any_code = (rng.random(block, dtype=np.float32) * sizes[attribute]).astype(np.int32)
        donor = rng.integers(rows, size=block, dtype=np.int32)
        donor[rng.random(block, dtype=np.float32) < _ANY_CODE] = -1
        record = rng.integers(rows, size=block, dtype=np.int32)
        error += _try(polished, excess, offsets, strides, record, attribute, donor, any_code)
        history.append(error / scale)
        report((start + block) / proposals)
    return polished, history


def _excess(
    codes: Codes, targets: Targets
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int32]]:
    """Counts less targets of all pairs in one flat array, with where each pair lies in it.

    Cell (x, y) of pair {a, b}, x a code of a, is at offsets[a, b] + x strides[a, b]
    + y strides[b, a], whichever of a and b comes first.
    """
    rows, size = codes.shape
    offsets = np.zeros((size, size), dtype=np.int64)
    strides = np.zeros((size, size), dtype=np.int32)
    tables, end = [], 0
    for (a, b), target in targets.pairs.items():
        k = target.shape[1]
        offsets[a, b] = offsets[b, a] = end
        strides[a, b], strides[b, a] = k, 1
        counts = np.bincount(codes[:, a] * np.int64(k) + codes[:, b], minlength=target.size)
        tables.append((counts - rows * target.ravel()).astype(np.float32))
        end += target.size
    return np.concatenate(tables), offsets, strides


@numba.njit(cache=True)
def _try(codes, excess, offsets, strides, record, attribute, donor, any_code):  # type: ignore[no-untyped-def]  # compiled, numba infers the types
    """Try the proposals in turn; returns by how much the squared error changed, records^2."""
    change = 0.0
    size = codes.shape[1]
    for p in range(len(record)):
        row = codes[record[p]]
        a = attribute[p]
        old = row[a]
        new = any_code[p] if donor[p] < 0 else codes[donor[p], a]
        if new == old:
            continue
        # A unit moves from cell (old, y) to (new, y) of each pair: 2 (e_new - e_old) + 2.
        slope = 0.0
        for b in range(size):
            if b != a:
                at = offsets[a, b] + row[b] * strides[b, a]
                slope += excess[at + new * strides[a, b]] - excess[at + old * strides[a, b]]
        gain = 2.0 * (slope + (size - 1))
        if gain < 0.0:
            for b in range(size):
                if b != a:
                    at = offsets[a, b] + row[b] * strides[b, a]
                    excess[at + new * strides[a, b]] += 1.0
                    excess[at + old * strides[a, b]] -= 1.0
            row[a] = new
            change += gain
    return change
