"""Statistics of the noise, simulated once per design and kept.

The law of the noise is public and depends on the design alone: the spaces, the strategies, epsilon
and the neighbouring relation, never on the data. So statistics that are slow to simulate are kept
on disk under the design's digest, and serve every release of that design.

Claim.   If a rank from `conditional_rank` is taken of kept draws, then another draw exceeds it with
         probability at most 1 - confidence, the kept draws' own randomness included; and but for
         probability `REUSE_DOUBT` times that over the kept draws, given them as well.
Proof.   Write delta = 1 - confidence, beta = REUSE_DOUBT * delta and q for the quantile of level
         p = 1 - delta + beta. A draw lies below q with probability at most p, so r or more of N
         do, and the r-th smallest with them, with probability at most P(Binomial(N, p) >= r). That
         is at most beta at the rank returned. Else the r-th smallest is at least q, which another
         draw exceeds with probability at most 1 - p = delta - beta.
Source.  Wilks (1941), Determination of sample sizes for setting tolerance limits.
Oracle.  tests/mechanisms/certificates/test_quantiles.py.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import partial
from math import ceil
from pathlib import Path

import numpy as np
from scipy.special import bdtr, bdtrik

from hallmark.mechanisms.arrays import Floats
from hallmark.mechanisms.compute import Compute

Statistics = Callable[[int, np.random.Generator], Floats]
"""From a number of draws and a generator to statistics of shape (draws, statistics)."""

REUSE_DOUBT = 0.05  # part of the failure probability that kept draws may be bad with
_VERSION = 2  # part of the file names; raise it when the code changes the law or the format
_CHECK_BYTES = 32  # of a file, before the numbers: their SHA-256
_CHUNKS = 40  # into which a simulation is cut for workers, whatever their number


def conditional_rank(draws: int, confidence: float) -> int:
    """Rank of kept draws, counted from the smallest, that holds for each of many releases.

    Raises:
        ValueError: the confidence is not in (0, 1), or there are too few draws for it.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence}")
    doubt = REUSE_DOUBT * (1 - confidence)
    rank = tolerance_rank(draws, level=confidence + doubt, doubt=doubt)
    if rank > draws:
        needed = least_draws(confidence)
        raise ValueError(f"confidence {confidence} needs at least {needed} draws, not {draws}")
    return rank


def tolerance_rank(draws: int, *, level: float, doubt: float) -> int:
    """Least rank that lies below the quantile of this level with probability at most `doubt`.

    One more than there are draws, where no rank does.
    """
    # The least k below which the quantile lies with probability 1 - doubt. scipy.stats has it in
    # one call, and takes as long to import as all the rest of this package.
    k = max(0, int(bdtrik(1 - doubt, draws, level)) - 1)
    while bdtr(k, draws, level) < 1 - doubt:
        k += 1
    return k + 1


def least_draws(confidence: float) -> int:
    """Fewest draws that `conditional_rank` takes: then the largest is the bound."""
    doubt = REUSE_DOUBT * (1 - confidence)
    return ceil(np.log(doubt) / np.log(confidence + doubt))


def kept_statistics(
    statistics: Statistics, *, draws: int, digest: str, compute: Compute, doing: str
) -> Floats:
    """Statistics of `draws` fresh draws, shape (draws, statistics), or those kept from before.

    The same for the same digest and number of draws, on any number of workers.

    Args:
        statistics: module-level, so that it pickles; pure but for its generator.
        digest: SHA-256 over everything public that the law of the statistics depends on.
        doing: for people, what is being simulated.
    """
    path = None
    if compute.cache is not None:
        path = compute.cache / f"{digest}-{draws}-v{_VERSION}.statistics"
        if (kept := _read(path, draws)) is not None:
            return kept
    sizes = [len(part) for part in np.array_split(np.arange(draws), min(_CHUNKS, draws))]
    seeds = np.random.SeedSequence(int(digest, 16)).spawn(len(sizes))
    chunks = list(zip(sizes, seeds, strict=True))
    drawn = np.concatenate(list(compute.map(partial(_draw, statistics), chunks, doing=doing)))
    if path is not None:
        _write(path, drawn)
    return drawn


def _draw(statistics: Statistics, chunk: tuple[int, np.random.SeedSequence]) -> Floats:
    draws, seed = chunk
    return statistics(draws, np.random.default_rng(seed))


def _read(path: Path, draws: int) -> Floats | None:
    """What is kept, or None where it is missing or not whole."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    check, body = content[:_CHECK_BYTES], content[_CHECK_BYTES:]
    if hashlib.sha256(body).digest() != check or len(body) % (8 * draws):
        return None
    return np.frombuffer(body, dtype="<f8").astype(np.float64).reshape(draws, -1)


def _write(path: Path, drawn: Floats) -> None:
    """All of it at once, so that nobody reads a half; whoever writes the same is welcome."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = np.ascontiguousarray(drawn, dtype="<f8").tobytes()
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".draft", delete=False) as draft:
        draft.write(hashlib.sha256(body).digest() + body)
    os.replace(draft.name, path)
