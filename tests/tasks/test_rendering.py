"""The rendered pages: complete, self-contained, escaped, readable, and the same every time."""

import math
import os
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from schemas.audit_privacy import Curve
from schemas.audit_report import AuditRecord
from schemas.internal_review import InternalReview
from schemas.privacy_claim import Amount, PrivacyClaim
from tasks.rendering import plots, render_audit_report, render_internal_review, wording

ROOT = Path(__file__).parents[2]
VOID = {"meta", "br", "line", "rect", "polyline", "link", "img", "hr"}


class Page(HTMLParser):
    """What the tests ask of a page; fails on elements that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def html(record: AuditRecord) -> str:
    return render_audit_report(record)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def _changed(record: AuditRecord, section: str, **values: Any) -> AuditRecord:
    part = getattr(record, section).model_copy(update=values)
    return record.model_copy(update={section: part})


def test_the_summary_tells_the_release_in_a_few_words(page: Page) -> None:
    start = page.text[: page.text.index("Contents")]
    for word in ("acs-2019-r1", "one record: the answers of one person", "ε = 1", "δ = 0.00001",
                 "ε = 2.5", "of 4 authorised", "confidence 95 %", "hallmark verify"):  # fmt: skip
        assert word in start.replace("\xa0", " ")


def test_every_column_has_a_distribution(page: Page, record: AuditRecord) -> None:
    labels = [a["aria-label"] or "" for tag, a in page.tags if tag == "svg"]
    for column in record.protected.columns:
        assert any(label.startswith(f"Distribution of {column.name}.") for label in labels)


def test_every_plot_is_described_for_readers_who_do_not_see_it(page: Page) -> None:
    plots_of = [a for tag, a in page.tags if tag == "svg"]
    assert len(plots_of) == 24 + 3
    assert all(a.get("role") == "img" and len(a["aria-label"] or "") > 30 for a in plots_of)


def test_every_table_header_says_what_it_heads(page: Page) -> None:
    headers = [a for tag, a in page.tags if tag == "th"]
    assert headers
    assert all(a.get("scope") in ("row", "col", "rowgroup") for a in headers)


def test_every_table_has_a_caption(page: Page) -> None:
    names = [tag for tag, _ in page.tags]
    assert names.count("table") == names.count("caption") > 10


def test_every_link_leads_to_a_place_on_the_page(page: Page) -> None:
    places = {a["id"] for _, a in page.tags if "id" in a}
    links = [a["href"] or "" for tag, a in page.tags if tag == "a"]
    assert links
    assert all(link.startswith("#") and link[1:] in places for link in links)


def test_identifiers_are_unique(page: Page) -> None:
    identifiers = [a["id"] for _, a in page.tags if "id" in a]
    assert len(identifiers) == len(set(identifiers))


def test_nothing_is_fetched_and_nothing_runs(html: str, page: Page) -> None:
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert not re.search(r"https?:|url\(|@import|\bon[a-z]+=", html)


def test_text_of_the_record_cannot_become_markup(record: AuditRecord) -> None:
    attack = "</title><script>alert(1)</script>\"'&"
    certificate = record.utility.certificate
    bounds = tuple(b.model_copy(update={"target": attack}) for b in certificate.bounds)
    marginals = tuple(
        m.model_copy(update={"column": attack, "unit": attack, "cells": (attack,) * len(m.cells)})
        for m in record.utility.marginals
    )
    hostile = _changed(record, "identity", title=attack, release_id=attack, contact=attack)
    hostile = _changed(
        hostile, "mechanism", parameters={attack: [attack]}, events=({"event": attack},)
    )
    hostile = _changed(hostile, "provenance", spec={attack: attack})
    hostile = _changed(
        hostile,
        "utility",
        marginals=marginals,
        certificate=certificate.model_copy(update={"bounds": bounds}),
    )
    page = Page(render_audit_report(hostile))
    assert "script" not in {tag for tag, _ in page.tags}
    assert "<script>alert(1)</script>" in page.text  # as text, which is how it must be shown


def test_the_same_record_gives_the_same_bytes_in_another_process(
    record: AuditRecord, html: str, tmp_path: Path
) -> None:
    (tmp_path / "record.json").write_bytes(record.to_json())
    program = (
        "import sys; from schemas.audit_report import AuditRecord;"
        "from tasks.rendering import render_audit_report as render;"
        "twin = AuditRecord.model_validate_json(open(sys.argv[1], 'rb').read());"
        "sys.stdout.buffer.write(render(twin).encode())"
    )
    for seed in ("1", "2"):  # orders of sets differ between the two
        run = subprocess.run(
            [sys.executable, "-c", program, tmp_path / "record.json"],
            capture_output=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": f"UTC+{seed}"},
        )
        assert run.stdout == html.encode()


def test_another_record_gives_another_page(record: AuditRecord, html: str) -> None:
    assert render_audit_report(_changed(record, "identity", title="Other")) != html


def test_the_public_page_takes_no_internal_review(review: InternalReview) -> None:
    with pytest.raises(TypeError, match="was given InternalReview"):
        render_audit_report(review)  # type: ignore[arg-type]  # that is what is tested


def test_the_internal_page_takes_no_public_record(record: AuditRecord) -> None:
    with pytest.raises(TypeError, match="was given AuditRecord"):
        render_internal_review(record)  # type: ignore[arg-type]  # that is what is tested


def test_the_internal_page_is_marked_on_every_printed_page(review: InternalReview) -> None:
    text = render_internal_review(review)
    assert "INTERNAL - CONFIDENTIAL" in Page(text).text
    printed = text[text.index("@media print") : text.index("</style>")]
    assert re.search(r"\.marking \{ position: fixed;", printed)  # browsers repeat what is fixed
    assert '<p class="marking">INTERNAL - CONFIDENTIAL</p>' in text


def test_the_internal_page_points_at_a_broken_certificate(review: InternalReview) -> None:
    assert "NO" not in Page(render_internal_review(review)).text.split("Distributions")[0].split()
    broken = review.columns[0].model_copy(update={"actual": 0.9})
    worse = review.model_copy(update={"columns": (broken, *review.columns[1:])})
    assert "NO" in Page(render_internal_review(worse)).text.split()


def test_the_internal_page_tells_what_each_metric_says(review: InternalReview) -> None:
    section = render_internal_review(review).partition('<h2 id="metrics">')[2]
    rows = section.partition("<tbody>")[2].partition("</tbody>")[0]
    text = " ".join(Page(f"<body>{rows}</body>").text.split())
    assert text == (
        "Total variation, pairs 0.0314 share of records Records in the wrong cell of <two> "
        "columns. Counting queries – relative None."
    )
    assert '<span class="tag internal">' in section.partition("<tbody>")[0]
    without = review.model_copy(update={"metrics": ()})
    assert "Utility metrics" not in render_internal_review(without)


def test_a_bound_read_off_the_private_data_is_told_at_the_top(record: AuditRecord) -> None:
    columns = record.protected.columns
    learnt = (columns[0].model_copy(update={"bound_kind": "private_estimate"}), *columns[1:])
    told = "The bounds of AGEP were read off the private data"
    assert told not in Page(render_audit_report(record)).text
    text = Page(render_audit_report(_changed(record, "protected", columns=learnt))).text
    assert text.index(told) < text.index("Contents")


def test_a_check_that_does_not_hold_is_told_at_the_top(record: AuditRecord) -> None:
    failed = record.post_processing.constraints[0].model_copy(update={"held": False})
    text = Page(
        render_audit_report(_changed(record, "post_processing", constraints=(failed,)))
    ).text
    assert text.index("Checks that did not hold: AGEP < 15") < text.index("Contents")


def test_what_is_not_recorded_is_listed(page: Page, record: AuditRecord) -> None:
    missing = record.not_recorded()
    assert "identity.legal_basis" in missing
    assert all(path in page.text for path in missing)


def test_a_record_with_few_parts_renders(record: AuditRecord) -> None:
    bare = _changed(record, "utility", marginals=(), acceptance=())
    bare = _changed(bare, "account", split=(), entries=())
    bare = _changed(bare, "post_processing", steps=(), constraints=(), final_checks=())
    bare = _changed(bare, "guarantee", curve=(), unprotected=(), bracket="not recorded")
    Page(render_audit_report(bare))


def _luminance(colour: str) -> float:
    """Relative luminance. Source: WCAG 2.2, definition of relative luminance."""
    levels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in levels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first: str, second: str) -> float:
    """Contrast ratio. Source: WCAG 2.2, success criterion 1.4.3."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_stands_out_from_its_background() -> None:
    style = (files("tasks.rendering") / "templates" / "report.css").read_text()
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", style))
    pairs = [*product(("ink", "dim", "accent", "warn", "bad", "good"), ("paper",))]
    pairs += [(c, f"{c}-wash") for c in ("accent", "warn", "bad", "good")]
    pairs += [("paper", "bad"), ("ink", "wash"), ("warn", "warn-wash")]
    for text, background in pairs:
        assert contrast(colours[text], colours[background]) >= 4.5, (text, background)
    assert contrast("#999999", colours["paper"]) < 4.5  # a grey that is too light is caught


