"""What is compared: mechanisms of the house and published peers, each with what it protects."""

from dataclasses import dataclass
from fractions import Fraction

from benchmarks.comparison.relations import ADD_REMOVE, REPLACE_ONE
from hallmark.mechanisms.registry import MECHANISMS

OURS = ("privpgd", "privpgd-paper", "aim", "mst", "mwem", "private-gsd")
"""Ours for tables of many columns, as far as they are registered; others run when named."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """One line of the comparison.

    Attributes:
        name: of the method in results.
        environment: the peer's own, `peers/ENVIRONMENT.txt`; None for mechanisms of the house.
        driver: what runs it: a method of the peer's driver, or the mechanism's registered name.
        relations: neighbouring relations that it protects as it is.
        total: whether it uses the number of records as if public ("public"), or estimates it
            ("estimated"); "by relation" is public at replace-one and estimated else.
        noise_share: least share of its zCDP budget spent on Gaussian noise, where it can be
            converted to replace-one (`relations`).
        accounting: where the relation was read, and what its users must know.
    """

    name: str
    environment: str | None
    driver: str
    relations: tuple[str, ...]
    total: str
    noise_share: Fraction | None = None
    accounting: str

    def total_at(self, relation: str) -> str:
        """Whether the number of records is used as public at this relation."""
        if self.total != "by relation":
            return self.total
        return "public" if relation == REPLACE_ONE else "estimated"


def _peer(environment: str, driver: str, **fields: object) -> Method:
    return Method(
        name=f"{environment}-{driver}",
        environment=environment,
        driver=driver,
        relations=(ADD_REMOVE,),
        **fields,  # type: ignore[arg-type]
    )


_MST, _AIM = Fraction(2, 3), Fraction(9, 10)

PEERS = {
    method.name: method
    for method in (
        _peer(
            "mbi",
            "mst",
            total="estimated",
            noise_share=_MST,
            accounting="The package ships estimation only; the mechanism is written for this "
            "comparison on its public interface, with sensitivity 1 of marginals (L2) and of "
            "misfits (L1), as its authors have it. JAX in single precision, its default.",
        ),
        _peer(
            "dpmm",
            "mst",
            total="estimated",
            noise_share=_MST,
            accounting="Gaussian noise and choices are calibrated to sensitivity 1. We draw as "
            "many rows as its model estimates.",
        ),
        _peer(
            "dpmm",
            "privbayes",
            total="public",
            accounting="Noise is calibrated to L2 sensitivity 1 (add or remove), but choices to a "
            "sensitivity of mutual information at a public number of records, while the score is "
            "a normalised one; we know no proof for that, and do not convert it. We draw as many "
            "rows as its model estimates.",
        ),
        _peer(
            "smartnoise",
            "mst",
            total="public",
            noise_share=_MST,
            accounting="Noise and choices are calibrated to sensitivity 1, but the exact number "
            "of records enters the model and is the number of rows.",
        ),
        _peer(
            "mbi",
            "aim",
            total="estimated",
            noise_share=_AIM,
            accounting="As for mbi-mst; all pairs, models up to 80 MB, 1,000 steps a round. All "
            "pairs of a model come from one calibrated junction tree (peers/pairs.py): to "
            "eliminate anew for each, as the package does, takes some two times as long and "
            "three times the memory.",
        ),
        _peer(
            "dpmm",
            "aim",
            total="estimated",
            noise_share=_AIM,
            accounting="As for dpmm-mst. We bound the model by 80 MB, as AIM's authors do; its "
            "pipeline leaves it unbounded.",
        ),
        _peer(
            "smartnoise",
            "aim",
            total="public",
            noise_share=_AIM,
            accounting="As for smartnoise-mst: the number of rows is the exact one. It bounds "
            "the sum of cliques in place of the junction tree, so models may grow without bound.",
        ),
    )
}


def ours(name: str) -> Method:
    """A mechanism of the house.

    Raises:
        ValueError: none has the name.
    """
    if name not in MECHANISMS:
        known = ", ".join(sorted([*MECHANISMS, *PEERS]))
        raise ValueError(f"there is no method {name!r}; known are {known}")
    return Method(
        name=name,
        environment=None,
        driver=name,
        relations=(ADD_REMOVE, REPLACE_ONE),
        total="by relation",
        accounting="The house's accountant; noise is simulated with the law of a release.",
    )


def method(name: str) -> Method:
    """A peer, or a mechanism of the house, by name."""
    return PEERS.get(name) or ours(name)


def default_methods() -> tuple[str, ...]:
    """Ours, then all peers."""
    return (*OURS, *PEERS)
