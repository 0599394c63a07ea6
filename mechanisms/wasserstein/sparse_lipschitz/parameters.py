"""What a spec may say of a sparse-Lipschitz release, read and checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from hallmark.mechanisms.blocks.choose_noise import NoiseChoice
from hallmark.mechanisms.blocks.programs import Loss
from hallmark.mechanisms.domain.domain import Domain
from hallmark.mechanisms.request import Request

SupportKind = Literal["auto", "public", "grid"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Checked parameters; see `SparseLipschitz`."""

    marginals: int
    blocks: tuple[tuple[int, ...], ...] | None
    cells: int | None  # None: chosen by forecast
    noise: NoiseChoice
    loss: Loss
    support: SupportKind
    support_points: int
    measure_discretisation: bool


def parse(request: Request) -> Settings:
    """Settings from a spec's parameters.

    Raises:
        ValueError: a parameter is unknown, or has a value that it cannot have.
    """
    known = {
        "marginals",
        "blocks",
        "cells",
        "noise",
        "loss",
        "support",
        "support_points",
        "measure_discretisation",
    }
    request.refuse_unknown("sparse-lipschitz", known)
    parameters, domain = request.parameters, request.domain
    if "blocks" in parameters and "marginals" in parameters:
        raise ValueError("mechanism.blocks: given with marginals; give one of the two")
    cells = parameters.get("cells", "auto")
    if cells != "auto":
        cells = _whole("cells", cells, least=1)
    measure = parameters.get("measure_discretisation", True)
    if not isinstance(measure, bool):
        raise ValueError(f"mechanism.measure_discretisation: {measure!r}; use true or false")
    return Settings(
        marginals=_whole("marginals", parameters.get("marginals", min(2, len(domain))), least=1),
        blocks=_blocks(parameters["blocks"], domain) if "blocks" in parameters else None,
        cells=None if cells == "auto" else cells,
        noise=_one_of("noise", parameters.get("noise", "auto"), get_args(NoiseChoice)),
        loss=_one_of("loss", parameters.get("loss", "U_T"), get_args(Loss)),
        support=_one_of("support", parameters.get("support", "auto"), get_args(SupportKind)),
        support_points=_whole("support_points", parameters.get("support_points", 4000), least=1),
        measure_discretisation=measure,
    )


def _whole(name: str, value: Any, *, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"mechanism.{name}: {value!r}; give a whole number of at least {least}")
    return value


def _one_of(name: str, value: Any, allowed: tuple[T, ...]) -> T:
    if value not in allowed:
        raise ValueError(f"mechanism.{name}: {value!r}; use {', '.join(map(str, allowed))}")
    found: T = value
    return found


def _blocks(given: Any, domain: Domain) -> tuple[tuple[int, ...], ...]:
    names = [attribute.name for attribute in domain.attributes]
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ValueError(f"mechanism.blocks: {given!r}; give a list of lists of column names")
    if not given:
        raise ValueError("mechanism.blocks: there is none; name one at least, or leave blocks out")
    blocks = []
    for position, block in enumerate(given):
        if not isinstance(block, Sequence) or isinstance(block, str):
            raise ValueError(f"mechanism.blocks[{position}]: {block!r}; give a list of columns")
        strange = [name for name in block if name not in names]
        if strange:
            raise ValueError(
                f"mechanism.blocks[{position}]: no column {strange[0]!r}; there are "
                f"{', '.join(names)}"
            )
        blocks.append(tuple(names.index(name) for name in block))
    return tuple(blocks)