def test_an_upper_bound_is_never_shown_smaller_than_it_is() -> None:
    for value in (0.0123401, 2.718281828459045, 99.9901, 1234.4001, 1e-9, 7.0000001e12):
        shown = wording.number(value, 3, up=True)
        digits, _, power = shown.replace(",", "").partition(" × 10")
        exponent = int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
        assert Decimal(digits).scaleb(exponent) >= Decimal(repr(value))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (0.1, "0.1"), (27253, "27,250"), (1.0, "1"), (4.2e-9, "4.2 × 10⁻⁹"), (-3.5, "-3.5")],
)
def test_numbers_are_written_for_people(value: float, shown: str) -> None:
    assert wording.number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [("1", "1"), ("1/2", "0.5"), ("1/100000", "0.00001"), ("1/3", "1/3 (about 0.333333)")],
)
def test_exact_numbers_are_not_passed_off_as_decimals(value: str, shown: str) -> None:
    assert wording.exact(Fraction(value)) == shown


def _claim(epsilon: str, delta: str = "0", **others: Any) -> PrivacyClaim:
    fields = {"neighbours": "replace_one", "unit": "record", "unit_in_words": "one answer"}
    return PrivacyClaim.model_validate({**fields, "epsilon": epsilon, "delta": delta, **others})


