"""The mechanisms of the house, by the name that a release spec gives."""

from mechanisms.adaptive_support import AdaptiveSupport
from mechanisms.contract import Mechanism
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
    Marginals("privpgd", {"method": "all", "emphasis": 0.2}, {"method": "noise-aware"}),
    Marginals("privpgd-paper", {"method": "all"}, {"method": "particles"}),
    Marginals("private-gsd", {"method": "all"}, {"method": "private-gsd"}),
    Marginals("mst", {"method": "mst"}, {"method": "graphical-model"}),
    Marginals("aim", {"method": "aim"}, {"method": "graphical-model"}),
    Marginals("mwem", {"method": "mwem"}, {"method": "particles"}),
)

MECHANISMS: dict[str, Mechanism] = {mechanism.name: mechanism for mechanism in _ALL}
