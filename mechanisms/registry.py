"""The mechanisms of the house, by the name that a release spec gives."""

from mechanisms.contract import Mechanism
from mechanisms.pmm import PMM
from mechanisms.privpgd import PrivPGD

MECHANISMS: dict[str, Mechanism] = {mechanism.name: mechanism for mechanism in (PMM(), PrivPGD())}
