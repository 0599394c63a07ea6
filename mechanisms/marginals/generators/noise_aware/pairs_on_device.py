"""Two-way tables to be fitted, on a device of PyTorch: products of matrices over all cells.

A fit of many columns takes little else, so parameters stay on the CPU, and profiles go to the
device and gradients come back in every step: a few hundred kilobytes.

Oracle.  tests/mechanisms/marginals/generators/noise_aware/test_pairs_on_device.py: `Pairs`.
"""

from typing import TYPE_CHECKING

import numpy as np

from hallmark.mechanisms.arrays import Floats32
from hallmark.mechanisms.marginals.generators.device import Device, chosen_device

if TYPE_CHECKING:
    import torch


class PairsOnDevice:
    """As `mixture_loss.Pairs`, with its matrices on a device."""

    def __init__(self, tables: Floats32, precision: Floats32, device: Device) -> None:
        self._device = chosen_device(device)
        self._tables, self._precision = self._there(tables), self._there(precision)

    def squared_error(self, weights: Floats32, profiles: Floats32) -> float:
        """Half the weighted squares of the misfits of all pairs."""
        misfits = self._misfits(self._there(weights), self._there(profiles))
        # Each pair is there twice.
        return 0.25 * float((misfits * misfits * self._precision).sum().cpu())

    def gradient(self, weights: Floats32, profiles: Floats32) -> Floats32:
        """Gradient of `squared_error` in the profiles, per unit of a class's weight."""
        there = self._there(profiles)
        slopes = self._misfits(self._there(weights), there) * self._precision
        return np.asarray((there @ slopes).cpu().numpy(), dtype=np.float32)

    def _misfits(self, weights: "torch.Tensor", profiles: "torch.Tensor") -> "torch.Tensor":
        return profiles.T @ (weights[:, None] * profiles) - self._tables

    def _there(self, array: Floats32) -> "torch.Tensor":
        import torch

        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)
