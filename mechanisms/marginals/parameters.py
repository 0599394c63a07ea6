"""What a release spec may set of marginal mechanisms: selection, generator, and their settings.

mechanism:
  name: privpgd
  selection: {method: aim, ways: 3}
  generator: noise-aware            # short for {method: noise-aware}
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from math import comb, isfinite
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hallmark.mechanisms.domain.cliques import all_ways, cells
from hallmark.mechanisms.marginals.generators.generator import Generator
from hallmark.mechanisms.marginals.generators.genetic.private_gsd import PrivateGSD
from hallmark.mechanisms.marginals.generators.graphical.model import GraphicalModel
from hallmark.mechanisms.marginals.generators.noise_aware.mixture_loss import entries_of_triples
from hallmark.mechanisms.marginals.generators.noise_aware.noise_aware import NoiseAware
from hallmark.mechanisms.marginals.generators.particles.particles import Particles
from hallmark.mechanisms.marginals.selection.aim import plan_aim
from hallmark.mechanisms.marginals.selection.design import Design
from hallmark.mechanisms.marginals.selection.fixed import plan_fixed
from hallmark.mechanisms.marginals.selection.misfit import noise_misfit
from hallmark.mechanisms.marginals.selection.mwem import plan_mwem
from hallmark.mechanisms.marginals.selection.settings import nearest
from hallmark.mechanisms.marginals.selection.spending import refuse_unservable
from hallmark.mechanisms.marginals.selection.strongest import plan_strongest
from hallmark.mechanisms.marginals.selection.tree import plan_tree
from hallmark.mechanisms.privacy.calibration import gaussian_sigma2
from hallmark.mechanisms.request import Request

SELECTIONS: Mapping[str, Callable[..., Design]] = {
    "all": plan_fixed,
    "strongest": plan_strongest,
    "mst": plan_tree,
    "aim": plan_aim,
    "mwem": plan_mwem,
}
GENERATORS: Mapping[str, Callable[..., Generator]] = {
    "noise-aware": NoiseAware,
    "graphical-model": GraphicalModel,
    "particles": Particles,
    "private-gsd": PrivateGSD,
}

_HIDDEN = 0.35  # about what the strongest pairs are off where they are told not at all
_TOLD = 0.1  # noise of a triple below which triples tell more than pairs; benchmarks/held_out.py
_MOST_TRIPLES = 2**13  # which take a minute; of 37 columns

T = TypeVar("T")


def design_of(
    default: Mapping[str, Any],
    request: Request,
    *,
    few: Mapping[str, Any] | None = None,
    wide: Mapping[str, Any] | None = None,
) -> Design:
    """The selection that the spec asks for, planned; where it asks for none, the default, or the
    one for wide tables, or for few cells if it asks for no generator either.

    Raises:
        ValueError: a method or a setting is unknown or wrong, or the marginals are too large.
    """
    if request.parameters.get("selection") is None:
        own = request.parameters.get("generator") is not None  # which may not take triples
        if few is not None and not own and triples_are_told(request):
            default = few
        elif wide is not None and pairs_are_hidden(request):
            default = wide
    method, settings = _section("selection", default, SELECTIONS, request)
    return SELECTIONS[method](
        request.domain, budget=request.budget, adjacency=request.adjacency, settings=settings
    )


def pairs_are_hidden(request: Request) -> bool:
    """Whether noise that pays for all pairs would hide most of them: where, in three quarters of
    them or more, it alone makes a total variation above `_HIDDEN`. Public.

    Raises:
        ValueError: the budget has no delta, or there is no column.
    """
    return _variation_of_noise(request, ways=2, smaller=Fraction(1, 4)) > _HIDDEN


def triples_are_told(request: Request) -> bool:
    """Whether noise that pays for all triples would leave most of them to be seen: where, in half
    of them or more, it alone makes a total variation of at most `_TOLD`; and whether they are few
    enough for a generator to fit all of them together. Public.

    Raises:
        ValueError: the budget has no delta, or there is no column.
    """
    columns = len(request.domain)
    if comb(columns, 3) > _MOST_TRIPLES:  # before they are listed: wide tables have millions
        return False
    if not entries_of_triples(request.domain.shape, all_ways(columns, 3)):
        return False
    return _variation_of_noise(request, ways=3, smaller=Fraction(1, 2)) <= _TOLD


def _variation_of_noise(request: Request, *, ways: int, smaller: Fraction) -> float:
    """What noise that pays for all marginals of so many columns makes in one than which this share
    of them has fewer cells, in total variation; 0 of fewer columns."""
    refuse_unservable(request.budget, request.domain)
    if len(request.domain) < ways:
        return 0.0
    every = all_ways(len(request.domain), ways)
    sizes = sorted(cells(clique, request.domain.shape) for clique in every)
    noise = gaussian_sigma2(
        request.budget,
        l2_squared=request.adjacency.l2_squared,
        unit_moves=request.adjacency.unit_moves,
        count=len(sizes),
    )
    size = sizes[int(smaller * len(sizes))]
    return noise_misfit(noise.value, size) / 2 / request.expected_records


def generator_of(default: Mapping[str, Any], request: Request) -> Generator:
    """The generator that the spec asks for.

    Raises:
        ValueError: a method or a setting is unknown or wrong.
    """
    method, settings = _section("generator", default, GENERATORS, request)
    return build(GENERATORS[method], settings, "mechanism.generator")


def _section(
    section: str, default: Mapping[str, Any], known: Mapping[str, Any], request: Request
) -> tuple[str, Mapping[str, Any]]:
    """Method and settings. Settings of the default stand only where the method is its own."""
    where, given = f"mechanism.{section}", request.parameters.get(section)
    own = {"method": given} if isinstance(given, str) else given
    if own is None:
        own = {}
    if not isinstance(own, Mapping):
        raise ValueError(
            f"{where}: {given!r}; give a method, or a mapping with method and settings"
        )
    method = own.get("method", default["method"])
    if not isinstance(method, str) or method not in known:
        mend = nearest(str(method), known) or f"use {', '.join(known)}"
        raise ValueError(f"{where}.method: there is no {method!r}; {mend}")
    merged = {**(default if method == default["method"] else {}), **own}
    return method, {name: value for name, value in merged.items() if name != "method"}


def build(cls: Callable[..., T], given: Mapping[str, Any], where: str) -> T:
    """A dataclass of settings from plain values; fields that are dataclasses take mappings.

    Raises:
        ValueError: a name is unknown (the message gives the nearest one), a setting without a
            default is missing, or a value is of the wrong type or out of range.
    """
    types = get_type_hints(cls)
    known = fields(cls)  # type: ignore[arg-type]  # all are dataclasses
    names = [field.name for field in known]
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in names:
            mend = nearest(name, names) or f"known are {', '.join(names)}"
            raise ValueError(f"{where}.{name}: there is no such setting; {mend}")
        values[name] = _value(types[name], value, f"{where}.{name}")
    for field in known:
        if field.name not in values and field.default is field.default_factory is MISSING:
            raise ValueError(f"{where}.{field.name}: it is missing and has no default; set it")
    try:
        return cls(**values)
    except ValueError as error:
        raise ValueError(f"{where}.{error}") from error


def _value(kind: Any, value: Any, where: str) -> Any:
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise ValueError(f"{where}: {value!r}; give a mapping of settings")
        return build(kind, value, where)  # type: ignore[arg-type]  # a class, not an instance
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ValueError(f"{where}: {value!r}; use {' or '.join(map(str, get_args(kind)))}")
        return value
    if get_origin(kind) is tuple:  # of any length, all of one kind
        if not isinstance(value, list | tuple):
            raise ValueError(f"{where}: {value!r}; give a list")
        inner, *_ = get_args(kind)
        return tuple(_value(inner, part, f"{where}[{i}]") for i, part in enumerate(value))
    if get_origin(kind) in (Union, UnionType):
        if value is None:
            return None
        (inner,) = [part for part in get_args(kind) if part is not type(None)]
        return _value(inner, value, where)
    if kind is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{where}: {value!r}; use true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        raise ValueError(f"{where}: {value!r}; use a {'whole ' if kind is int else ''}number")
    if not isfinite(value):
        raise ValueError(f"{where}: {value!r}; use a finite number")
    return value if kind is int else float(value)
