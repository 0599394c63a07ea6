"""The catalogue names the mechanisms that there are, and the page that shows it is up to date."""

from hallmark.mechanisms.catalogue import CATALOGUE
from hallmark.mechanisms.catalogue_table import PAGE, with_table
from hallmark.mechanisms.certificates.alone import CertificateAlone
from hallmark.mechanisms.registry import MECHANISMS


def test_every_mechanism_has_its_entry() -> None:
    assert {name for name, entry in CATALOGUE.items() if entry.makes_records} == set(MECHANISMS)
    assert set(CATALOGUE) - set(MECHANISMS) == {CertificateAlone().name}
    assert all(name == mechanism.name for name, mechanism in MECHANISMS.items())


def test_the_readme_shows_the_catalogue_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page), (
        "refresh it with: .venv/bin/python -m hallmark.mechanisms.catalogue_table"
    )
    assert with_table(page.replace("`dpam` | (ε, δ)", "`dpam` | pure ε")) == page
