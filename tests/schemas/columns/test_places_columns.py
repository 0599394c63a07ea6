"""Columns of places: where they are or how far apart, and every way to get that wrong."""

from fractions import Fraction

import pytest

from hallmark.mechanisms.domain.domain import Kind
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.planning.coding import codec_of
from tests.builders import wages

CITIES = """\
  city:
    type: places
    categories: {b: Berlin, h: Hamburg, m: Munich}
    coordinates:
      b: [52.52, 13.40]
      h: [53.55, 9.99]
      m: [48.14, 11.58]
    outside: refuse
    bound_source: *law
"""
ZONES = """\
  zone:
    type: places
    categories: [a, b, c]
    unit: minutes
    distances:
    - [0, 10, 20]
    - [10, 0, 15]
    - [20, 15, 0]
    outside: catch_all
    other: c
    nulls: true
    bound_source: *law
"""
MECHANISM = ("name: privpgd", "name: psmm"), ("  delta: 1e-5\n", "")


def text_with(column, *edits):
    added = ("  part_time:\n", f"{column}  part_time:\n")
    return wages.edited(added, *MECHANISM, *edits)


def load(folder, column, *edits):
    return wages.load(folder, text_with(column, *edits))


def refusal(folder, column, *edits):
    """The one problem: its line, counted from that of the column's name, and what is said."""
    text = text_with(column, *edits)
    (problem,) = wages.problems(wages.written(folder, text))
    line, _, said = problem.partition(": ")
    start = text[: text.index(column.partition("\n")[0])].count("\n") + 1
    return int(line) - start, said.partition(": ")[2]


def test_coordinates_are_exact_and_labels_stay(tmp_path):
    city = load(tmp_path, CITIES).columns["city"]
    assert city.coordinates["b"] == (Fraction("52.52"), Fraction("13.4"))
    assert (city.codes, city.labels) == (("b", "h", "m"), ("Berlin", "Hamburg", "Munich"))


def test_distances_are_a_matrix_in_the_order_of_the_categories(tmp_path):
    zone = load(tmp_path, ZONES).columns["zone"]
    assert zone.distances == ((0, 10, 20), (10, 0, 15), (20, 15, 0))


@pytest.mark.parametrize("column", [CITIES, ZONES], ids=["coordinates", "distances"])
def test_canonical_json_loads_back(column, tmp_path):
    spec = load(tmp_path, column)
    assert ReleaseSpec.model_validate_json(spec.canonical_json()) == spec


@pytest.mark.parametrize(
    ("column", "edit"),
    [
        (CITIES, ("[52.52, 13.40]", "[52.53, 13.40]")),
        (ZONES, ("[0, 10, 20]\n    - [10, 0", "[0, 11, 20]\n    - [11, 0")),
    ],
    ids=["coordinates", "distances"],
)
def test_where_places_are_changes_what_the_data_are_asked(column, edit, tmp_path):
    assert load(tmp_path, column, edit).privacy_digest() != load(tmp_path, column).privacy_digest()


@pytest.mark.parametrize(
    ("column", "edit"),
    [(CITIES, ("Berlin", "Capital")), (ZONES, ("unit: minutes", "unit: hours"))],
    ids=["label", "unit"],
)
def test_labels_and_units_of_places_are_for_people_alone(column, edit, tmp_path):
    one, other = load(tmp_path, column), load(tmp_path, column, edit)
    assert one.digest() != other.digest()
    assert one.privacy_digest() == other.privacy_digest()


