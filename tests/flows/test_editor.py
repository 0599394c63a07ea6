"""The spec editor of the desk in a browser, under a strict policy, with the real check of specs."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import uvicorn
from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from playwright.sync_api import Browser, Page, expect

import hallmark.flows.desk
import hallmark.schemas
from hallmark.schemas.loading import SpecError, load_spec
from tests import example

pytestmark = pytest.mark.service

DESK = Path(hallmark.flows.desk.__file__).parent
SCHEMA = Path(hallmark.schemas.__file__).parent / "release-spec.schema.json"
NONCE, CSRF = "a-nonce-of-the-tests", "a-token-of-the-tests"
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{NONCE}'; "
    "connect-src 'self'; img-src 'self' data:; form-action 'self'"
)
PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A spec</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="csrf" content="{CSRF}"><meta name="style-nonce" content="{NONCE}">
<link rel="icon" href="data:,"><link rel="stylesheet" href="/static/desk.css">
<script type="module" src="/static/editor.js"></script></head>
<body><header><a href="/">Hallmark</a></header><main><h1 id="of-the-spec">The spec</h1>
<form method="post" action="/saved"><p><a href="#before" id="before">before</a></p>
<textarea name="text" rows="20" required data-editor data-check="/specs/check" data-name="a-spec"
 data-schema="/schema/release-spec.json" data-problems="problems"
 aria-labelledby="of-the-spec">{{text}}</textarea>
<button id="save">Save</button> <button type="reset">Reset</button></form>
<div id="problems"></div></main></body></html>"""
SECTIONS = "hallmark: 1\nrelease: a-release\n"
LINE = re.compile(r".*?:(\d+): (?:([^ ]+): )?(.*)")

Check = Callable[[dict[str, str]], Response]


def found(asked: dict[str, str], folder: Path) -> Response:
    """What the loader of specs says of a text, as the desk answers."""
    file = folder / "spec.yaml"
    file.write_text(asked["text"], encoding="utf-8")
    lines: list[str] = []
    try:
        load_spec(file)
    except SpecError as error:
        lines = error.problems
    problems = []
    for line in lines:
        parts = LINE.fullmatch(line)
        number, key, message = parts.groups() if parts else (None, None, line)
        problems.append(
            {
                "line": number and int(number),
                "column": None,
                "key": key,
                "message": message,
                "severity": "error",
            }
        )
    return JSONResponse({"problems": problems, "complete": not problems})


@dataclass
class Stub:
    """A page with the editor: what it shows, what its checks answer, and what it was asked."""

    folder: Path
    text: str = SECTIONS
    check: Check | None = None
    asked: list[dict[str, str]] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def app(self) -> FastAPI:
        app = FastAPI()
        app.mount("/static", StaticFiles(directory=DESK / "static"))

        @app.get("/")
        def page() -> Response:
            text = self.text.replace("&", "&amp;").replace("<", "&lt;")
            return HTMLResponse(
                PAGE.replace("{text}", text), headers={"Content-Security-Policy": POLICY}
            )

        @app.get("/schema/release-spec.json")
        def schema() -> Response:
            return JSONResponse(json.loads(SCHEMA.read_text(encoding="utf-8")))

        @app.post("/specs/check")
        async def check(request: Request) -> Response:
            asked = await request.json()
            self.asked.append(asked)
            self.tokens.append(request.headers.get("X-CSRF"))
            return await run(self.check or (lambda said: found(said, self.folder)), asked)

        @app.post("/saved")
        async def saved(request: Request) -> Response:
            form = parse_qs((await request.body()).decode())
            self.saved.append(form["text"][0])
            return HTMLResponse("<p>Saved.</p>")

        return app


