"""The mechanisms that make records, by the names of release specs, and how to plan with one.

A certificate alone, which a spec calls `certify`, is
`mechanisms.certificates.alone.CertificateAlone`.
"""

from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.mechanisms.certificates.alone import CertificateAlone
from hallmark.mechanisms.certificates.with_share import WithShare
from hallmark.mechanisms.contract import Mechanism, Plan
from hallmark.mechanisms.domain.domain import Kind
from hallmark.mechanisms.linear_queries.cliquewise import (
    plan_dpam_or_cliquewise,
    plan_dpfw_or_cliquewise,
)
from hallmark.mechanisms.linear_queries.direct.method import plan_direct
from hallmark.mechanisms.linear_queries.mechanism import LinearQueryMechanism
from hallmark.mechanisms.linear_queries.peers.dqrs import plan_dqrs
from hallmark.mechanisms.linear_queries.peers.dual_query import plan_dual_query
from hallmark.mechanisms.linear_queries.peers.fem import plan_fem, plan_sep_fem
from hallmark.mechanisms.linear_queries.peers.mwem import plan_mwem
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.request import Request
from hallmark.mechanisms.wasserstein.adaptive_support import AdaptiveSupport
from hallmark.mechanisms.wasserstein.pmm import PMM, PMMH
from hallmark.mechanisms.wasserstein.psmm import PSMM
from hallmark.mechanisms.wasserstein.sparse_lipschitz import SparseLipschitz
from hallmark.mechanisms.wasserstein.superregular import Superregular

_ALL: tuple[Mechanism, ...] = (
    PMM(),
    PMMH(),
    PSMM(),
    Superregular(),
    SparseLipschitz(),
    AdaptiveSupport(),
    Marginals(
        "privpgd",
        {"method": "all", "emphasis": 0.2, "coarse": 0.15},
        {"method": "noise-aware"},
        few={
            "method": "all",
            "ways": 3,
            "emphasis": 0.2,
            "coarse": 0.15,
            "priorities": {"columns": "all", "ways": 2, "share": 0.5},
        },
        wide={"method": "strongest"},
    ),
    Marginals("privpgd-paper", {"method": "all"}, {"method": "particles"}),
    Marginals("private-gsd", {"method": "all"}, {"method": "private-gsd"}),
    Marginals("mst", {"method": "mst"}, {"method": "graphical-model"}),
    Marginals("aim", {"method": "aim"}, {"method": "graphical-model"}),
    Marginals("mwem", {"method": "mwem"}, {"method": "particles"}),
    LinearQueryMechanism("linear-queries", plan_direct, bounds_itself=True),
    LinearQueryMechanism("dpam", plan_dpam_or_cliquewise, bounds_itself=True),
    LinearQueryMechanism("dpfw", plan_dpfw_or_cliquewise, bounds_itself=False),
    LinearQueryMechanism("mwem-queries", plan_mwem, bounds_itself=False),
    LinearQueryMechanism("dual-query", plan_dual_query, bounds_itself=False),
    LinearQueryMechanism("dqrs", plan_dqrs, bounds_itself=False),
    LinearQueryMechanism("fem", plan_fem, bounds_itself=False),
    LinearQueryMechanism("sep-fem", plan_sep_fem, bounds_itself=False),
)

MECHANISMS: dict[str, Mechanism] = {mechanism.name: mechanism for mechanism in _ALL}


def planned(mechanism: Mechanism | CertificateAlone, request: Request) -> Plan:
    """The plan of a mechanism, or of a certificate alone, if it can serve the request.

    Args:
        mechanism: also with a share for its certificate, or with bins.
    Raises:
        ValueError: the catalogue says that it cannot; or as `plan` of the mechanism.
    """
    inner = mechanism.inner if isinstance(mechanism, WithShare) else mechanism
    refusals = CATALOGUE[mechanism.name].refusals(
        delta=request.budget.delta,
        public_data=request.public is not None,
        places=[one.name for one in request.domain.attributes if one.kind is Kind.METRIC],
        share=isinstance(mechanism, WithShare),
        binning=isinstance(inner, Binned) and bool(inner.private),
        two_ways=inner.public if isinstance(inner, Binned) else (),
    )
    for path, what in refusals:
        raise ValueError(f"{'.'.join(path)}: {what}")
    return mechanism.plan(request)
