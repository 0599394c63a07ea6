"""Every mechanism is what the catalogue says of it, and keeps the contract of the five stages.

What holds for all mechanisms is tested here, for all of them, on tables of a few cells; the tests
of one mechanism are about what it alone does.
"""

import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hallmark.mechanisms.catalogue import CATALOGUE, Guarantee
from hallmark.mechanisms.certificates.alone import CertificateAlone
from hallmark.mechanisms.certificates.with_share import WithShare
from hallmark.mechanisms.contract import Mechanism
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.inference.transcript import Answered, Transcribing, Transcript
from hallmark.mechanisms.linear_queries import kinds
from hallmark.mechanisms.linear_queries.workload import Workload
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.privacy.accountant import fits, pure_epsilon
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.cells import ArrayCounter
from hallmark.mechanisms.privacy.events import Event, merged
from hallmark.mechanisms.registry import MECHANISMS, planned
from hallmark.mechanisms.request import Request
from tests.builders.columns import line, nominal, places
from tests.builders.curators import curator_of

RECORDS = 60
EPSILON = Fraction(2)
DELTA = Fraction(1, 10**5)
REPLACE = Adjacency(neighbours=Neighbours.REPLACE_ONE)
RELATIONS = (REPLACE, Adjacency(neighbours=Neighbours.ADD_REMOVE))
PERSONS = Adjacency(neighbours=Neighbours.ADD_REMOVE, records=3, person="id")  # budgets split fast
TABLE = Domain((line("x", 4), nominal("c", 3, has_null=True)))
TOWNS = Domain((places("town", np.array([[0, 0], [0, 1], [2, 1]])), nominal("c", 2)))
FINE = Domain((line("x", 8), nominal("c", 2)))
PARTICLES = {
    "method": "particles",
    "particles": 100,
    "projection": {"iterations": 20, "directions": 5, "bank": 10},
    "descent": {"epochs": 5},
}
QUICK: dict[str, dict[str, Any]] = {
    "privpgd": {"generator": {"method": "noise-aware", "latent": {"members": 2, "classes": 2}}},
    "privpgd-paper": {"generator": PARTICLES},
    "mwem": {"generator": PARTICLES},
    "private-gsd": {"generator": {"method": "private-gsd", "rows": 60, "generations": 100}},
}
NAMES = tuple(MECHANISMS)
LONG = ("mst", "mwem")  # the search for their noise, but for persons
SPLIT = [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in NAMES]
OF_EACH = [
    pytest.param(name, one, id=f"{name}-{one}", marks=pytest.mark.slow if name in LONG else ())
    for name in NAMES
    for one in RELATIONS
] + [pytest.param(name, PERSONS, id=f"{name}-persons") for name in LONG]


def refused(what: str) -> Any:
    return pytest.raises(ValueError, match=what)


def plan_of(
    mechanism: Mechanism | CertificateAlone,
    domain: Domain = TABLE,
    *,
    delta: Fraction | None = None,
    adjacency: Adjacency = REPLACE,
    public: np.ndarray | None = None,
    **parameters: Any,
) -> Any:
    """A plan within the budget of the mechanism's guarantee, or within one with `delta`."""
    entry = CATALOGUE[mechanism.name]
    if entry.answers_queries and "queries" not in parameters:
        parameters["queries"] = Workload.of(domain, kinds.marginal_cells(domain, [(0, 1)]))
    if delta is None:
        delta = DELTA if entry.guarantee is Guarantee.NEEDS_DELTA else Fraction(0)
    request = Request(
        domain=domain,
        budget=Budget(epsilon=EPSILON, delta=delta),
        adjacency=adjacency,
        expected_records=RECORDS,
        parameters=QUICK.get(mechanism.name, {}) | parameters,
        public=public,
    )
    return planned(mechanism, request)


def codes_of(domain: Domain, seed: int, rows: int = RECORDS) -> np.ndarray:
    return np.random.default_rng(seed).integers(domain.shape, size=(rows, len(domain))).astype("i4")


