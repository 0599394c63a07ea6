"""The mechanisms of the house, by the name that a release spec gives."""

from mechanisms.adaptive_support import AdaptiveSupport
from mechanisms.contract import Mechanism
from mechanisms.pmm import PMM, PMMH
from mechanisms.privpgd import PrivPGD
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
    PrivPGD(),
)

MECHANISMS: dict[str, Mechanism] = {mechanism.name: mechanism for mechanism in _ALL}
