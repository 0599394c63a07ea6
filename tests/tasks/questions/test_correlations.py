"""Correlations against those of the coded table, and their deviations against simulated noise."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hallmark.mechanisms.inference.estimator import Estimator
from hallmark.mechanisms.privacy.queries import GaussianNoise
from hallmark.mechanisms.privacy.simulation import simulate_discrete_gaussian
from hallmark.tasks.questions.correlations import correlations
from tests.tasks.questions.test_answers import (
    AGE,
    CODEC,
    CODES,
    EMPLOYED,
    INCOME,
    REGION,
    answering,
)

NAMES = list(CODEC.names)
ALL_PAIRS = [(a, b) for a in range(5) for b in range(a)]
PAIRS = answering(ALL_PAIRS, noise=Fraction(1, 100))


def told(estimator=PAIRS.estimator, records=CODES, names=NAMES, confidence=0.95):
    found = correlations(CODEC, names, estimator, records, confidence)
    return {(one.first, one.second): one for one in found}


def positions(column, codes=CODES):
    return np.asarray(CODEC.codecs[column].attribute.positions)[codes]


def test_noiseless_tables_tell_the_correlations_of_the_table_itself():
    found = told()
    there = CODES[:, INCOME] < 8  # nulls are left out
    age, income = (positions(column, CODES[there, column]) for column in (AGE, INCOME))
    one = found["age", "income"]
    assert one.estimate == pytest.approx(np.corrcoef(age, income)[0, 1])
    assert one.of_records == pytest.approx(one.estimate)
    north = np.corrcoef(positions(AGE, CODES[:, AGE]), CODES[:, REGION] == 0)[0, 1]
    (key,) = [key for key in found if key[0] == "age" and key[1].endswith("north")]
    assert found[key].estimate == pytest.approx(north)
    assert not any(one.contradicted for one in found.values())


def test_a_category_of_two_stands_for_its_column():
    employed = [key for key in told() if "employed" in key[1] and key[0] == "age"]
    assert len(employed) == 1
    one = told()[employed[0]]
    yes = CODES[:, EMPLOYED] == 1
    there = CODES[:, EMPLOYED] < 2
    expected = np.corrcoef(positions(AGE, CODES[there, AGE]), yes[there])[0, 1]
    assert one.estimate == pytest.approx(expected)


def dependent(rng, rows=4000):
    codes = CODES[rng.integers(len(CODES), size=rows)]
    codes[:, INCOME] = np.minimum(codes[:, AGE] * 8 // 10, 7)
    return codes


def test_dependence_that_the_records_lost_is_told():
    rng = np.random.default_rng(5)
    codes = dependent(rng)
    estimator = answering(ALL_PAIRS, answers=codes).estimator
    lost = codes.copy()
    lost[:, INCOME] = rng.permutation(lost[:, INCOME])
    one = told(estimator, lost)["age", "income"]
    assert one.estimate > 0.9
    assert one.is_attenuated
    assert one.contradicted
    other = told(estimator, codes)["age", "income"]
    assert not other.contradicted
    invented = told(answering(ALL_PAIRS, answers=lost).estimator, codes)["age", "income"]
    assert invented.contradicted
    assert not invented.is_attenuated


def test_deviations_are_those_of_simulated_noise():
    """The empirical variance over 250 draws is within 4 of its own deviations, 9 % each."""
    rng = np.random.default_rng(6)
    codes = dependent(rng)
    names, sigma2 = ["age", "income"], Fraction(100)
    (exact,) = answering([(AGE, INCOME)], answers=codes).estimator.tables
    errors, within = [], 0
    true = told(Estimator((exact,), None), codes, names)["age", "income"].estimate
    for _ in range(250):
        noise = simulate_discrete_gaussian(rng, sigma2, exact.answers.shape)
        noisy = replace(exact, answers=exact.answers + noise, noise=GaussianNoise(sigma2))
        one = told(Estimator((noisy,), None), codes, names)["age", "income"]
        errors.append((one.estimate - true) / one.deviation)
        within += one.low <= true <= one.high
    assert np.mean(np.square(errors)) == pytest.approx(1, abs=0.36)
    assert abs(within - 0.95 * 250) <= 4 * (250 * 0.05 * 0.95) ** 0.5


def test_noise_that_hides_all_variation_tells_no_correlation():
    assert told(answering([(AGE, INCOME)], noise=10**8).estimator) == {}


def test_what_was_not_measured_together_has_no_correlation():
    assert set(told(answering([(AGE, INCOME)], noise=Fraction(1, 100)).estimator)) == {
        ("age", "income")
    }
    assert told(answering([(AGE,)]).estimator) == {}


def test_few_differences_are_blamed_on_records_where_noise_made_them():
    """At most 5 % of releases: of 100, 13 or more would have a probability under .2 %."""
    rng = np.random.default_rng(7)
    codes = dependent(rng, 2000)
    cliques = [(AGE, INCOME), (AGE, REGION), (REGION, EMPLOYED)]
    exact = answering(cliques, answers=codes).estimator.tables
    wrong = 0
    for _ in range(100):
        noisy = tuple(
            replace(
                one,
                answers=one.answers
                + simulate_discrete_gaussian(rng, Fraction(64), one.answers.shape),
                noise=GaussianNoise(Fraction(64)),
            )
            for one in exact
        )
        found = told(Estimator(noisy, None), codes)
        wrong += any(one.contradicted for one in found.values())
    assert wrong < 13