def events_told(transcript: Transcript, plan: Any) -> list[Event]:
    """The events of everything that a transcript has."""
    told: list[Event] = []
    for entry in transcript.entries:
        if isinstance(entry, Answered):
            told.append(entry.query.event(plan.adjacency))
        else:
            told += entry.events
    return told


def check_release(mechanism: Mechanism, plan: Any, folder: Path) -> None:
    """Run all stages, the private ones twice, and hold them to the contract."""
    domain = plan.domain
    assert plan.mechanism == mechanism.name
    assert fits(plan.events, plan.budget)
    copy = pickle.loads(pickle.dumps(plan))
    assert copy.events == plan.events
    assert copy.parameters == plan.parameters

    curator = curator_of(plan, codes_of(domain, 1), folder)
    transcribing = Transcribing(curator)
    measured = mechanism.measure(transcribing, plan, mechanism.select(transcribing, plan))
    charged = curator.ledger.events("r1")
    assert charged, "somebody asked"
    assert set(merged(charged)) == set(merged(events_told(transcribing.transcript, plan)))
    assert fits(charged, plan.budget)
    assert plan.budget.delta or pure_epsilon(charged) <= plan.budget.epsilon
    assert measured.total == (RECORDS if plan.adjacency.total_is_public else None)

    # Of other records, asked again under the same name: whatever comes back was in the log.
    curator = replace(curator, counter=ArrayCounter(codes_of(domain, 2)))
    again = mechanism.measure(curator, plan, mechanism.select(curator, plan))
    np.testing.assert_equal(again.tables, measured.tables)
    assert curator.ledger.events("r1") == charged

    made, once_more = (
        mechanism.generate(plan, answers, rows=7, rng=np.random.default_rng(3))
        for answers in (measured, pickle.loads(pickle.dumps(measured)))
    )
    assert made.codes.shape == (7, len(domain))
    assert made.codes.dtype == np.int32
    assert ((made.codes >= 0) & (made.codes < domain.shape)).all()
    assert (once_more.codes == made.codes).all()
    with refused("output.rows: 0"):
        mechanism.generate(plan, measured, rows=0, rng=np.random.default_rng(3))

    certificate = mechanism.certify(
        plan, measured, made, confidence=0.9, rng=np.random.default_rng(4)
    )
    assert certificate.confidence == 0.9
    assert certificate.bounds
    assert all(0 <= bound.value <= 1 for bound in certificate.bounds)
    answers = CATALOGUE[mechanism.name].answers_queries
    assert (certificate.answers is not None) == answers
    if not answers:
        assert {(name,) for name in domain.names} <= {b.columns for b in certificate.bounds}


