"""The rendered pages: complete, self-contained, escaped, readable, and the same every time."""

import json
import os
import re
import subprocess
import sys
from datetime import date
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hallmark.schemas.documents.audit_attacks import AttackAudit, TriedAttack
from hallmark.schemas.documents.audit_changes import Changed
from hallmark.schemas.documents.audit_privacy import Curve, Guarantee
from hallmark.schemas.documents.audit_questions import Learnt
from hallmark.schemas.documents.audit_report import FIRST_FORMAT, AuditRecord, Override
from hallmark.schemas.documents.audit_utility import Answer, Answers, Marginal
from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.internal_review import ColumnReview, InternalReview
from hallmark.schemas.documents.privacy_claim import Amount, PrivacyClaim
from hallmark.tasks.rendering import (
    crosswalk,
    plain,
    plots,
    render_audit_report,
    render_for_people,
    render_internal_review,
    rendered_files,
    wording,
)
from hallmark.tasks.rendering.attacks import attacks_on
from hallmark.tasks.rendering.label import privacy_label

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


@pytest.fixture(scope="module", params=["report", "people", "internal"])
def any_page(request: Any, record: AuditRecord, review: InternalReview) -> Page:
    """Each kind of page in turn."""
    match request.param:
        case "report":
            return Page(render_audit_report(_answering(record)))
        case "people":
            return Page(render_for_people(record))
    return Page(render_internal_review(review))


def _answering(record: AuditRecord) -> AuditRecord:
    """The record of a release that answered queries as well."""
    shown = tuple(
        Answer(query=f"AGEP < {i}", answer=0.9 / (i + 1), bound=0.01, records=0.9 / (i + 1) + 0.002)
        for i in range(24)
    )
    answers = Answers(file="answers.csv", queries=99, largest=0.02, median=0.01, shown=shown)
    return _changed(record, "utility", answers=answers)


def _changed(record: AuditRecord, section: str, **values: Any) -> AuditRecord:
    part = getattr(record, section).model_copy(update=values)
    return record.model_copy(update={section: part})


def text_of(record: AuditRecord, section: str, **values: Any) -> str:
    """What the report says of a record with values of a section changed."""
    return Page(render_audit_report(_changed(record, section, **values))).text


def test_the_summary_tells_the_release_in_a_few_words(page: Page) -> None:
    start = page.text[: page.text.index("Contents")]
    for word in ("acs-2019-r1", "one record: the answers of one person", "ε = 1", "δ = 0.00001",
                 "ε = 2.5", "of 4 authorised", "confidence 95 %", "hallmark verify"):  # fmt: skip
        assert word in start.replace("\xa0", " ")


def test_every_column_has_a_distribution(page: Page, record: AuditRecord) -> None:
    labels = [a["aria-label"] or "" for tag, a in page.tags if tag == "svg"]
    for column in record.protected.columns:
        assert any(label.startswith(f"Distribution of {column.name}.") for label in labels)


def test_every_plot_is_described_for_readers_who_do_not_see_it(any_page: Page) -> None:
    assert not [tag for tag, _ in any_page.tags if tag == "img"]
    plots_of = [a for tag, a in any_page.tags if tag == "svg"]
    assert all(a.get("role") == "img" and len(a["aria-label"] or "") > 30 for a in plots_of)


def test_the_report_has_a_plot_for_every_column_and_seven_more(
    page: Page, record: AuditRecord
) -> None:
    """Attacks, budget, certificate, generator; two matrices and a pair of columns."""
    columns = len(record.protected.columns)
    assert len([tag for tag, _ in page.tags if tag == "svg"]) == columns + 7


def test_every_table_header_says_what_it_heads(any_page: Page) -> None:
    headers = [a for tag, a in any_page.tags if tag == "th"]
    assert all(a.get("scope") in ("row", "col", "rowgroup") for a in headers)


def test_every_table_has_a_caption(any_page: Page, page: Page) -> None:
    names = [tag for tag, _ in any_page.tags]
    assert names.count("table") == names.count("caption")
    assert [tag for tag, _ in page.tags].count("table") > 10