def _said(claim: PrivacyClaim, spent: str = "1", exceptions: tuple[str, ...] = ()) -> str:
    topics = wording.plain_language(claim, Amount(epsilon=Fraction(spent)), exceptions)
    return " ".join(line for topic in topics for line in topic.answer)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0"), ("1", "1/1000"), ("1/10", "1/10")])
def test_the_best_guess_is_that_of_the_worst_mechanism(epsilon: str, delta: str) -> None:
    """The pair of laws that attains (epsilon, delta) exactly, over four outcomes."""
    e, d = math.exp(Fraction(epsilon)), float(Fraction(delta))
    p = [d, (1 - d) * e / (1 + e), (1 - d) / (1 + e), 0]
    q = [0, (1 - d) / (1 + e), (1 - d) * e / (1 + e), d]
    best = sum(max(a, b) for a, b in zip(p, q, strict=True)) / 2
    assert wording.best_guess(_claim(epsilon, delta)) == pytest.approx(best, abs=1e-12)


def test_the_plain_page_gives_the_factor_rounded_up() -> None:
    said = _said(_claim("1"))
    assert "at most 2.72 times" in said
    assert "at most 73.2 %" in said


def test_the_plain_page_speaks_of_the_slack_only_where_there_is_one() -> None:
    assert "slack" not in _said(_claim("1"))
    assert "called delta, is 0.00001" in _said(_claim("1", "1/100000"))


