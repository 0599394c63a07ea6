"""The catalogue of parameters is what mechanisms take: the same names, words and bounds."""

import re
from typing import Any

import pytest

from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.mechanisms.marginals.parameters import GENERATORS, SELECTIONS
from hallmark.mechanisms.parameters import PARAMETERS, Kind, Parameter
from hallmark.mechanisms.registry import MECHANISMS
from tests.mechanisms.test_contract import plan_of

EVERY = [(name, one) for name, several in PARAMETERS.items() for one in several]
KNOWN = [(name, one) for name, one in EVERY if one.kind is not Kind.OTHER]
OF_MARGINALS = [name for name, several in PARAMETERS.items() if len(several[0].keys) > 1]
WRONG: dict[Kind, list[Any]] = {
    Kind.WHOLE: [-1, 1.5, "many", True, [2]],
    Kind.NUMBER: [0, -0.5, "much", True],
    Kind.SHARE: [1, -0.1, "half", True],
    Kind.PART: [0, 1, "half", True],
    Kind.FLAG: ["yes", 1],
    Kind.WORD: ["zzzzz", 3],
    Kind.COLUMN: [3, ["x"]],
}


def ids(value: Any) -> str:
    return value.name if isinstance(value, Parameter) else str(value)


def given(one: Parameter, value: Any) -> dict[str, Any]:
    """What a spec says of a mechanism whose one parameter has a value."""
    section, *rest = one.keys
    if not rest:
        return {section: value}
    if rest == ["method"]:
        return {section: {"method": value}}
    (method,) = re.findall(r"; of ([a-z]+)", one.sentence)
    return {section: {"method": method, rest[0]: value}}


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - set(OF_MARGINALS)))
def test_a_mechanism_takes_these_parameters_and_no_other(name: str) -> None:
    with pytest.raises(ValueError, match="has no such parameter; it knows") as refused:
        plan_of(MECHANISMS[name], zzzzz=1)
    known = set(str(refused.value).partition("it knows ")[2].split(", "))
    told = {one.name for one in CATALOGUE[name].parameters}
    assert told - {"certificate_share"} == known  # which is read before the method's own
    assert ("certificate_share" in told) == (
        CATALOGUE[name].answers_queries and name not in ("linear-queries", "dpam")
    )


@pytest.mark.parametrize("name", OF_MARGINALS)
def test_a_mechanism_of_marginals_is_a_selection_and_a_generator(name: str) -> None:
    with pytest.raises(ValueError, match=r"zzzzz: .* settings stand under selection or generator"):
        plan_of(MECHANISMS[name], zzzzz=1)
    words = {one.name: one.words for one in PARAMETERS[name]}
    assert set(words["selection.method"]) == set(SELECTIONS)
    assert set(words["generator.method"]) == set(GENERATORS)
    settings = {one.keys[1] for one in PARAMETERS[name] if one.keys[0] == "selection"}
    taken = set()
    for method in SELECTIONS:
        with pytest.raises(ValueError, match=r"zzzzz: .* no such setting; it knows") as refused:
            plan_of(MECHANISMS["mst"], selection={"method": method, "zzzzz": 1})
        taken |= set(str(refused.value).partition("it knows ")[2].split(", "))
    assert settings - {"method"} == taken - {"none"}


@pytest.mark.parametrize(("name", "one"), KNOWN, ids=ids)
def test_what_the_catalogue_refuses_the_mechanism_refuses_too(name: str, one: Parameter) -> None:
    for value in WRONG[one.kind]:
        assert one.wrong(value), value
        section = one.keys[0]
        with pytest.raises(ValueError, match=rf"mechanism\.{section}"):
            plan_of(MECHANISMS[name], **given(one, value))


@pytest.mark.parametrize(
    ("name", "one"), [(name, one) for name, one in KNOWN if one.kind is Kind.WORD], ids=ids
)
def test_the_words_of_a_parameter_are_those_of_the_mechanism(name: str, one: Parameter) -> None:
    with pytest.raises(ValueError, match=rf"mechanism\.{one.keys[0]}") as refused:
        plan_of(MECHANISMS[name], **given(one, "zzzzz"))
    assert all(word in str(refused.value) for word in one.words)
    assert all(not one.wrong(word) for word in one.words)


def test_what_a_spec_gives_is_told_with_its_keys() -> None:
    def told(name: str, **given: Any) -> dict[tuple[str, ...], str]:
        return dict(CATALOGUE[name].wrong(given))

    assert told("pmm", depth="auto", consistency="uniform") == {}
    assert told("pmm", depth=-1, zzz=1) == {
        ("zzz",): "is no parameter of pmm; it knows depth, consistency",
        ("depth",): "is -1; give auto, or a whole number of at least 0",
    }
    assert told("certify", zzz=1) == {("zzz",): "is no parameter of certify; it knows none"}
    assert told("privpgd", selection="mst", generator={"method": "particles"}) == {}
    assert list(told("privpgd", selection="mtt")) == [("selection", "method")]
    assert list(told("privpgd", selection={"ways": 0})) == [("selection", "ways")]
    assert told("dpfw", certificate_share="1/10") == {}
    assert list(told("dpfw", alpha=float("nan"), certificate_share="1/0")) == [
        ("alpha",), ("certificate_share",),
    ]  # fmt: skip