def test_every_page_names_its_language_and_its_title(any_page: Page) -> None:
    (html_tag,) = [a for tag, a in any_page.tags if tag == "html"]
    assert html_tag["lang"] == "en"
    assert [tag for tag, _ in any_page.tags].count("title") >= 1


def test_headings_go_down_one_level_at_a_time(any_page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in any_page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_section_is_in_the_table_of_contents(record: AuditRecord) -> None:
    page = Page(render_audit_report(_answering(record)))
    sections = [a["aria-labelledby"] for tag, a in page.tags if tag == "section"]
    links = [(a["href"] or "")[1:] for tag, a in page.tags if tag == "a"]
    assert set(sections) - {"summary"} <= set(links)
    assert "answers" in sections


def test_every_link_leads_to_a_place_on_the_page(any_page: Page, page: Page) -> None:
    places = {a["id"] for _, a in any_page.tags if "id" in a}
    links = [a["href"] or "" for tag, a in any_page.tags if tag == "a"]
    assert all(link.startswith("#") and link[1:] in places for link in links)
    assert len([tag for tag, _ in page.tags if tag == "a"]) > 10


def test_identifiers_are_unique(any_page: Page) -> None:
    identifiers = [a["id"] for _, a in any_page.tags if "id" in a]
    assert len(identifiers) == len(set(identifiers))


def test_nothing_is_fetched_and_nothing_runs(record: AuditRecord) -> None:
    for html in (render_audit_report(record), render_for_people(record)):
        assert not {"script", "link", "img", "iframe", "object"} & {t for t, _ in Page(html).tags}
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
    pairs = record.utility.pairs
    assert pairs is not None
    names = {"columns": (attack, attack)}
    cells = {"down": (attack, attack), "across": (attack, attack)}
    hostile_pairs = pairs.model_copy(
        update={
            "association": pairs.association.model_copy(update=names),
            "tables": tuple(t.model_copy(update=names | cells) for t in pairs.tables),
            "subgroups": tuple(g.model_copy(update={"by": attack}) for g in pairs.subgroups),
        }
    )
    hostile = _changed(
        hostile,
        "utility",
        pairs=hostile_pairs,
        marginals=marginals,
        certificate=certificate.model_copy(update={"bounds": bounds}),
    )
    for page in (Page(render_audit_report(hostile)), Page(render_for_people(hostile))):
        assert "script" not in {tag for tag, _ in page.tags}
        assert "<script>alert(1)</script>" in page.text  # as text, which is how it must be shown


def test_the_same_record_gives_the_same_bytes_in_another_process(
    record: AuditRecord, tmp_path: Path
) -> None:
    (tmp_path / "record.json").write_bytes(record.to_json())
    program = (
        "import sys; from pathlib import Path;"
        "from hallmark.schemas.documents.audit_report import AuditRecord;"
        "from hallmark.tasks.rendering import rendered_files;"
        "twin = AuditRecord.model_validate_json(Path(sys.argv[1]).read_bytes());"
        "[Path(sys.argv[2], n).write_bytes(c) for n, c in rendered_files(twin).items()]"
    )
    here = rendered_files(record)
    assert sorted(here) == [
        "audit-report.html", "for-people.html", "privacy-label.svg", "registry.json",
    ]  # fmt: skip
    for seed in ("1", "2"):  # orders of sets differ between the two
        out = tmp_path / seed
        out.mkdir()
        subprocess.run(
            [sys.executable, "-c", program, tmp_path / "record.json", out],
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": f"UTC+{seed}"},
        )
        assert {path.name: path.read_bytes() for path in out.iterdir()} == here


def test_another_record_gives_another_page(record: AuditRecord, html: str) -> None:
    assert render_audit_report(_changed(record, "identity", title="Other")) != html


def test_the_review_tells_how_many_records_are_left_out_of_the_comparison(
    review: InternalReview,
) -> None:
    assert "left out" not in Page(render_internal_review(review)).text
    fewer = review.model_copy(update={"left_out": 7194})
    assert (
        "7,194 more private rows exceed the number kept of their persons"
        in Page(render_internal_review(fewer)).text
    )


def test_the_public_page_takes_no_internal_review(review: InternalReview) -> None:
    with pytest.raises(TypeError, match="not InternalReview"):
        render_audit_report(review)  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(TypeError, match="not InternalReview"):
        render_for_people(review)  # type: ignore[arg-type]  # that is what is tested


def test_an_internal_figure_planted_in_a_record_never_reaches_a_public_page(
    record: AuditRecord,
) -> None:
    """A record that was built past its own checks, as a careless change of the code might."""
    planted = record.model_copy(update={"true_counts": [3141592653]})
    utility = record.utility.model_copy(update={"private_shares": 0.3141592653})
    planted = planted.model_copy(update={"utility": utility})
    for name, content in rendered_files(planted).items():
        assert b"3141592653" not in content, name
    assert b"3141592653" not in planted.to_json()
    assert rendered_files(planted) == rendered_files(record)


def test_the_internal_page_takes_no_public_record(record: AuditRecord) -> None:
    with pytest.raises(TypeError, match="not AuditRecord"):
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
    text = text_of(record, "protected", columns=learnt)
    assert text.index(told) < text.index("Contents")


def test_groups_and_pairs_where_records_mislead_are_named(
    record: AuditRecord, learnt: Learnt
) -> None:
    text = text_of(record, "utility", learnt=learnt)
    assert "The synthetic rows lie outside the interval for SEX: Female." in text
    assert "Strongest of 36 correlations" in text
    assert "Weaker in the synthetic rows than the noise explains: AGEP x <MSP>." in text
    assert learnt.correlations is not None
    sound = learnt.model_copy(
        update={"correlations": learnt.correlations.model_copy(update={"attenuated": ()})}
    )
    text = text_of(record, "utility", learnt=sound)
    assert "None is weaker in the synthetic rows than the noise explains." in text


def test_what_changed_is_told_with_what_may_have_changed_unseen(
    record: AuditRecord, changed: Changed
) -> None:
    text = text_of(record, "utility", changed=changed)
    assert (
        "Since the period 2025 (release homes-2025), these columns changed beyond the noise: SEX."
        in text
    )
    assert (
        "Nothing was seen in <MSP>. That does not mean that nothing changed: only a change of a "
        "cell's share by 5.12 points or more of all records would have been seen" in text
    )
    assert "Not compared at all: AGEP; whether they changed is not known." in text
    assert "Of <MSP>, some cells are not compared" in text
    assert "that tables are samples is in no interval" in text
    table = text.partition("Cells that rose or fell")[2]
    assert "SEX a | b fell 0.5 0.4 -0.12 -0.08" in " ".join(table.split())
    assert "where they are nominal" not in text
    chosen = changed.tables[0].model_copy(update={"basis": "nominal"})
    nominal = changed.model_copy(update={"tables": (chosen, *changed.tables[1:])})
    assert "where they are nominal, only about so" in text_of(record, "utility", changed=nominal)
    first = Changed(period="2026", confidence=0.95, why_not="there is no earlier release")
    said = text_of(record, "utility", changed=first)
    assert "Nothing is compared with an earlier period: there is no earlier release." in said
    assert "Cells that rose" not in said
    assert "What changed since" not in Page(render_audit_report(record)).text
    for_people = render_for_people(_changed(record, "utility", changed=changed))
    assert "these columns changed beyond the noise: SEX." in for_people
    assert "What changed since" not in render_for_people(record)


def test_where_nothing_was_seen_no_change_is_denied(record: AuditRecord, changed: Changed) -> None:
    quiet = changed.model_copy(update={"tables": changed.tables[1:], "cells": ()})
    text = text_of(record, "utility", changed=quiet)
    assert "no change of a column was told apart from the noise" in text
    assert "That does not mean that nothing changed" in text


def test_a_check_that_does_not_hold_is_told_at_the_top(record: AuditRecord) -> None:
    failed = record.post_processing.constraints[0].model_copy(update={"held": False})
    text = text_of(record, "post_processing", constraints=(failed,))
    assert text.index("Failed checks: AGEP < 15") < text.index("Contents")


def test_what_is_not_recorded_is_listed(page: Page, record: AuditRecord) -> None:
    missing = record.not_recorded()
    assert "identity.legal_basis" in missing
    assert all(path in page.text for path in missing)


def test_what_blocks_the_gate_stands_at_the_top_with_its_mend(
    page: Page, record: AuditRecord
) -> None:
    start = page.text[: page.text.index("Contents")]
    blocking = record.blocking()
    assert f"Not recorded: {len(blocking)} items block the disclosure gate" in start
    assert "Legal basis: state about.legal_basis in the spec" in start
    assert all(f"{gap.title}: {gap.mend}" in start for gap in blocking)


def test_without_a_gate_nothing_is_said_to_block_one(record: AuditRecord) -> None:
    html = render_audit_report(record.model_copy(update={"disclosure_gate": ()}))
    text = Page(html).text
    start = text[: text.index("Contents")]
    blocking = record.blocking()
    assert f"{len(blocking)} items that a reviewer would ask for; no gate was configured" in start
    assert "so none stopped the publication" in start
    assert "nobody had to approve this page" in start
    assert all(f"{gap.title}: {gap.mend}" in start for gap in blocking)
    assert "block the disclosure gate" not in text
    assert 'class="blocks"' not in html


def test_what_people_state_is_told_from_what_the_run_recorded(html: str) -> None:
    def badges(title: str) -> str:
        row = html.partition(f'<th scope="row">{title}</th>')[2].partition("</tr>")[0]
        return row.rpartition("<td>")[2]

    assert 'class="tag stated"' in badges("Contact")
    assert 'class="tag stated"' not in badges("Created")


def test_figures_of_records_tell_how_many(record: AuditRecord) -> None:
    counted = _changed(record, "utility", measured_records="27,253 private records (public)")
    page = Page(render_audit_report(_answering(counted)))
    bounds = page.text.partition("Bounds and their terms")[2][:200]
    assert "n = 400 synthetic rows; 27,253 private records (public)" in bounds
    answers = page.text.partition("The largest answers")[2][:300]
    assert "mean of a record 27,253 private records (public)" in answers
    assert "mean of a row n = 400 synthetic rows" in answers


def test_an_override_is_shown_with_its_reason(record: AuditRecord) -> None:
    override = Override(
        time=record.identity.created, person="O. Fficer", what="an approval", reason="a flood"
    )
    text = Page(render_audit_report(record.model_copy(update={"overrides": (override,)}))).text
    assert "Overrides" in text
    assert "O. Fficer an approval a flood" in text


def test_bounds_on_queries_are_not_shares_of_a_diameter(record: AuditRecord) -> None:
    certificate = record.utility.certificate
    bounds = tuple(
        b.model_copy(update={"share_of": "the widest query's range", "unit": ""})
        for b in certificate.bounds
    )
    queries = certificate.model_copy(update={"bounds": bounds})
    text = text_of(record, "utility", certificate=queries)
    assert "of the widest query's range, for NPF" in text
    assert "diameter" not in text.replace(record.mechanism.forecast, "")
    assert "In its unit" not in text


def test_records_of_the_first_format_are_still_rendered(record: AuditRecord) -> None:
    content = json.loads(record.to_json())
    content["format"] = FIRST_FORMAT
    for section, new in {
        "identity": ["access", "region", "corrections", "embargo"],
        "guarantee": ["formal", "groups", "groups_source", "parts"],
        "trust": ["network", "access", "weaknesses"],
        "provenance": ["deployment", "attempts"],
        "utility": ["measured_records", "answers", "intervals"],
    }.items():
        for name in new:
            del content[section][name]
    first = AuditRecord.model_validate_json(json.dumps(content))
    assert list(rendered_files(first)) == ["audit-report.html"]
    text = Page(render_audit_report(first)).text
    assert "Several units together" in text  # computed from the claim, where it was not recorded


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


TEXT, SHAPES = 4.5, 3.0  # WCAG 2.2, success criteria 1.4.3 and 1.4.11, level AA


def _style() -> tuple[str, dict[str, str]]:
    style = (files("hallmark.tasks.rendering") / "templates" / "report.css").read_text()
    return style, dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", style))


def test_text_stands_out_from_its_background() -> None:
    """Every rule that colours text, on the background that it sets, else on those that may be."""
    style, colours = _style()
    washes = ("paper", "wash", "warn-wash", "bad-wash")
    checked = 0
    for body in re.findall(r"\{([^{}]*)\}", style):
        text = re.search(r"(?<![a-z-])color: var\(--([a-z0-9-]+)\)", body)
        behind = re.search(r"background: var\(--([a-z0-9-]+)\)", body)
        if text is None:
            continue
        backgrounds = [behind.group(1)] if behind else ["paper"]
        if text.group(1) in ("dim", "ink") and not behind:
            backgrounds = [*washes]
        for background in backgrounds:
            checked += 1
            ratio = contrast(colours[text.group(1)], colours[background])
            assert ratio >= TEXT, (text.group(1), background, ratio)
    assert checked > 20
    assert contrast("#999999", colours["paper"]) < TEXT  # a grey that is too light is caught


def test_drawn_shapes_stand_out_from_the_page_and_from_each_other() -> None:
    style, colours = _style()
    named = set(re.findall(r"(?:fill|stroke): var\(--([a-z0-9-]+)\)", style))
    decoration = {"rule", "left"}  # grid lines, and what is left of a budget, which has an outline
    shapes = named - decoration - {"ink", "dim"}
    assert {"bar", "measured", "spent", "private", "t0", "t4", "accent"} <= shapes
    for shape in shapes:
        assert contrast(colours[shape], colours["paper"]) >= SHAPES, shape
    assert contrast(colours["measured"], colours["bar"]) >= SHAPES
    assert ".left { fill: var(--left); background: var(--left); stroke: var(--spent)" in style


def test_no_colour_is_written_past_the_checked_names() -> None:
    style, colours = _style()
    rules = style[style.index("* {") :]
    assert set(re.findall(r"#[0-9a-f]{6}", rules)) <= {"#e4d5cc"}  # the band's key: it is outlined
    assert set(re.findall(r"var\(--([a-z0-9-]+)\)", style)) <= set(colours)


def test_paper_gets_whole_tables() -> None:
    style, _ = _style()
    printed = style[style.index("@media print") :]
    for rule in (
        "tr, .tile, figure { break-inside: avoid; }",
        "thead { display: table-header-group; }",
        ".scroll { overflow: visible; }",
        "h2 { margin-top: 26pt; break-after: avoid; }",
    ):
        assert rule in printed, rule
    assert "nav" not in re.sub(r"/\*.*?\*/", "", printed, flags=re.DOTALL)  # contents are printed


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
    [
        ("1", "1"),
        ("1/2", "0.5"),
        ("1/100000", "0.00001"),
        ("9223577/500000", "18.447154"),
        ("1/3", "1/3 (about 0.333333)"),
    ],
)
def test_exact_numbers_are_not_passed_off_as_decimals(value: str, shown: str) -> None:
    assert wording.exact(Fraction(value)) == shown