async def run(check: Check, asked: dict[str, str]) -> Response:
    """A check in a thread, so that one that waits holds up nothing else."""
    return await to_thread.run_sync(check, asked)


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[Stub]:
    stub = Stub(tmp_path)
    server = uvicorn.Server(uvicorn.Config(stub.app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < deadline, "the server never started"
        time.sleep(0.02)
    stub.port = server.servers[0].sockets[0].getsockname()[1]
    yield stub
    server.should_exit = True
    thread.join(30)


@pytest.fixture
def page(stub: Stub, chrome: Browser) -> Iterator[Page]:
    """A tab; at its end nothing was refused, nothing failed, and no other host was asked."""
    context = chrome.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: hosts.add(request.url.partition("/static")[0]))
    yield page
    wrong = [said for said in wrong if "Failed to load resource" not in said]
    assert wrong == []
    own = f"http://127.0.0.1:{stub.port}/"
    assert all(f"{host}/".startswith(own) or host.startswith("data:") for host in hosts)
    context.close()


def opened(page: Page, stub: Stub, text: str = SECTIONS) -> Page:
    stub.text = text
    page.goto(f"http://127.0.0.1:{stub.port}/", wait_until="networkidle")  # the schema is there
    page.locator(".cm-content").wait_for()
    return page


def status(page: Page) -> Any:
    return page.locator("#problems [role=status]")


def at_end(page: Page) -> Page:
    """The page with the cursor after the last character."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    return page


def options(page: Page) -> list[str]:
    """What completion offers, asked for as a user does."""
    page.keyboard.press("Control+Space")
    page.locator(".cm-tooltip-autocomplete li").first.wait_for()
    return page.locator(".cm-tooltip-autocomplete .cm-completionLabel").all_inner_texts()


def cursor_line(page: Page) -> str:
    return page.locator(".cm-activeLine").inner_text()


def test_an_error_is_shown_at_its_line_and_in_the_list(stub: Stub, page: Page) -> None:
    at_end(opened(page, stub, "hallmark: 1\nrelease: a-release\ntitle: a title\n"))
    page.keyboard.type("privcy: 1")
    page.keyboard.press("Escape")
    wrong = page.locator("#problems li", has_text="privcy")
    expect(wrong).to_contain_text("Error, line 4: privcy: is not a key of the spec")
    expect(page.locator(".cm-lint-marker-error").first).to_be_visible()
    expect(
        page.locator(".cm-line", has_text="privcy").locator(".cm-lintRange-error")
    ).to_be_visible()
    expect(status(page)).to_contain_text(re.compile(r"\d+ errors"))
    assert stub.asked[-1]["name"] == "a-spec"
    assert set(stub.tokens) == {CSRF}


def test_a_problem_in_the_list_moves_the_cursor(stub: Stub, page: Page) -> None:
    filler = "".join(f"# line {i}\n" for i in range(200))
    opened(page, stub, f"{filler}hallmark: 1\nprivcy: 1\n")
    page.locator("#problems button", has_text="privcy").click()
    assert cursor_line(page) == "privcy: 1"
    page.keyboard.type("x")
    expect(page.locator("textarea")).to_have_value(f"{filler}hallmark: 1\nxprivcy: 1\n")


def test_a_sound_spec_has_no_problems(stub: Stub, page: Page) -> None:
    text = example.write(stub.folder / "data").read_text(encoding="utf-8")
    opened(page, stub, text)
    expect(status(page)).to_have_text("No problems.")
    expect(page.locator(".cm-lint-marker")).to_have_count(0)


def test_keys_are_completed_and_explained(stub: Stub, page: Page) -> None:
    at_end(opened(page, stub, "privacy:\n  unit: record\n"))
    page.keyboard.type("  ")
    assert options(page) == ["neighbours", "epsilon", "delta", "large_delta"]
    expect(page.locator(".cm-completionInfo")).to_contain_text("their number is public")
    page.keyboard.press("Escape")
    page.keyboard.type("nei")
    page.locator(".cm-tooltip-autocomplete li").first.wait_for()
    page.wait_for_timeout(150)  # Enter counts only once the list has been there for a moment
    page.keyboard.press("Enter")
    values = page.locator(".cm-tooltip-autocomplete .cm-completionLabel")
    expect(values).to_have_text(["replace_one", "add_remove"])
    page.wait_for_timeout(150)
    page.keyboard.press("Enter")
    expect(page.locator("textarea")).to_have_value(
        "privacy:\n  unit: record\n  neighbours: replace_one"
    )


def test_values_are_completed_in_lists_and_by_the_type_of_a_column(stub: Stub, page: Page) -> None:
    at_end(opened(page, stub, "output: {formats: [csv, "))
    assert options(page) == ["csv", "parquet", "dta", "sav"]
    at_end(opened(page, stub, "columns:\n  age:\n    type: "))
    assert set(options(page)) >= {"numeric", "nominal", "date"}
    at_end(opened(page, stub, "columns:\n  age:\n    type: boolean\n    "))
    offered = options(page)
    assert "values" in offered
    assert "minimum" not in offered


def test_a_key_is_explained_under_the_pointer_and_on_f1(stub: Stub, page: Page) -> None:
    opened(page, stub, "privacy:\n  epsilon: 1\n")
    page.locator(".cm-content").get_by_text("epsilon").hover()
    expect(page.locator(".cm-tooltip-hover")).to_contain_text("an exact number above 0")
    at_end(page)
    page.keyboard.press("ArrowUp")
    page.mouse.move(5, 5)
    expect(page.locator(".cm-tooltip-hover")).to_have_count(0)
    page.keyboard.press("F1")
    expect(page.locator(".cm-described")).to_contain_text("an exact number above 0")
    page.keyboard.press("Escape")
    expect(page.locator(".cm-described")).to_have_count(0)


def test_a_form_sends_what_was_typed(stub: Stub, page: Page) -> None:
    at_end(opened(page, stub))
    page.keyboard.type("title: Ümlaut & <b>")
    page.keyboard.press("Escape")
    page.locator("#save").click()
    page.get_by_text("Saved.").wait_for()
    assert [text.replace("\r\n", "\n") for text in stub.saved] == [f"{SECTIONS}title: Ümlaut & <b>"]


def test_the_keyboard_can_leave_the_editor(stub: Stub, page: Page) -> None:
    opened(page, stub)
    page.locator("#before").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content")).to_be_focused()
    expect(page.locator("textarea")).to_have_value(f"  {SECTIONS}")
    page.keyboard.press("Escape")
    page.wait_for_timeout(2500)  # nobody has to hurry
    page.keyboard.press("Tab")
    expect(page.locator("#save")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#before")).to_be_focused()


def test_an_answer_that_comes_late_does_not_replace_a_newer_one(stub: Stub, page: Page) -> None:
    def check(asked: dict[str, str]) -> Response:
        slow = "slow" in asked["text"] and "fast" not in asked["text"]
        if slow:
            time.sleep(2)
        problem = {"line": None, "column": None, "key": None, "message": "slow" if slow else "fast"}
        return JSONResponse({"problems": [problem | {"severity": "warning"}], "complete": False})

    stub.check = check
    at_end(opened(page, stub))
    page.keyboard.type("# slow ")
    page.wait_for_timeout(800)
    page.keyboard.type("fast")
    expect(page.locator("#problems li")).to_have_text("Warning: fast")
    page.wait_for_timeout(2000)
    expect(page.locator("#problems li")).to_have_text("Warning: fast")
    assert [text.rstrip() for text in (asked["text"] for asked in stub.asked)] == [
        SECTIONS.rstrip(),
        f"{SECTIONS}# slow",
        f"{SECTIONS}# slow fast",
    ]


@pytest.mark.parametrize(
    ("code", "said"),
    [(401, "you are signed out"), (403, "the desk refused"), (500, "the desk failed")],
)
def test_a_refused_check_says_so_and_keeps_the_text(
    code: int, said: str, stub: Stub, page: Page
) -> None:
    opened(page, stub)
    stub.check = lambda asked: Response(status_code=code)
    at_end(page)
    page.keyboard.type("# kept")
    expect(status(page)).to_contain_text(f"Not checked: {said}", use_inner_text=True)
    expect(page.locator("textarea")).to_have_value(f"{SECTIONS}# kept")
    stub.check = None
    page.get_by_role("button", name="Check again").click()
    expect(status(page)).to_contain_text("errors")


def test_a_desk_that_is_gone_is_named_and_the_text_kept(stub: Stub, page: Page) -> None:
    opened(page, stub)
    page.route("**/specs/check", lambda route: route.abort())
    at_end(page)
    page.keyboard.type("# kept")
    expect(status(page)).to_contain_text("Not checked: the desk cannot be reached")
    expect(page.locator("textarea")).to_have_value(f"{SECTIONS}# kept")


def test_the_page_hears_of_checks_and_can_change_the_text(stub: Stub, page: Page) -> None:
    opened(page, stub)
    page.evaluate(
        """() => {
          const textarea = document.querySelector("textarea");
          textarea.addEventListener("checked", (e) => {
            document.title = `${e.detail.complete} ${e.detail.problems.length}`;
           });
          textarea.value = "hallmark: 1";
          textarea.dispatchEvent(new Event("input"));
        }"""
    )
    expect(page.locator(".cm-content")).to_have_text("hallmark: 1")
    expect(page).to_have_title(re.compile(r"false [1-9]\d*"))
    page.locator("button[type=reset]").click()
    expect(page.locator(".cm-line")).to_have_count(3)


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_page(width: int, stub: Stub, page: Page) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    opened(page, stub, f"hallmark: 1\ntitle: {'long ' * 60}\nprivcy: {'x' * 200}\n")
    page.locator("#problems li button").first.wait_for()
    at_end(page)
    page.keyboard.press("Control+f")
    page.locator(".cm-search").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_javascript_it_is_a_textarea(stub: Stub, chrome: Browser) -> None:
    context = chrome.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(f"http://127.0.0.1:{stub.port}/")
    plain.locator("textarea").fill("hallmark: 1")
    plain.locator("#save").click()
    plain.get_by_text("Saved.").wait_for()
    assert stub.saved == ["hallmark: 1"]
    context.close()
