"""A site of releases: it holds what was published and no more, and obeys nothing that it shows."""

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hallmark.schemas.documents.manifest import (
    MANIFEST_FILE,
    RELEASE_FORMAT,
    SPEC_FILE,
)
from hallmark.tasks.questions.release import OpenRelease
from hallmark.tasks.site import pages, site, tables
from hallmark.tasks.site.citation import bibtex
from hallmark.tasks.site.folder import SiteRefused
from hallmark.tasks.site.pages import Entry, catalogue_page, release_page
from hallmark.tasks.site.published import NotPublished, Published, superseded
from hallmark.tasks.site.site import make_site
from hallmark.tasks.verification import verify_release
from tests.tasks.released import Released

EVIL = '</title></script><script>alert("1")</script>&\u202e'


@pytest.fixture(scope="session")
def made(example_release: Released, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of the example's release, which no test changes."""
    out = tmp_path_factory.mktemp("site") / "out"
    make_site([example_release.folder], out)
    return out


@pytest.fixture
def copy(example_release: Released, tmp_path: Path) -> Path:
    """The release in a folder that a test may change."""
    return Path(shutil.copytree(example_release.folder, tmp_path / "releases" / "copy"))


@pytest.fixture
def published(example_release: Released) -> Published:
    return Published.of(example_release.folder, None, {})


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def told(page: str) -> dict[str, Any]:
    """What the script of a page is given."""
    (text,) = re.findall(r'<script type="application/json" id="told">(.*?)</script>', page)
    found: dict[str, Any] = json.loads(text)
    return found


def page_of(made: Path) -> str:
    return (made / "test-release" / "index.html").read_text()


def with_title(one: Published, title: str) -> Published:
    """The release as if its record stated so, and who published it."""
    record = one.documents.record
    identity = record.identity.model_copy(update={"title": title, "curator": title})
    documents = replace(one.documents, record=record.model_copy(update={"identity": identity}))
    return replace(one, documents=documents)


def test_the_files_are_the_published_ones_and_verify_where_they_lie(
    made: Path, example_release: Released
) -> None:
    files = made / "test-release" / "files"
    assert everything(files) == everything(example_release.folder)
    assert verify_release(files).ok
    assert set(everything(made)) == {
        "index.html",
        "site.json",
        "test-release/index.html",
        *(f"test-release/files/{name}" for name in everything(files)),
    }


def test_a_page_says_what_the_release_is_and_how_to_check_and_cite_it(
    made: Path, published: Published
) -> None:
    page = page_of(made)
    sha256 = hashlib.sha256((published.folder / MANIFEST_FILE).read_bytes()).hexdigest()
    for said in (
        "A table made up for the tests",
        "with 95 % confidence, each of",
        "ε&nbsp;=&nbsp;1",
        "What is promised to you?",
        "hallmark verify test-release --key agency.pub",
        f"SHA-256 of manifest.json: {sha256}",
        "@misc{test-release,",
    ):
        assert said in page, said
    assert page.count('<span class="yes" aria-hidden="true">') == len(published.checks)
    for name in published.files:
        assert f'href="files/{name}"' in page, name
    for column in published.documents.dictionary.columns:
        assert f"<code>{column.name}</code>" in page
    catalogue = (made / "index.html").read_text()
    assert 'href="test-release/index.html"' in catalogue
    assert "300" in catalogue
    assert "one record replaced by any other" in catalogue


def test_every_answer_is_that_of_a_query(made: Path, example_release: Released) -> None:
    data = told(page_of(made))
    names = [one["name"] for one in data["columns"]]
    release = OpenRelease.of(example_release.folder)
    assert len(data["tables"]) > len(names)
    for table in data["tables"]:
        question = "count by " + ", ".join(names[place] for place in table["by"])
        (found,) = release.ask(question)
        assert [data["notes"][place] for place in table["notes"]] == list(found.notes)
        assert list(product(*table["cells"])) == [one.group for one in found.answers]
        assert table["rows"] == [
            [one.estimate, one.low, one.high, one.of_records, data["bases"].index(one.basis)]
            for one in found.answers
        ]


def test_a_page_has_so_many_cells_at_most_and_says_what_is_left_out(
    example_release: Released, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = OpenRelease.of(example_release.folder)
    whole = tables.tables_of(release)
    assert whole.cells <= tables.MOST_CELLS
    assert whole.too_large == whole.not_told == ()
    monkeypatch.setattr(tables, "MOST_CELLS", 60)
    some = tables.tables_of(release)
    assert some.cells <= 60
    assert {("age",), ("region",), ("region", "employed")} <= set(some.answers)
    assert set(some.answers) | set(some.too_large) == set(whole.answers)
    assert min(map(len, (whole.answers[one].answers for one in some.too_large))) >= max(
        len(one.answers) for columns, one in some.answers.items() if len(columns) == 2
    )
    page = release_page(Entry(release=published, superseded_by=""))
    assert f"No room was left for {len(some.too_large)} tables" in page


def test_what_no_noisy_table_tells_is_not_answered(
    example_release: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = OpenRelease.of(example_release.folder)
    single = tuple(one for one in release.measurements.tables if len(one.columns) == 1)
    few = replace(release.measurements, tables=single)
    monkeypatch.setattr(OpenRelease, "measurements", few)
    found = tables.tables_of(OpenRelease.of(example_release.folder))
    told_of = {release.codec.names[one.columns[0]] for one in single}
    assert set(found.answers) == {(name,) for name in told_of}
    assert len(found.not_told) + len(found.answers) == 15


def test_a_page_without_answers_says_what_can_be_asked(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Entry(release=published, superseded_by="")
    monkeypatch.setattr(pages, "tables_of", lambda release: tables.NO_TABLES)
    page = release_page(entry)
    assert "no noisy table tells the counts" in page
    assert "Line and band: as measured with noise, noisy measurement plus or minus" in page
    assert "hallmark query test-release count" in page
    monkeypatch.setattr(pages, "MEASUREMENTS_FILE", "none.parquet")
    page = release_page(entry)
    assert "This release cannot be asked" in page
    assert 'id="by-command"' not in page
    assert 'id="told"' not in page


def test_plots_show_estimates_with_their_intervals(made: Path, published: Published) -> None:
    page = page_of(made)
    assert "Line and band: as measured" not in page
    assert page.count('role="img"') == len(published.documents.dictionary.columns)
    assert page.count('class="band"') >= 20
    assert "synthetic shares lie within the error band" in page


class Seen(HTMLParser):
    """Scripts and styles within a page, and all attributes of its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inline: list[tuple[str, str]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self._within = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within = tag
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        if self._within in ("script", "style") and data.strip():
            self.inline.append((self._within, data))

    def handle_endtag(self, tag: str) -> None:
        self._within = ""


@pytest.mark.parametrize("page", ["index.html", "test-release/index.html"])
def test_a_policy_allows_the_one_script_and_nothing_from_elsewhere(page: str, made: Path) -> None:
    seen = Seen((made / page).read_text())
    policy = next(value for tag, name, value in seen.attributes if name == "content")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    for kind, text in seen.inline:
        if not text.startswith("{"):  # what the script is given
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy
    for tag, name, value in seen.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name != "style", tag
        if name in ("src", "href", "action", "data"):
            assert not re.match(r"(?!data:)\w+:|//", value), value


def test_what_others_wrote_is_shown_and_not_obeyed(published: Published, copy: Path) -> None:
    spec = (copy / SPEC_FILE).read_text()
    assert "north" in spec
    (copy / SPEC_FILE).write_text(spec.replace("north", "'</script><script>alert(2)</script>'"))
    evil = replace(with_title(published, EVIL), folder=copy, withdrawn="")
    entry = Entry(release=evil, superseded_by="")
    for page in (catalogue_page([entry]), release_page(entry)):
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert page.count("</script>") == page.count("<script")
        assert "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;" in page
    labels = told(release_page(entry))["tables"]
    assert any("</script><script>alert(2)</script>" in one["cells"][0] for one in labels)
    assert r"title = {{\{\}" in bibtex(with_title(published, "{}").documents.record, "0" * 64)


def test_two_sites_of_the_same_releases_have_the_same_bytes(
    made: Path, example_release: Released, tmp_path: Path
) -> None:
    make_site([example_release.folder.parent], tmp_path / "again")
    assert everything(tmp_path / "again") == everything(made)


def test_a_site_is_replaced_whole_and_nothing_else_is(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "site"
    make_site([copy], out)
    before = everything(out)
    (out / "stale").mkdir()  # of a release that is no longer there
    make_site([copy.parent], out, withdrawn={"test-release": "the codes were wrong"})
    assert not (out / "stale").exists()
    assert not (out / "test-release" / "files").exists()

    def broken(*_: object) -> str:
        raise RuntimeError

    after = everything(out)
    monkeypatch.setattr(site, "catalogue_page", broken)
    with pytest.raises(RuntimeError):
        make_site([copy], out)
    assert everything(out) == after != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["releases", "site"]


def test_a_folder_with_anything_else_is_left_alone(copy: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    with pytest.raises(SiteRefused, match=r"holds thesis\.txt"):
        make_site([copy], out)
    (out / "thesis.txt").unlink()
    make_site([copy], out)  # an empty folder holds nothing to lose
    (out / "test-release" / "notes.txt").write_text("mine")
    before = everything(out)
    with pytest.raises(SiteRefused, match=r"holds test-release/notes\.txt"):
        make_site([copy], out)
    assert everything(out) == before
    for within in (copy, copy / "site"):
        with pytest.raises(SiteRefused):
            make_site([copy], within)
    assert verify_release(copy).ok


def _tampered(folder: Path) -> None:
    data = folder / "data.csv"
    data.write_text(data.read_text().replace("01", "02"))


def _internal_beside(folder: Path) -> None:
    (folder / "internal-review.html").write_text("secret")


def _rehearsed(folder: Path) -> None:
    manifest = folder / MANIFEST_FILE
    manifest.write_text(manifest.read_text().replace(RELEASE_FORMAT, "hallmark-rehearsal/1"))


def _staged(folder: Path) -> None:
    for name in (MANIFEST_FILE, "manifest.sig", "signer.pub"):
        (folder / name).unlink()


def _unsigned(folder: Path) -> None:
    (folder / "manifest.sig").unlink()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_tampered, "files: data.csv was changed after signing"),
        (_internal_beside, "internal-review.html is not in the manifest"),
        (_rehearsed, "REHEARSAL"),
        (_staged, "it is no published release"),
        (_unsigned, "signature"),
    ],
)
def test_what_is_not_as_published_is_refused(
    change: Callable[[Path], None], says: str, copy: Path, tmp_path: Path
) -> None:
    change(copy)
    with pytest.raises(NotPublished, match=re.escape(says)):
        make_site([copy], tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_key_that_is_not_the_agencys_refuses_its_releases(copy: Path, tmp_path: Path) -> None:
    make_site([copy], tmp_path / "site", key=copy / "signer.pub")
    assert "by the given key" in page_of(tmp_path / "site")
    (tmp_path / "other.pub").write_text("no key")
    with pytest.raises(NotPublished, match="signature"):
        make_site([copy], tmp_path / "site", key=tmp_path / "other.pub")


def test_a_release_that_is_given_twice_is_refused(copy: Path, tmp_path: Path) -> None:
    shutil.copytree(copy, copy.with_name("other"))
    with pytest.raises(SiteRefused, match="release test-release is given twice"):
        make_site([copy.parent], tmp_path / "site")


def test_a_withdrawn_release_stays_listed_with_its_notice_and_without_its_files(
    copy: Path, tmp_path: Path
) -> None:
    notice = f"codes of two regions were exchanged {EVIL}"
    made = make_site([copy], tmp_path / "site", withdrawn={"test-release": notice})
    assert made.withdrawn == ("test-release",)
    assert set(everything(tmp_path / "site")) == {
        "index.html", "site.json", "test-release/index.html",
    }  # fmt: skip
    for page in ((tmp_path / "site" / "index.html").read_text(), page_of(tmp_path / "site")):
        assert "Withdrawn" in page
        assert "codes of two regions were exchanged" in page
        assert "<script>alert" not in page
        assert 'href="files/' not in page
        assert 'id="told"' not in page
    with pytest.raises(SiteRefused, match="'other' is to be shown as withdrawn"):
        make_site([copy], tmp_path / "site", withdrawn={"other": notice})
    with pytest.raises(SiteRefused, match="1,001 characters"):
        make_site([copy], tmp_path / "site", withdrawn={"test-release": "x" * 1001})


def test_a_release_that_another_names_as_superseded_is_marked(published: Published) -> None:
    def stated(text: str) -> Published:
        record = published.documents.record
        identity = record.identity.model_copy(update={"supersedes": text})
        manifest = published.documents.manifest.model_copy(update={"release_id": "next"})
        return replace(
            published,
            documents=replace(
                published.documents,
                manifest=manifest,
                record=record.model_copy(update={"identity": identity}),
            ),
        )

    assert superseded([published, stated("test-release")]) == {"test-release": "next"}
    for other in ("none", "not recorded", "next", "all before test-release"):
        assert superseded([published, stated(other)]) == {}
    old = Entry(release=published, superseded_by="next")
    assert "Superseded by <a" in catalogue_page([old])
    assert 'Superseded by <a href="../next/index.html">' in release_page(old)
