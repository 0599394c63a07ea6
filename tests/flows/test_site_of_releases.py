"""The site of releases as its maker asks for it, and as a reader opens it from a disk."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hallmark as package
from hallmark.tasks.questions.release import OpenRelease
from hallmark.tasks.site.site import make_site
from tests.flows.conftest import Hallmark
from tests.tasks.released import Released

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SIZES = {"screen": (1280, 900), "telephone": (390, 844)}


def test_a_site_is_made_by_one_command(
    hallmark: Hallmark, example_release: Released, tmp_path: Path
) -> None:
    out = tmp_path / "site"
    made = hallmark("site", example_release.folder, "--out", out)
    assert made.code == 0, made.err
    assert "test-release: verified" in made.out
    assert (out / "test-release" / "files" / "data.csv").is_file()

    again = hallmark(
        "site", example_release.folder.parent, "--out", out,
        "--withdrawn", "test-release = the codes were wrong",
    )  # fmt: skip
    assert "test-release: shown as withdrawn" in again.out
    assert "the codes were wrong" in (out / "index.html").read_text()


def test_what_is_wrong_is_said_with_an_exit_code(
    hallmark: Hallmark, example_release: Released, tmp_path: Path
) -> None:
    staged = hallmark("site", example_release.workspace.path, "--out", tmp_path / "site")
    assert staged.code == 6
    assert "holds none" in staged.error
    (tmp_path / "file").write_text("something")
    there = hallmark("site", example_release.folder, "--out", tmp_path)
    assert there.code == 2
    assert "holds file" in there.error
    assert hallmark("site", example_release.folder, "--out", tmp_path, "--withdrawn", "x").code == 2


@pytest.fixture(scope="module")
def made(example_release: Released, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the site, and with a copy of the release's files under its name."""
    folder = tmp_path_factory.mktemp("made")
    make_site([example_release.folder], folder / "site")
    (folder / "test-release").symlink_to(folder / "site" / "test-release" / "files")
    return folder


@pytest.fixture(params=SIZES)
def page(request: pytest.FixtureRequest, chrome: "Browser", made: Path) -> "Iterator[Page]":
    """The page of the release from the disk, on which no script may fail or ask anybody."""
    width, height = SIZES[request.param]
    context = chrome.new_context(viewport={"width": width, "height": height})
    opened = context.new_page()
    faults: list[str] = []
    opened.on("console", lambda said: faults.append(said.text))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("request", lambda asked: faults.append(asked.url) if _is_strange(asked.url) else None)
    opened.goto((made / "site" / "test-release" / "index.html").as_uri())
    yield opened
    assert faults == []
    context.close()


def _is_strange(url: str) -> bool:
    return not url.startswith(("file:", "data:"))


@pytest.mark.service
def test_every_page_is_accessible_and_fits(page: "Page", made: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for path in sorted((made / "site").glob("**/index.html")):
        page.goto(path.as_uri())
        if page.locator("#second").count():
            page.select_option("#second", label="region")
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found = Axe().run(page)
        assert [one["id"] for one in found.response["violations"]] == [], path
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, path
        page.screenshot(path=made / f"{path.parent.name}-{page.viewport_size}.png", full_page=True)


@pytest.mark.service
def test_a_column_is_found_by_keyboard_alone(page: "Page") -> None:
    from playwright.sync_api import expect

    columns = page.locator("article.column")
    expect(columns).to_have_count(5)
    page.locator("#find").focus()
    page.keyboard.type("SOUTH")  # a label of a category
    expect(page.locator("#found")).to_have_text("1 of 5 columns")
    expect(columns.filter(visible=True)).to_contain_text("region")
    page.keyboard.press("Enter")  # sends nothing
    page.keyboard.press("Tab")
    page.keyboard.type("date")
    expect(page.locator("#found")).to_have_text("0 of 5 columns")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    expect(columns.filter(visible=True)).to_contain_text("since")


@pytest.mark.service
def test_two_columns_are_asked_by_keyboard_and_the_commands_give_the_same(
    page: "Page", made: Path, hallmark: Hallmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    from playwright.sync_api import expect

    page.locator("#first").focus()
    page.keyboard.type("region")
    page.keyboard.press("Tab")
    page.keyboard.type("employed")
    expect(page.locator("#said")).to_have_text("6 groups by region and employed.")
    (told,) = OpenRelease.of(made / "test-release").ask("count by region, employed")
    rows = page.locator("#answers tbody tr")
    for row, answer in zip(rows.all(), told.answers, strict=True):
        words = row.inner_text().split("\t")
        assert tuple(words[:2]) == answer.group
        assert words[2] == f"{answer.estimate:.4g}"
        assert words[3] == f"{answer.low:.4g} to {answer.high:.4g}"
    expect(page.locator("#notes li")).to_have_text(list(told.notes))

    monkeypatch.chdir(made)
    command = shlex.split(page.locator("#by-command").inner_text())
    answered = hallmark(*command[1:])
    assert f"{told.answers[0].estimate:.4g}" in answered.out
    namespace: dict[str, object] = {}
    *lines, last = page.locator("#by-python").inner_text().splitlines()
    exec("\n".join(lines), namespace)
    frame = eval(last, namespace)
    assert list(frame["estimate"]) == [one.estimate for one in told.answers]
    assert isinstance(namespace["release"], type(package.open("test-release")))

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # unfolds the categories of the first column
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(rows).to_have_count(2)
    expect(page.locator("#said")).to_contain_text("2 of 6 groups")
    expect(page.locator("#said")).to_contain_text("No interval here is of their sum")


@pytest.mark.service
def test_without_scripts_the_tables_are_there_and_nothing_is_offered_in_vain(
    chrome: "Browser", made: Path
) -> None:
    from playwright.sync_api import expect

    page = chrome.new_context(java_script_enabled=False).new_page()
    page.goto((made / "site" / "test-release" / "index.html").as_uri())
    expect(page.locator("#first")).to_be_hidden()
    expect(page.locator("#find")).to_be_hidden()
    expect(page.get_by_text("Choosing columns needs a script")).to_be_visible()
    page.get_by_text("The plot as a table").first.click()
    expect(page.locator("article table").first).to_be_visible()