def _claim(epsilon: str, delta: str = "0", **others: Any) -> PrivacyClaim:
    fields = {"neighbours": "replace_one", "unit": "record", "unit_in_words": "one answer"}
    return PrivacyClaim.model_validate({**fields, "epsilon": epsilon, "delta": delta, **others})


def _said(claim: PrivacyClaim, spent: str = "1", exceptions: tuple[str, ...] = ()) -> str:
    own = Guarantee(claim=claim, variant="pure differential privacy", accountant="a sum")
    topics = plain.plain_language(own, Amount(epsilon=Fraction(spent)), exceptions)
    return " ".join(line for topic in topics for line in topic.answer)


def test_the_plain_page_gives_the_factor_rounded_up() -> None:
    said = _said(_claim("1"))
    assert "at most 2.72 times" in said
    assert "at most 73.2 %" in said


def test_columns_together_are_shown_of_the_records_alone(record: AuditRecord, html: str) -> None:
    text = Page(html).text
    assert "Relationships between columns of the synthetic records, n = 400 synthetic rows" in text
    assert "nothing here compares with the private table" in text
    assert "2 columns; farthest from 0 are AGEP and SEX, -0.25." in html
    assert "AGEP (down) and SEX (across)" in html
    assert "50 to 99, Female: 40 %" in html
    section = text[text.index("Groups of SEX") :]
    assert "Mean of AGEP (years)" in section
    assert "Columns together" not in text_of(record, "utility", pairs=None)


