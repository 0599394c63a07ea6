"""The frontier as a picture: every need is on it, and what no epsilon meets is told."""

from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

from hallmark.tasks.forecast.frontier import frontier_plot, in_sentences
from hallmark.tasks.forecast.needs import NeedForecast
from hallmark.tasks.forecast.solution import Solution

MET = NeedForecast(
    question="count by region", within=40, confidence=0.95, stated_by="the tests", outlook="met",
    half_width=39.0, at_most=39.0,
)  # fmt: skip
UNSURE = replace(MET, question="mean of age <b>by</b> region", outlook="expected", records=30.0)
NEVER = replace(MET, question="count by age, region, sex", outlook="no promise", half_width=None)
SOLUTION = Solution(
    epsilon=Fraction(3),
    asked_by=UNSURE.question,
    forecasts=(MET, UNSURE, NEVER),
    frontier=((Fraction(1, 2), MET), (Fraction(3), UNSURE), (None, NEVER)),
)
SVG = "{http://www.w3.org/2000/svg}"


def test_every_need_is_drawn_from_where_it_is_met() -> None:
    picture = ElementTree.fromstring(frontier_plot(SOLUTION, Fraction(1)))
    bars = {one.get("class"): one for one in picture.iter(f"{SVG}rect") if one.get("class")}
    starts = {style: float(bars[style].get("x") or 0) for style in ("met", "assumed")}
    assert starts["met"] < starts["assumed"]
    own = next(one for one in picture.iter(f"{SVG}line") if one.get("class") == "own")
    assert starts["met"] < float(own.get("x1") or 0) < starts["assumed"]
    said = [one.text for one in picture.iter(f"{SVG}text")]
    assert "mean of age <b>by</b> region within 40" in said
    assert "no epsilon up to 100 meets it" in said
    assert {"0.5", "3", "spec 1"} <= set(said)
    width = float(picture.get("width") or 0)
    assert all(
        float(one.get("x") or 0) >= 0
        and float(one.get("x") or 0) + float(one.get("width") or 0) <= width
        for one in bars.values()
    )


def test_the_picture_is_told_to_those_who_do_not_see_it() -> None:
    met, unsure, never = in_sentences(SOLUTION)
    assert met == "count by region within 40: met from epsilon 0.5 on."
    assert unsure.endswith("met from epsilon 3 on, if answers and groups are as assumed.")
    assert never == "count by age, region, sex within 40: no epsilon up to 100 meets it."


def test_where_nothing_is_met_the_spec_alone_is_drawn() -> None:
    none = Solution(epsilon=None, asked_by="", forecasts=(NEVER,), frontier=((None, NEVER),))
    picture = ElementTree.fromstring(frontier_plot(none, Fraction(1, 100)))
    assert not [one for one in picture.iter(f"{SVG}rect") if one.get("class") in ("met", "assumed")]