@pytest.mark.parametrize(("name", "adjacency"), OF_EACH)
def test_a_release_is_drawn_once_within_its_budget_and_certified(
    name: str, adjacency: Adjacency, tmp_path: Path
) -> None:
    mechanism = MECHANISMS[name]
    check_release(mechanism, plan_of(mechanism, adjacency=adjacency), tmp_path)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if CATALOGUE[name].guarantee is Guarantee.EITHER]
)
def test_what_spends_either_budget_spends_one_with_delta(name: str, tmp_path: Path) -> None:
    check_release(MECHANISMS[name], plan_of(MECHANISMS[name], delta=DELTA), tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_delta_is_spent_as_the_guarantee_says(name: str) -> None:
    match CATALOGUE[name].guarantee:
        case Guarantee.NEEDS_DELTA:
            with refused(r"privacy\.delta: is 0, .*Gaussian noise, which needs delta"):
                plan_of(MECHANISMS[name], delta=Fraction(0))
        case Guarantee.PURE:
            with refused(r"privacy\.delta: is 1e-05, .*spends no delta"):
                plan_of(MECHANISMS[name], delta=DELTA)
        case Guarantee.EITHER:
            plan_of(MECHANISMS[name], delta=DELTA)
    if CATALOGUE[name].guarantee is not Guarantee.NEEDS_DELTA:
        assert pure_epsilon(plan_of(MECHANISMS[name]).events) <= EPSILON


@pytest.mark.parametrize("name", NAMES)
def test_unknown_parameters_are_refused_by_name(name: str) -> None:
    with refused(r"mechanism\.depht"):
        plan_of(MECHANISMS[name], depht=3)


@pytest.mark.parametrize("name", NAMES)
def test_queries_are_needed_by_whatever_answers_them_and_refused_elsewhere(name: str) -> None:
    with refused(r"mechanism\.queries: missing" if CATALOGUE[name].answers_queries else "queries"):
        plan_of(MECHANISMS[name], queries=None)


@pytest.mark.parametrize("name", CATALOGUE)
def test_public_records_are_used_where_claimed_and_refused_elsewhere(name: str) -> None:
    mechanism, public = MECHANISMS.get(name, CertificateAlone()), codes_of(TABLE, 5)
    if CATALOGUE[name].takes_public_data:
        plan = plan_of(mechanism, public=public)
        if name == "sparse-lipschitz":
            assert plan.support_kind == "public"
        else:
            assert plan.request.public is public
    else:
        with refused(f"public_data: .*{name}"):
            plan_of(mechanism, public=public)


@pytest.mark.parametrize("name", SPLIT)
def test_a_share_pays_for_a_certificate_where_claimed_and_is_refused_elsewhere(name: str) -> None:
    mechanism = WithShare(MECHANISMS[name], Fraction(1, 4))
    if CATALOGUE[name].takes_share:
        # Beside rounds whose noise is chosen on answers, as AIM's, no share can be proved to fit.
        chosen = {"selection": {"method": "all"}} if name == "aim" else {}
        plan = plan_of(mechanism, **chosen)
        assert plan.share_budget == Budget(epsilon=EPSILON / 4)
        assert fits(plan.events, plan.budget)
    else:
        with refused(r"certificate\.share: .*its own measurements"):
            plan_of(mechanism)


@pytest.mark.parametrize("name", NAMES)
def test_bins_are_chosen_where_claimed_and_refused_elsewhere(name: str) -> None:
    binned = Binned(MECHANISMS[name], share=Fraction(1, 5), bins={"x": 3})
    if CATALOGUE[name].takes_bins:
        plan = plan_of(binned, FINE, adjacency=PERSONS)
        assert fits(plan.events, plan.budget)
        assert plan.inner.domain.shape == (3, 2)
    else:
        with refused(f"binning: .*{name} does not"):
            plan_of(binned, FINE)


@pytest.mark.parametrize("name", NAMES)
def test_places_are_released_where_claimed_and_refused_elsewhere(name: str, tmp_path: Path) -> None:
    mechanism = MECHANISMS[name]
    if CATALOGUE[name].takes_places:
        check_release(mechanism, plan_of(mechanism, TOWNS), tmp_path)
    else:
        with refused(rf"columns\.town\.type: is places, which {name}"):
            plan_of(mechanism, TOWNS)


@pytest.mark.parametrize("adjacency", RELATIONS, ids=str)
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_a_certificate_alone_is_drawn_once_within_its_budget(
    delta: Fraction, adjacency: Adjacency, tmp_path: Path
) -> None:
    certifier = CertificateAlone()
    plan = plan_of(certifier, TOWNS, delta=delta, adjacency=adjacency)
    curator = curator_of(plan, codes_of(TOWNS, 1), tmp_path)
    changed = replace(curator, counter=ArrayCounter(codes_of(TOWNS, 2)))
    assert fits(plan.events, plan.budget)
    first, again = (certifier.measure(asked, plan) for asked in (curator, changed))
    np.testing.assert_equal(first.tables, again.tables)
    assert first.total == (RECORDS if adjacency.total_is_public else None)
    charged = curator.ledger.events("r1")
    assert fits(charged, plan.budget)
    if not delta:
        assert pure_epsilon(charged) == EPSILON