def test_the_pairs_with_the_largest_bounds_are_named(record: AuditRecord) -> None:
    certificate = record.utility.certificate
    bound = certificate.bounds[0].model_copy(
        update={"target": "AGEP, SEX", "columns": ("AGEP", "SEX"), "value": 0.5, "unit": ""}
    )
    more = certificate.model_copy(update={"bounds": (*certificate.bounds, bound)})
    text = text_of(record, "utility", certificate=more)
    assert "Pairs of columns with the largest bounds" in text
    assert "AGEP, SEX 50 % of the diameter" in text


def test_the_internal_review_compares_columns_together(review: InternalReview) -> None:
    html = render_internal_review(review)
    assert "Internal: how strongly two columns are associated" in html
    assert "AGEP, SEX: 0.12" in html  # above the diagonal, the synthetic table
    assert "SEX, AGEP: -0.25" in html  # below it, the private one
    assert "0 to 49, Male: 10 %" in html  # synthetic less private
    assert "0 to 49, Female: -10 %" in html
    assert "12.3 %" in Page(html).text
    assert "250 / 250" in Page(html).text


@pytest.mark.parametrize(("cells", "bars"), [(60, 60), (61, 31), (401, 58)])
def test_many_ordered_cells_are_drawn_in_few_bars(cells: int, bars: int) -> None:
    shares = tuple(1 / cells for _ in range(cells))
    marginal = Marginal(
        column="X", kind="numeric", cells=(*map(str, range(cells)), "null"), has_null=True,
        ends=("0", "9"), synthetic=(*shares[1:], 0.0, shares[0]), measured=(*shares, 0.0),
        half_width=(0.0,) * (cells + 1),
    )  # fmt: skip
    drawn = plots.marginal_plot(marginal)
    assert drawn.count('class="bar"') == bars + 1
    assert drawn.count('class="measured"') == bars + 1
    words = {60: "61 cells", 61: "62 cells, 2 to a bar", 401: "402 cells, 7 to a bar"}
    assert plots.cells_in_words(cells + 1, ordered=True, has_null=True) == words[cells]


