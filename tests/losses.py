"""The grid on which privacy losses are composed: the product's own, or a coarser one in tests."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hallmark.mechanisms.privacy import privacy_loss
from hallmark.mechanisms.privacy.accountant import _fits
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.privacy.privacy_loss import (
    deltas_at_most,
    epsilon_at_least,
    epsilon_at_most,
)

_OF_LOSSES = (epsilon_at_most, deltas_at_most, epsilon_at_least, privacy_loss._dominating)
_OWN = {name: getattr(privacy_loss, name) for name in ("_POINTS_ABOVE", "_POINTS_BELOW")}


@contextmanager
def coarse_grid() -> Iterator[None]:
    """An eighth of the product's points."""
    with pytest.MonkeyPatch.context() as patch:
        for name, points in _OWN.items():
            patch.setattr(privacy_loss, name, points // 8)
        yield


@contextmanager
def own_grid() -> Iterator[None]:
    """The grid of the product, and nothing that was found on a coarser one."""

    def forget() -> None:
        for cached in (*_OF_LOSSES, _fits, gaussian_sigma2):
            cached.cache_clear()

    forget()
    with pytest.MonkeyPatch.context() as patch:
        for name, points in _OWN.items():
            patch.setattr(privacy_loss, name, points)
        yield
    forget()