@pytest.mark.parametrize(
    ("edit", "line", "said"),
    [
        (
            ("[52.52, 13.40]", "[52.52]"),
            4,
            "must be [latitude, longitude] in degrees, such as [52.52, 13.4], not a list of 1",
        ),
        (
            ("[52.52, 13.40]", "52.52"),
            4,
            "must be [latitude, longitude] in degrees, such as [52.52, 13.4], not '52.52'",
        ),
        (
            ("[52.52, 13.40]", "[east, 1]"),
            4,
            "must be a number such as 5000, 0.5, 1e-5 or 1/3, not 'east'",
        ),
        (
            ("[52.52, 13.40]", "[152.52, 13.40]"),
            4,
            "is [152.52, 13.4]; give latitude (-90 to 90) and longitude (-180 to 180) in degrees",
        ),
        (
            ("[52.52, 13.40]", "[52.52, 13.40, 34]"),
            4,
            "must be [latitude, longitude] in degrees, such as [52.52, 13.4], not a list of 3",
        ),
        (
            ("[52.52, 13.40]", "[13.40, -180.5]"),
            4,
            "is [13.4, -180.5]; give latitude (-90 to 90) and longitude (-180 to 180) in degrees",
        ),
        (
            ("[52.52, 13.40]", "[53.55, 9.99]"),
            5,
            "is the same place as 'b'; merge the two categories",
        ),
        (("      b: [52.52, 13.40]\n", ""), 3, "lacks 'b'; say where every category is"),
        (
            ("      m: [", "      x: [0, 0]\n      m: ["),
            3,
            "has 'x', which is not one of the categories",
        ),
        (("type: places", "type: places\n    unit: km"), 2, "is always km if coordinates are "
                                                            "given; remove it"),
        (
            ("type: places", "type: places\n    distances: [[0]]"),
            4,
            "or distances must be given, but not both: say where the categories are, as {code: "
            "[latitude, longitude]}, or how far apart they are, as a square matrix",
        ),
    ],
    ids=lambda value: value[1].strip() if isinstance(value, tuple) else "",
)  # fmt: skip
def test_broken_coordinates_are_refused_where_they_stand(edit, line, said, tmp_path):
    assert refusal(tmp_path, CITIES, edit) == (line, said)


@pytest.mark.parametrize(
    ("edit", "line", "said"),
    [
        (("[10, 0, 15]", "[10, 0]"), 6, "has 2 numbers, but there are 3 categories"),
        (("[20, 15, 0]", "[20, 15, 0, 9]"), 7, "has 4 numbers, but there are 3 categories"),
        (
            ("    - [20, 15, 0]\n", "    - [20, 15, 0]\n    - [1, 2, 3]\n"),
            4,
            "has 4 rows, but there are 3 categories",
        ),
        (("    - [20, 15, 0]\n", ""), 4, "has 2 rows, but there are 3 categories"),
        (("[10, 0, 15]", "[10, 1, 15]"), 6, "from 'b' to itself must be 0"),
        (("[0, 10, 20]", "[0, -10, 20]"), 5, "from 'a' to 'b' must be above 0"),
        (("[0, 10, 20]", "[0, 0, 20]"), 5, "from 'a' to 'b' must be above 0"),
        (("[0, 10, 20]", "[0, 10, 21]"), 5, "from 'a' to 'c' differs from the way back; they must "
         "agree"),
        (("[0, 10, 20]", "[0, 10, far]"), 5, "must be a number such as 5000, 0.5, 1e-5 or 1/3, "
         "not 'far'"),
        (("unit: minutes", 'unit: ""'), 3, "is missing; give the unit of the distances, such as "
                                           "km"),
        (("    unit: minutes\n", ""), 0, "is missing; give the unit of the distances, such as km"),
    ],
    ids=lambda value: value[1].strip() if isinstance(value, tuple) else "",
)  # fmt: skip
def test_broken_distances_are_refused_where_they_stand(edit, line, said, tmp_path):
    assert refusal(tmp_path, ZONES, edit) == (line, said)


@pytest.mark.parametrize("column", [CITIES, ZONES], ids=["coordinates", "distances"])
def test_places_that_are_nowhere_are_refused(column, tmp_path):
    given = column[column.index("    coordinates" if column is CITIES else "    distances") :]
    given = given[: given.index("    outside")]
    assert refusal(tmp_path, column.replace(given, ""))[1].startswith(
        "or distances must be given, but not both"
    )


def attribute(folder, column, *edits):
    name = column.partition(":")[0].strip()
    return codec_of(name, load(folder, column, *edits).columns[name]).attribute


def test_a_violated_triangle_inequality_names_the_three_places(tmp_path):
    """The spec is sound by itself; its metric is looked at when the release is prepared."""
    said = (
        r"^columns\.zone\.distances: the way from 'a' to 'c' is 26, but by 'b' it is 10 \+ 15; "
        r"use shortest paths"
    )
    with pytest.raises(ValueError, match=said):
        attribute(tmp_path, ZONES, ("[0, 10, 20]", "[0, 10, 26]"), ("[20, 15, 0]", "[26, 15, 0]"))
    equal = ("[0, 10, 20]", "[0, 10, 25]"), ("[20, 15, 0]", "[25, 15, 0]")
    assert attribute(tmp_path, ZONES, *equal).scale == 25


