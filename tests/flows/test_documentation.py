"""The documentation at the desk: its pages, links and anchors, and the entry of every field."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from docs.site import build
from hallmark.flows.desk import desk, documentation
from hallmark.flows.desk.documentation import FOLDER, manual_of, names, reference, slug
from hallmark.schemas.spec_answers import answers_about, answers_about_release
from hallmark.tasks.people.rights import Role
from tests.flows.people import as_somebody

DOCS = Path(__file__).parents[2] / "docs"


def test_every_page_of_docs_is_served_and_no_other():
    assert set(names()) == {file.stem for file in DOCS.glob("*.md")}
    for link in FOLDER.iterdir():
        assert link.is_symlink()
        assert link.resolve() == DOCS / link.name


@pytest.fixture
def viewer(home: Path) -> TestClient:
    return TestClient(desk, headers=as_somebody(Role.VIEWER) | {"Accept": "text/html"})


def test_the_list_has_every_page_once(viewer: TestClient):
    listed = re.findall(r'<li><a href="/docs/([a-z-]+)">', viewer.get("/docs").text)
    assert sorted(listed) == sorted(names())


@pytest.mark.parametrize("name", sorted(file.stem for file in DOCS.glob("*.md")))
def test_every_link_of_a_page_leads_somewhere(name: str):
    one = manual_of(name)
    for address in re.findall(r'href="([^"]*)"', one.body):
        url = urlsplit(address)
        if url.scheme:
            assert url.scheme in ("http", "https", "mailto")
            continue
        page = url.path.removeprefix("/docs/") or name
        assert page in names(), address
        assert not url.fragment or url.fragment in manual_of(page).anchors, address
    assert "<img" not in one.body
    assert "<script" not in one.body
    assert "](" not in re.sub(r"<code.*?</code>", "", one.body, flags=re.DOTALL)


def test_a_page_is_served_under_the_desks_policy_and_no_path_leads_beside_it(viewer: TestClient):
    page = viewer.get("/docs/approvals")
    assert page.status_code == 200
    assert '<h2 id="the-release-calendar">' in page.text
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    for name in ("none", "..%2Fdesk", "README", "%2e%2e"):
        assert viewer.get(f"/docs/{name}").status_code == 404
    assert TestClient(desk).get("/docs/approvals").status_code == 401


def test_what_the_desk_does_not_serve_is_named_without_a_link():
    text = manual_of("audit").body
    assert "(Picture, in the repository:" in manual_of("answers").body or "<img" not in text
    assert documentation._address("../deploy/README.md") is None
    assert documentation._address("audit-report.png") is None
    assert documentation._address("desk.md#by-forms") == "/docs/desk#by-forms"
    assert documentation._address("https://example.org/a") == "https://example.org/a"
    assert documentation._address("javascript:alert(1)") is None


def test_anchors_are_those_of_the_site():
    """As links in the pages have them, which `make docs` checks there."""
    assert slug("columns.NAME of type numeric") == "columnsname-of-type-numeric"
    assert slug("mechanism.queries[].means") == "mechanismqueriesmeans"
    assert build.LINK.pattern  # the site's own check is of the same pages


TEMPLATES = sorted((Path(documentation.__file__).parent / "templates").glob("*.html.j2"))
HELP = {
    file.name: found[1]
    for file in TEMPLATES
    if (found := re.search(r"{% block help %}([^{]+){% endblock %}", file.read_text("utf-8")))
}


@pytest.mark.parametrize("template", HELP)
def test_what_is_said_of_a_page_is_there(template: str):
    name, _, anchor = HELP[template].partition("#")
    assert not anchor or anchor in manual_of(name).anchors


def test_pages_link_to_what_is_said_of_them(viewer: TestClient):
    assert len(HELP) > 15
    assert 'href="/docs/keys"' in viewer.get("/keys").text
    assert "What the documentation says" not in viewer.get("/docs").text


TYPES = ("numeric", "date", "nominal", "ordinal", "boolean")
FIELDS = [
    *((keys, "") for several in answers_about_release().values() for one in several
      for keys in one.keys),
    *((keys, type_) for type_ in TYPES for one in answers_about(type_) for keys in one.keys),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "type_"), FIELDS)
def test_every_field_of_a_form_has_an_entry_in_the_reference(keys: tuple[str, ...], type_: str):
    _, _, anchor = reference(keys, type_).partition("#")
    assert anchor in manual_of("spec-reference").anchors
