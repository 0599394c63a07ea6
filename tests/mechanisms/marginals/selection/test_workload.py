"""Workloads: what a spec may write, and what it is told where it may not."""

from fractions import Fraction

import pytest

from hallmark.mechanisms.marginals.selection.workload import Workload, parse_workload, refuse_large
from tests.mechanisms.marginals.domains import domain_of

DOMAIN = domain_of((4, 3, 2))


def listed(*entries: object) -> Workload:
    return parse_workload({"workload": list(entries)}, DOMAIN)


def test_without_settings_the_workload_is_all_pairs() -> None:
    workload = parse_workload({}, DOMAIN)
    assert workload == Workload(((0, 1), (0, 2), (1, 2)), (Fraction(1),) * 3, ways=2)
    assert workload.to_json(DOMAIN) == {"ways": 2}
    assert parse_workload({}, domain_of((5,))).cliques == ((0,),)


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_all_marginals_of_so_many_columns(ways: int) -> None:
    cliques = parse_workload({"ways": ways}, DOMAIN).cliques
    assert {len(clique) for clique in cliques} == {ways}
    assert len(cliques) == {1: 3, 2: 3, 3: 1}[ways]


def test_a_list_has_ascending_columns_and_exact_weights() -> None:
    workload = listed({"columns": ["c2", "c0"], "weight": 0.1}, {"columns": ["c1"]})
    assert workload.cliques == ((0, 2), (1,))
    assert workload.weights == (Fraction(1, 10), Fraction(1))
    assert workload.to_json(DOMAIN) == {
        "workload": [
            {"columns": ["c0", "c2"], "weight": "1/10"},
            {"columns": ["c1"], "weight": "1"},
        ]
    }


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ways": 0}, r"selection\.ways: 0; give a whole number of at least 1"),
        ({"ways": 1.5}, "a whole number"),
        ({"ways": True}, "a whole number"),
        ({"ways": 4}, "4, but there are only 3 columns; give at most that many"),
        ({"ways": 2, "workload": [{"columns": ["c0"]}]}, "given with workload"),
        ({"workload": []}, "list one at least"),
        ({"workload": "c0"}, "give a list"),
        ({"workload": None}, "give a list"),
        ({"workload": ["c0"]}, r"workload\[0\]: 'c0'; give {columns"),
        ({"workload": [{"weight": 2}]}, r"workload\[0\]: .*give {columns"),
        ({"workload": [{"columns": "c0"}]}, "give a list of column names"),
        ({"workload": [{"columns": []}]}, "give a list of column names"),
        (
            {"workload": [{"columns": ["c0"], "weight": 1e20}, {"columns": ["c1"]}]},
            "largest weight is more than 10,000 times the smallest",
        ),
        ({"workload": [{"columns": ["c0"], "wieght": 2}]}, r"\[0\]\.wieght: .*did you mean weight"),
        ({"workload": [{"columns": ["C00"]}]}, r"no column C00; did you mean c0\?"),
        ({"workload": [{"columns": ["zzz"]}]}, "no column zzz; name columns of the spec"),
        ({"workload": [{"columns": ["c0", "c1", "c0"]}]}, "c0 is named twice"),
        (
            {"workload": [{"columns": ["c0", "c1"]}, {"columns": ["c1", "c0"]}]},
            r"workload\[1\]\.columns: c0 x c1 is entry 0 too",
        ),
        *(
            ({"workload": [{"columns": ["c0"], "weight": weight}]}, "give a positive number")
            for weight in (0, -1, "2", None, True, float("nan"), float("inf"))
        ),
    ],
)
def test_a_wrong_workload_is_refused_with_place_and_mend(
    settings: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse_workload(settings, DOMAIN)
    assert str(caught.value).startswith("mechanism.selection.")


def test_too_many_marginals_are_refused_before_they_are_listed() -> None:
    with pytest.raises(ValueError, match="137,846,528,820 marginals of so many, more than 100,000"):
        parse_workload({"ways": 20}, domain_of([2] * 40))
    with pytest.raises(ValueError, match="100,001 marginals; list at most"):
        listed(*[{"columns": ["c0"]}] * 100_001)


def test_tables_that_are_too_large_are_refused_with_the_largest_one() -> None:
    wide = domain_of((20_000, 3, 30_000))
    words = r"have 600,060,003 cells, more than 134,217,728; .* c0 x c2 with 600,000,000"
    with pytest.raises(ValueError, match=words):
        refuse_large([(0, 1), (0, 2), (1,)], wide, "the marginals")
    refuse_large([(0, 1), (1, 2)], wide, "the marginals")
