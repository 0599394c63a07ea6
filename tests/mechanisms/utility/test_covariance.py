"""Covariance errors agree with numpy's covariance, and are defined where nothing varies."""

import numpy as np
import pytest

from hallmark.mechanisms.utility import covariance as module
from hallmark.mechanisms.utility.covariance import covariance, covariance_error
from tests.mechanisms.utility.tables import SIZES, table


def test_it_is_the_sample_covariance_of_the_embedded_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = table(1000, 2)
    expected = np.cov(((codes + 0.5) / np.array(SIZES)).T)
    np.testing.assert_allclose(covariance(codes, SIZES), expected, rtol=1e-12, atol=1e-16)
    monkeypatch.setattr(module, "_BLOCK", 7)
    np.testing.assert_allclose(covariance(codes, SIZES), expected, rtol=1e-12, atol=1e-16)


def test_codes_in_unsigned_types_give_the_same() -> None:
    codes = table(1000, 2)
    assert (covariance(codes.astype(np.uint8), SIZES) == covariance(codes, SIZES)).all()


def test_the_two_errors_divide_one_distance_by_the_two_norms() -> None:
    real, synthetic = table(300, 1), table(200, 3)
    error = covariance_error(real, synthetic, SIZES)
    a, b = (np.cov(((codes + 0.5) / np.array(SIZES)).T) for codes in (real, synthetic))
    assert error.by_real == pytest.approx(np.linalg.norm(a - b) / np.linalg.norm(a))
    assert error.by_synthetic == pytest.approx(np.linalg.norm(a - b) / np.linalg.norm(b))
    assert error.by_real != error.by_synthetic


def test_constant_columns_have_covariance_zero_exactly() -> None:
    # The mean of 0.1 thrice is not 0.1 in floating point: rounding must not look like variance.
    constant = np.full((3, 2), 2)
    assert (covariance(constant, (7, 3)) == 0).all()
    varied = np.array([[0, 2], [2, 2], [5, 2]])
    both_constant = covariance_error(constant, constant[:2] - 1, (7, 3))
    assert (both_constant.by_real, both_constant.by_synthetic) == (0.0, 0.0)
    lost = covariance_error(varied, constant, (7, 3))
    assert lost.by_synthetic is None
    assert lost.by_real == pytest.approx(1)
    invented = covariance_error(constant, varied, (7, 3))
    assert invented.by_real is None
    assert invented.by_synthetic == pytest.approx(1)


def test_one_column_has_a_variance() -> None:
    codes = np.array([[0], [1], [1]])
    assert covariance(codes, (2,)) == pytest.approx(np.array([[1 / 12]]))
