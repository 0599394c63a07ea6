"""A messy table in a browser: its steward says how it is written, sees it, checks and mends it."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from ruamel.yaml import YAML

from tests import messy
from tests.flows.server import Installation
from tests.flows.test_server_mode import at_desk

pytestmark = pytest.mark.service

MILLISECONDS = 180_000
SIZES = {"screen": (1280, 900), "telephone": (390, 844)}


def test_a_messy_table_is_brought_checked_and_mended_without_a_shell(
    agency: Installation, chrome: Browser, tmp_path: Path
) -> None:
    sound = messy.write(tmp_path / "sound")
    broken = tmp_path / "enquete.csv"
    text = sound.read_bytes()
    broken.write_bytes(text.replace(b"04109", b"4109", 3))
    desk = at_desk(chrome, agency, "messy-steward", "steward")
    desk.goto(f"{agency.desk}/specs")
    desk.set_input_files("#table", broken)
    pressed(desk, "Upload")

    expect(desk.get_by_role("heading", level=1)).to_have_text("enquete.csv")
    for field, value in (
        ("#encoding", "windows-1252"), ("#delimiter", ";"), ("#decimal_mark", ","),
        ("#date_format", "%d/%m/%Y"),
    ):  # fmt: skip
        expect(desk.locator(field)).to_have_value(value)
    rows = desk.get_by_role("region", name="The first rows")
    expect(rows).to_contain_text("déménagé")
    expect(rows.get_by_text("missing", exact=True).first).to_be_visible()
    desk.fill("#encoding", "utf-16")
    desk.get_by_role("button", name="Show the rows so").click()
    expect(desk.get_by_text("is not written in utf-16")).to_be_visible()
    desk.fill("#encoding", "latin-1")
    desk.get_by_role("button", name="Show the rows so").click()
    expect(desk.get_by_role("region", name="The first rows")).to_contain_text("04109")
    shot(desk, agency.folder, "table")
    pressed(desk, "Confirm")
    expect(desk.get_by_text("You confirmed this.")).to_be_visible()

    desk.fill("#name", "enquete")
    pressed(desk, "Begin")
    written = desk.locator("#text").input_value()
    for key in ('encoding: "latin-1"', 'delimiter: ";"', 'decimal_mark: ","', '- "NA"'):
        assert key in written
    for value in messy.POSTAL_CODES:
        assert value not in written
    filled = tmp_path / "enquete.yaml"
    with filled.open("w") as handle:
        YAML().dump(messy.spec("enquete.csv"), handle)
    desk.evaluate(
        "text => { const area = document.getElementById('text'); area.value = text;"
        " area.dispatchEvent(new Event('input', {bubbles: true})); }",
        filled.read_text(),
    )
    pressed(desk, "Save")
    desk.get_by_role("button", name="Show the plan").click()
    plan = desk.locator("#plan")
    expect(plan).to_contain_text("has not been checked against the spec", timeout=MILLISECONDS)
    expect(plan).to_contain_text("Of a file that keeps to the spec, which is not known of this one")

    comes_to(checked(desk), "The private file does not keep to the spec")
    expect(desk.get_by_text("columns.code_postal: not all rows are one of the 5")).to_be_visible()
    shot(desk, agency.folder, "spec-refused")
    with desk.expect_popup() as opened:
        desk.get_by_role("link", name="The values that break rules").click()
    expect(opened.value.get_by_text("4109", exact=True)).to_be_visible()

    desk.get_by_role("link", name="How enquete.csv is written").click()
    desk.set_input_files("#table", sound)
    pressed(desk, "Replace")
    expect(desk.get_by_text("This is guessed from the beginning")).to_be_visible()
    pressed(desk, "Confirm")
    desk.get_by_role("link", name="enquete", exact=True).click()
    expect(desk.get_by_text("since one of them changed")).to_be_visible()
    comes_to(checked(desk), "The private file kept to the spec")
    shot(desk, agency.folder, "spec-kept")


def pressed(desk: Page, name: str) -> None:
    """Press a button that leads to another page, or to this one anew."""
    with desk.expect_navigation():
        desk.get_by_role("button", name=name, exact=True).click()


def checked(desk: Page) -> Page:
    pressed(desk, "Check the file against the spec")
    return desk


def comes_to(desk: Page, words: str) -> None:
    """Open the page anew until it says so."""
    for _ in range(MILLISECONDS // 2_000):
        if desk.get_by_text(words).count():
            return
        desk.wait_for_timeout(2_000)
        desk.reload()
    raise AssertionError(f"the page never says: {words}")


def shot(desk: Page, folder: Path, name: str) -> None:
    """Pictures of a page at both sizes, for people to look at."""
    for size, (width, height) in SIZES.items():
        desk.set_viewport_size({"width": width, "height": height})
        assert desk.evaluate("document.documentElement.scrollWidth") <= width, (name, size)
        desk.screenshot(path=folder / f"{name}-{size}.png", full_page=True)
    desk.set_viewport_size(dict(zip(("width", "height"), SIZES["screen"], strict=True)))