@pytest.mark.parametrize(("ordered", "bars"), [(True, 59), (False, 24)])
def test_the_internal_review_draws_few_bars_too(ordered: bool, bars: int) -> None:
    cells = 401 + ordered
    column = ColumnReview(
        column="X", cells=(*map(str, range(401)), *["null"] * ordered), is_ordered=ordered,
        private=(1 / cells,) * cells, synthetic=(1 / cells,) * cells, actual=0.0,
    )  # fmt: skip
    assert plots.review_plot(column).count('class="private"') == bars


def test_words_of_the_trade_are_explained(html: str) -> None:
    text = Page(html).text
    assert "The diameter is the largest distance between two values of a column" in text
    assert "the distance of the records from the noisy answers" in text
    assert "Each line of the noise table is a set of questions" in text


def test_bounds_come_with_the_unit_that_they_are_in(record: AuditRecord) -> None:
    def page(unit: str, scale: float) -> str:
        bounds = tuple(
            bound.model_copy(update={"unit": unit, "scale": scale, "value": 0.08668})
            for bound in record.utility.certificate.bounds
        )
        certificate = record.utility.certificate.model_copy(update={"bounds": bounds})
        return render_audit_report(_changed(record, "utility", certificate=certificate))

    ages = page("units of the column", 99)
    assert "(8.59 units of the column)" in ages
    assert "8.67 % = 8.59 units of the column" in ages
    shares = page("share of records", 1)
    assert "<td>8.67 % of records</td>" in shares
    assert "8.67 % =" not in shares


