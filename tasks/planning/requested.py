"""What a spec asks for: a mechanism or a certificate alone, a budget, and whom it protects."""

from hallmark.mechanisms.certificates.alone import CertificateAlone
from hallmark.mechanisms.certificates.with_share import WithShare
from hallmark.mechanisms.contract import Mechanism
from hallmark.mechanisms.marginals.binning.mechanism import Binned
from hallmark.mechanisms.marginals.mechanism import Marginals
from hallmark.mechanisms.privacy.adjacency import Adjacency, Neighbours
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.registry import MECHANISMS
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.errors import SafeError

GRANTED_MARGINALS = 2  # columns certified jointly with a share, where the spec does not say


class PlanRefused(SafeError):
    """The mechanism cannot serve this spec; the message names the key and the fix."""


def mechanism_of(spec: ReleaseSpec) -> Mechanism:
    """The mechanism that the spec names, with shares for bins and certificate where it has them."""
    mechanism, certificate = MECHANISMS[spec.mechanism.name], spec.certificate
    if spec.bins:
        assert isinstance(mechanism, Marginals), "the spec was checked"
        mechanism = Binned(
            mechanism,
            share=spec.share_of_own_cells,
            bins=spec.bins,
            kinds=spec.kinds,
            pieces=spec.pieces,
        )
    if not certificate.share:
        return mechanism
    return WithShare(
        mechanism,
        share=certificate.share,
        marginals=certificate.marginals or GRANTED_MARGINALS,
        cells=certificate.cells,
    )


def certifier_of(spec: ReleaseSpec) -> CertificateAlone:
    """What certifies records that were made elsewhere."""
    return CertificateAlone(marginals=spec.certificate.marginals, cells=spec.certificate.cells)


def budget(spec: ReleaseSpec) -> Budget:
    """The budget that the spec asks for."""
    return Budget(epsilon=spec.privacy.epsilon, delta=spec.privacy.delta)


def adjacency(spec: ReleaseSpec) -> Adjacency:
    """The neighbouring relation and unit that the spec protects."""
    privacy = spec.privacy
    return Adjacency(
        neighbours=Neighbours(privacy.neighbours),
        records=privacy.max_records,
        person=privacy.person,
    )
