"""The mechanisms that make records, by the name that a release spec gives.

A certificate alone, which a spec calls `certify`, is `mechanisms.certificates.given.CertifyGiven`.
"""

from mechanisms.adaptive_support import AdaptiveSupport
from mechanisms.contract import Mechanism
from mechanisms.linear_queries.cliquewise import (
    plan_dpam_or_cliquewise,
    plan_dpfw_or_cliquewise,
)
from mechanisms.linear_queries.direct.method import plan_direct
from mechanisms.linear_queries.mechanism import LinearQueryMechanism
from mechanisms.linear_queries.peers.dqrs import plan_dqrs
from mechanisms.linear_queries.peers.dual_query import plan_dual_query
from mechanisms.linear_queries.peers.fem import plan_fem, plan_sep_fem
from mechanisms.linear_queries.peers.mwem import plan_mwem
from mechanisms.marginals import Marginals
from mechanisms.pmm import PMM, PMMH
from mechanisms.psmm import PSMM
from mechanisms.sparse_lipschitz import SparseLipschitz
from mechanisms.superregular import Superregular

_ALL: tuple[Mechanism, ...] = (
    PMM(),
    PMMH(),
    PSMM(),
    Superregular(),
    SparseLipschitz(),
    AdaptiveSupport(),
    Marginals(
        "privpgd", {"method": "all", "emphasis": 0.2, "coarse": 0.15}, {"method": "noise-aware"}
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