def test_distances_are_shares_of_the_largest_in_the_unit_given(tmp_path):
    zone = attribute(tmp_path, ZONES)
    assert (zone.kind, zone.scale, zone.unit, zone.has_null) == (Kind.METRIC, 20, "minutes", True)
    assert zone.distances.tolist() == [[0, 0.5, 1], [0.5, 0, 0.75], [1, 0.75, 0]]


def test_coordinates_are_compared_along_great_circles_in_km(tmp_path):
    city = attribute(tmp_path, CITIES)
    assert (city.unit, city.has_null) == ("km", False)
    km = city.distances * city.scale
    assert km[0, 1] == pytest.approx(255, abs=2)  # Berlin to Hamburg
    assert km[1, 2] == pytest.approx(612, abs=2) == city.scale  # Hamburg to Munich
    assert km[0, 2] == pytest.approx(504, abs=2)  # Berlin to Munich


@pytest.mark.parametrize(
    "where",
    ["coordinates: {b: [52.52, 13.4]}", "unit: km\n    distances: [[0]]"],
    ids=["coordinates", "distances"],
)
def test_a_single_place_is_a_column_too(where, tmp_path):
    column = f"  city:\n    type: places\n    categories: [b]\n    {where}\n"
    column += "    outside: refuse\n    bound_source: *law\n"
    city = attribute(tmp_path, column)
    assert (city.levels, city.unit, city.scale) == (1, "km", 1)
    assert city.distances.tolist() == [[0]]


def test_no_place_at_all_is_refused(tmp_path):
    column = CITIES[: CITIES.index("    coordinates")] + CITIES[CITIES.index("    outside") :]
    edit = ("{b: Berlin, h: Hamburg, m: Munich}", "[]\n    coordinates: {}")
    assert refusal(tmp_path, column, edit) == (2, "is empty; list at least one")


def test_distances_may_be_exact_fractions(tmp_path):
    edits = ("[0, 10, 20]", "[0, 1/3, 20]"), ("[10, 0, 15]", "[1/3, 0, 15]")
    assert load(tmp_path, ZONES, *edits).columns["zone"].distances[0][1] == Fraction(1, 3)


def test_more_places_than_can_be_compared_are_refused(tmp_path):
    codes = ", ".join(f"p{i}" for i in range(1501))
    column = f"  city:\n    type: places\n    categories: [{codes}]\n    coordinates: {{}}\n"
    column += "    outside: refuse\n    bound_source: *law\n"
    assert refusal(tmp_path, column)[1] == "lists 1501 places; list at most 1500"


def test_a_null_marker_that_is_a_place_is_refused(tmp_path):
    line, said = refusal(tmp_path, CITIES, ('null_markers: [NA, ""]', "null_markers: [m]"))
    assert line == 2
    assert said.startswith("lists 'm', which is also one of data.null_markers")


def test_privpgd_refuses_places_and_says_what_takes_them(tmp_path):
    kept = ("name: psmm", "name: privpgd"), ("  epsilon: 1\n", "  epsilon: 1\n  delta: 1e-5\n")
    line, said = refusal(tmp_path, CITIES, *kept)
    assert line == 1
    assert said.startswith("is places, which privpgd cannot embed; choose mechanism superregular")


def test_places_have_no_order_in_rules(tmp_path):
    listed = ("columns: [wage, age, sex,", "columns: [wage, city, age, sex,")
    rule = ("age < 18 => part_time = true", 'city < "b" => part_time = true')
    _, said = refusal(tmp_path, CITIES, rule, listed)
    assert "city is places and has no order, so < means nothing for it" in said


def test_places_are_compared_in_rules_by_their_codes(tmp_path):
    listed = ("columns: [wage, age, sex,", "columns: [wage, city, age, sex,")
    rule = ("age < 18 => part_time = true", 'city = "b" => part_time = true')
    assert load(tmp_path, CITIES, rule, listed).rules[0].columns() == ("city", "part_time")
    _, said = refusal(tmp_path, CITIES, (rule[0], rule[1].replace('"b"', '"x"')), listed)
    assert "'x' is not a category of city" in said