def test_the_plain_page_speaks_of_the_slack_only_where_there_is_one() -> None:
    assert "slack" not in _said(_claim("1"))
    assert "called delta, is 0.00001" in _said(_claim("1", "1/100000"))


def test_the_plain_page_speaks_of_the_unit_and_the_relation() -> None:
    record = _said(_claim("1", neighbours="add_remove"))
    assert "any one record about you had never been collected" in record
    assert "for two, the factor becomes 7.39" in record
    person = _said(_claim("1", unit="person", records_per_unit=5))
    assert "all of your records together had been replaced" in person
    assert "At most 5 records of each person" in person
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
    assert "revealed or used exactly: It has 9 rows." in _said(
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


def test_a_detail_is_two_steps_away_where_neighbours_add_or_take_away(record: AuditRecord) -> None:
    def told(**changes: Any) -> str:
        claim = record.guarantee.claim.model_copy(update=changes)
        page = Page(render_for_people(_changed(record, "guarantee", claim=claim, curve=())))
        return page.text.partition("Learning something about you")[2]

    replaced = told(neighbours="replace_one", delta=Fraction(0))
    assert "right in at most 73.2 % of cases" in replaced
    assert "The number of records is public." in replaced
    persons = told(neighbours="replace_one", delta=Fraction(0), unit="person", records_per_unit=3)
    assert "your records or another person's in at most" in persons
    assert "number of records is public" not in persons
    added = told(neighbours="add_remove", delta=Fraction(0))
    assert "right in at most 88.1 % of cases" in added  # 1 - 1 / (1 + exp(2))
    assert "the same bound holds, at most 73.2 %" in added


def test_the_page_for_people_names_whom_to_ask(record: AuditRecord) -> None:
    asked = _changed(record, "identity", corrections="write to us", registry="registry.example")
    text = Page(render_for_people(asked)).text
    for words in (
        "Contact: privacy@statistics.example",
        "To have a mistake corrected: write to us",
        "Public registry of such releases: registry.example",
        "Legal basis: not recorded. You may ask for it.",
        "Small groups: the least noise on a count has a standard deviation of 118 records",
    ):
        assert words in text, words
    nobody = Page(render_for_people(_changed(record, "identity", contact="not recorded"))).text
    assert "Contact: not recorded. To have" in nobody  # whom would they ask for it?


def test_answers_are_drawn_with_their_bounds(record: AuditRecord) -> None:
    answers = _answering(record).utility.answers
    assert answers is not None
    drawn = str(plots.answers_plot(answers))
    widths = [float(w) for w in re.findall(r'width="([\d.]+)" height="8.0" class="band"', drawn)]
    assert len(widths) == 24
    assert max(widths) == pytest.approx(min(widths), abs=0.11)  # all bounds are equal
    negative = answers.shown[0].model_copy(update={"answer": -0.5, "records": -0.5})
    one = answers.model_copy(update={"shown": (negative,)})
    assert "-0.5 ± 0.01" in plots.answers_plot(one)


def certificate_of(*bounds: tuple[str, float]) -> CertificateFile:
    """Bounds of marginals, by the names of their columns, and of the largest of them."""
    told = [
        {"target": name, "columns": name.split(" x "), "value": value} for name, value in bounds
    ]
    largest = {"target": "all marginals", "value": max(value for _, value in bounds)}
    return CertificateFile.model_validate(
        {
            "confidence": 0.95,
            "method": "none",
            "bounds": [
                {**bound, "metric": "W1", "terms": {}, "vacuous": bound["value"] >= 1}
                for bound in (largest, *told)
            ],
        }
    )


def test_one_vacuous_bound_does_not_hide_what_the_others_say() -> None:
    said = wording.certificate_in_words(certificate_of(("a x b", 1.0), ("a x c", 0.2), ("a", 0.1)))
    assert said == (
        "with 95 % confidence, each of 2 certified losses is at most 20 % of the largest possible "
        "(that bound: a x c); 1 more: nothing is certified about a x b, where the bound is the "
        "largest possible"
    )


def test_a_certificate_that_says_nothing_is_told_to_say_nothing() -> None:
    said = wording.certificate_in_words(certificate_of(("a x b", 1.0), ("b", 1.0)))
    assert said.startswith("nothing is certified about a x b, b, where")


def test_the_label_is_a_picture_that_stands_alone_and_says_what_attacks_reach(
    record: AuditRecord,
) -> None:
    spoilt = _changed(record, "identity", title="<script>alert(1)</script> & more")
    svg = ElementTree.fromstring(privacy_label(spoilt))
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    said = " ".join("".join(part.itertext()) for part in svg)
    assert "<script>alert(1)</script> & more" in said
    assert not [part for part in svg.iter() if part.tag.endswith("script")]
    attacks = attacks_on(record.guarantee)
    for units in (1, 4):
        assert wording.percent(attacks.best_guess(units), up=True) in said
    assert "epsilon 1.5 of 4 authorised" in said
    assert "REHEARSAL" not in said
    assert (
        b"REHEARSAL"
        in rendered_files(_changed(record, "signature", origin="rehearsal"))["privacy-label.svg"]
    )


def test_every_line_that_others_ask_names_entries_of_the_record(record: AuditRecord) -> None:
    for lines in crosswalk.FRAMEWORKS.values():
        for line in lines:
            assert line.paths
            for path in line.paths:
                assert crosswalk.label(path).title
    stated = _changed(record, "trust", access="not recorded", network="no route to the internet")
    found = dict(dict(crosswalk.crosswalk(stated))["NIST SP 800-226: components of the pyramid"])
    access, network, _ = found["security and access control"]
    assert access.state == "not recorded; stated in agency.environment.access in the profile"
    assert network.state == "stated by people"
    assert found["epsilon and delta"][0].state == "recorded"
    assert "Who has access (not recorded; stated in" in Page(render_audit_report(stated)).text


def test_attacks_that_were_run_are_a_figure_with_the_code_that_was_attacked(
    record: AuditRecord,
) -> None:
    assert "Attacks that were run" not in Page(render_audit_report(record)).text
    one = TriedAttack(units=1, runs=1000, right=540, least=0.49, allowed=0.553)
    four = TriedAttack(units=4, runs=1000, right=900, least=0.87, allowed=0.7)
    commit = record.provenance.software.commit
    audit = AttackAudit(
        hallmark="0.4.0", commit=commit, code="a" * 64, ran=date(2026, 3, 1), confidence=0.999,
        attacks=(one,),
    )  # fmt: skip
    tried = _changed(record, "trust", attacks=audit)
    found = Page(render_audit_report(tried)).text
    assert "right in at least 49 % of cases, allowed at most 55.3 %" in found
    assert commit[:12] in found
    assert "not the code that made this release" not in found
    assert "less noise is drawn than is stated" not in found
    assert tried.not_recorded() == record.not_recorded()
    other = audit.model_copy(update={"attacks": (one, four), "commit": "", "hallmark": "0.3.9"})
    found = text_of(record, "trust", attacks=other)
    assert "which is not the code that made this release" in found
    assert "less noise is drawn than is stated" in found


def test_what_a_crosswalk_asks_for_and_nobody_stated_is_told_once(record: AuditRecord) -> None:
    stated = _changed(record, "trust", access="not recorded", network="no route to the internet")
    found = list(crosswalk.unanswered(stated, ["nist-sp-800-226"]))
    (access,) = [one for one in found if one.startswith("Who has access:")]
    assert "NIST SP 800-226" in access
    assert access.endswith("is stated in agency.environment.access in the profile")
    assert not [one for one in found if one.startswith("Network isolation")]
    assert list(crosswalk.unanswered(stated, ["nist-sp-800-226"] * 2)) == found
    assert not list(crosswalk.unanswered(stated, []))
    assert set(crosswalk.NAMES.values()) == crosswalk.FRAMEWORKS.keys()