def test_the_plain_page_speaks_of_the_unit_and_the_relation() -> None:
    record = _said(_claim("1", neighbours="add_remove"))
    assert "any one record about you had never been collected" in record
    assert "for two, the factor becomes 7.39" in record
    person = _said(_claim("1", unit="person", records_per_unit=5))
    assert "all of your records together had been replaced" in person
    assert "At most 5 records of a person" in person
    assert "for two, the factor" not in person


def test_the_plain_page_admits_a_weak_promise() -> None:
    assert "excludes little" in _said(_claim("8"), spent="8")
    assert "excludes little" not in _said(_claim("1"))
    assert "more than ten billion" in _said(_claim("1000"), spent="1000")


def test_the_plain_page_adds_up_the_account() -> None:
    assert "the only release" in _said(_claim("1"), spent="1")
    assert "add up to ε 2, δ 0, a factor of at most 7.39" in _said(_claim("1"), spent="2")


def test_the_plain_page_names_the_exceptions() -> None:
    assert "Not covered by the promise" not in _said(_claim("1"))
    assert "told or used exactly: It has 9 rows." in _said(
        _claim("1"), exceptions=("It has 9 rows.",)
    )


def test_bars_are_as_long_as_their_shares(record: AuditRecord) -> None:
    marginal = next(m for m in record.utility.marginals if m.column == "AGEP")
    drawn = re.findall(r'height="([\d.]+)" class="bar"', plots.marginal_plot(marginal))
    heights = [float(h) for h in drawn]
    ratios = [h / s for h, s in zip(heights, marginal.synthetic, strict=True) if s > 0.02]
    assert max(ratios) / min(ratios) < 1.01


def test_the_terms_of_a_bound_are_drawn_in_proportion(record: AuditRecord) -> None:
    certificate = record.utility.certificate
    drawn = re.findall(r'width="([\d.]+)" height="14.0"', plots.certificate_plot(certificate))
    values = [
        bound.terms[name]
        for bound in sorted(certificate.bounds, key=lambda b: -b.value)
        for name in plots.term_names(certificate)
    ]
    assert len(drawn) == len(values)
    ratios = [float(w) / v for w, v in zip(drawn, values, strict=True) if v > 0.002]
    assert max(ratios) / min(ratios) < 1.02


def test_the_budget_bar_is_divided_as_the_account_is(record: AuditRecord) -> None:
    drawn = re.findall(r'width="([\d.]+)"', plots.budget_plot(record.account))
    before, now, left = map(float, drawn)
    assert (now / before, left / now) == pytest.approx((2, 2.5), rel=0.01)


@pytest.mark.parametrize("values", [(1.0,), (0.0, 0.0), (-1.0, 2.0), (1e6, 1.0), tuple(range(999))])
def test_any_series_can_be_drawn(values: tuple[float, ...]) -> None:
    drawn = plots.curve_plot(Curve(name="loss", values=values))
    assert "nan" not in drawn
    assert ("logarithmic" in drawn) == (values == (1e6, 1.0))


def test_many_bounds_fill_one_plot_and_the_table_alone_has_the_rest(record: AuditRecord) -> None:
    certificate = record.utility.certificate
    first = certificate.bounds[0]
    pairs = tuple(
        first.model_copy(
            update={"target": f"pair {i}", "metric": "of pairs", "value": 0.5 + i / 500}
        )
        for i in range(40)
    )
    many = certificate.model_copy(update={"bounds": (*certificate.bounds, *pairs)})
    page = Page(render_audit_report(_changed(record, "utility", certificate=many)))
    left_out = len(many.bounds) - 24
    assert f"The {left_out} smallest of the bounds are in the table alone." in page.text
    shown = re.findall(r">(pair \d+)</text>", str(plots.certificate_plot(many)))
    assert shown == [f"pair {i}" for i in range(39, 15, -1)]
    assert "smallest of the bounds" not in Page(render_audit_report(record)).text
    table = page.text.partition("Bounds and their terms")[2]
    assert table.index("of pairs") < table.index("pair 0") < table.index("pair 39")
    assert table.count("of pairs") == 1
