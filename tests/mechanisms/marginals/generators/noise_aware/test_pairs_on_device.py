"""Latent classes on a device: as on the CPU, on tensors that are kept apart from the CPU's."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hallmark.mechanisms.marginals.generators.noise_aware import latent_classes, pairs_on_device
from hallmark.mechanisms.marginals.generators.noise_aware.latent_classes import LatentClassFit
from hallmark.mechanisms.marginals.generators.noise_aware.mixture_loss import Pairs
from hallmark.mechanisms.marginals.generators.noise_aware.noise_aware import NoiseAware
from hallmark.mechanisms.marginals.generators.noise_aware.pairs_on_device import PairsOnDevice
from tests.mechanisms.marginals.domains import domain_of
from tests.mechanisms.marginals.generators import another_device
from tests.mechanisms.marginals.generators.noise_aware.test_noise_aware import (
    PAIRS,
    SHAPE,
    evidence,
)

CELLS, CLASSES = 40, 7
FIT = LatentClassFit(classes=10, members=2, most_steps=60)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """`cuda` is a device with a memory of its own, whose numbers are those of a CPU."""
    monkeypatch.setattr(pairs_on_device, "chosen_device", lambda name: another_device.DEVICE)


@pytest.mark.usefixtures("elsewhere")
def test_errors_and_gradients_are_those_of_the_cpu() -> None:
    rng = np.random.default_rng(0)
    tables, precision = rng.random((2, CELLS, CELLS)).astype(np.float32)
    tables, precision = tables + tables.T, precision + precision.T
    weights = rng.dirichlet(np.ones(CLASSES)).astype(np.float32)
    profiles = rng.random((CLASSES, CELLS)).astype(np.float32)
    here, there = Pairs(tables, precision), PairsOnDevice(tables, precision, "cuda")
    assert there._tables.device.type == another_device.NAME
    error = here.squared_error(weights, profiles)
    assert there.squared_error(weights, profiles) == pytest.approx(error, rel=1e-5)
    gradient = there.gradient(weights, profiles)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, here.gradient(weights, profiles), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("elsewhere")
def test_a_fit_there_ends_where_a_fit_here_does() -> None:
    given = evidence()
    fits = [
        latent_classes.fit_latent_classes(
            given, replace(FIT, device=device), rng=np.random.default_rng(2)
        )
        for device in ("cpu", "cuda")
    ]
    assert fits[0].steps == fits[1].steps
    for pair in PAIRS:
        # Sums in another order: rounding to 32 bits, which steps of Adam carry on.
        np.testing.assert_allclose(fits[1].marginal(pair), fits[0].marginal(pair), atol=2e-4)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, which is what is asked for")
def test_a_gpu_that_is_not_there_is_refused_when_the_plan_is_made() -> None:
    generator = NoiseAware(latent=replace(FIT, device="cuda"))
    with pytest.raises(ValueError, match=r"latent\.device: cuda, but PyTorch .* set device: auto"):
        generator.memory(domain_of(SHAPE), PAIRS, 1000)
    auto = NoiseAware(latent=replace(FIT, device="auto"))
    assert auto.memory(domain_of(SHAPE), PAIRS, 1000) > sum(SHAPE)


def test_other_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="device: 'tpu'; choose auto, cpu or cuda"):
        replace(FIT, device="tpu")  # type: ignore[arg-type]  # as a spec may have it
