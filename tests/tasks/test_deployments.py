"""The page on deciding shows the deployments as they are listed."""

from fractions import Fraction

from hallmark.tasks.rendering.deployments import DEPLOYMENTS, PAGE, with_table


def test_the_page_shows_the_deployments_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page), (
        "refresh it with: .venv/bin/python -m hallmark.tasks.rendering.deployments"
    )
    assert with_table(page.replace("17.14", "1.714")) == page


def test_every_deployment_has_a_number_a_unit_and_a_source() -> None:
    for one in DEPLOYMENTS:
        assert Fraction(one.epsilon) > 0
        assert not one.delta or 0 < Fraction(one.delta) < 1
        assert one.unit
        assert one.source.startswith("https://")
