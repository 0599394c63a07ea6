"""What is sent to the desk in order to fill its disk or its memory, or is cut off."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hallmark.flows.desk import desk
from hallmark.flows.desk.intake import FORM, TEXT
from hallmark.flows.desk.routes import NEEDED
from hallmark.tasks.installation import disk
from hallmark.tasks.people import directory
from hallmark.tasks.people.rights import Role
from tests.flows.people import TEST, as_somebody, log_in

HERE = {"Origin": "http://testserver"}
MIB = 1 << 20
FILE = {"table": ("t.csv", b"a,b\n" + b"1,2\n" * MIB)}
HEAD = b'--x\r\nContent-Disposition: form-data; name="table"; filename="t.csv"\r\n\r\na,b\n'
NAMES = dict.fromkeys(
    ("release", "name", "account", "entry", "login", "number", "secret", "kind"), "0"
)


@pytest.fixture
def temporary(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files are while they come in."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def steward(temporary: Path) -> TestClient:
    return TestClient(desk, headers=as_somebody(Role.STEWARD))


def kept(folder: Path) -> list[Path]:
    """Files that this process holds open in a folder, also those without a name."""
    links = (os.readlink(one.path) for one in os.scandir("/proc/self/fd") if one.is_symlink())
    return [Path(link) for link in links if link.startswith(str(folder))]


def streamed(path: str, chunks: Iterator[bytes], headers: dict[str, str]) -> tuple[int, str, int]:
    """Send a body whose length nobody stated; returns status, text and number of parts taken.

    After the last chunk the sender is gone.
    """
    said: list[Any] = []
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        chunk = next(chunks, None)
        if chunk is None:
            return {"type": "http.disconnect"}
        taken += 1
        return {"type": "http.request", "body": chunk, "more_body": True}

    async def send(message: Any) -> None:
        said.append(message)

    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": b"", "scheme": "http", "http_version": "1.1", "client": ("testclient", 1),
        "server": ("testserver", 80), "headers": [
            (name.lower().encode(), value.encode())
            for name, value in ({"Host": "testserver"} | headers).items()
        ],
    }  # fmt: skip
    asyncio.run(desk(scope, receive, send))
    body = b"".join(one.get("body", b"") for one in said[1:])
    return said[0]["status"], body.decode(), taken


@pytest.mark.parametrize("path", ["/log-in", "/invitation/x"])
def test_nobody_leaves_a_file_at_an_open_door(path: str, temporary: Path):
    stranger = TestClient(desk)
    answer = stranger.post(path, files=FILE, headers=HERE)
    assert answer.status_code == 415
    assert "no files are taken here" in answer.text
    multipart = {"Content-Type": "Multipart/Form-Data; boundary=x"} | HERE
    chunks = iter([HEAD, *[b"1,2\n" * MIB] * 100])
    status, _, taken = streamed(path, chunks, multipart)
    assert (status, taken, kept(temporary)) == (415, 0, [])


def test_every_route_has_a_limit_and_most_take_no_file(home: Path):
    client = TestClient(desk)
    directory.add("ada", "Ada A", list(Role), by=TEST)
    client.headers["X-CSRF"] = log_in(client, "ada")
    takes_files = set()
    of_tables = {"/tables", "/tables/{kind}/{name}/replace"}
    for path in {path for method, path in NEEDED if method == "POST"} - of_tables:
        place = path.format(**NAMES)
        is_form = path not in {
            "/decisions", "/specs", "/specs/{name}", "/specs/check", "/specs/plan",
            "/specs/{name}/about", "/specs/{name}/columns", "/specs/{name}/columns/type",
            "/specs/{name}/questions", "/specs/{name}/mechanism", "/specs/{name}/mechanism/name",
            "/specs/alternative", "/specs/frontier",
        }  # fmt: skip
        answer = client.post(place, content=b"a" * ((FORM if is_form else TEXT) + 1))
        assert answer.status_code == 413, path
        says = f"at most {'64 KiB' if is_form else '1 MiB'} are taken here"
        assert says in answer.json()["detail"], path
        if client.post(place, files={"spec": ("s.yaml", b"a: b")}).status_code != 415:
            takes_files.add(path)
    assert takes_files == {"/specs"}


@pytest.mark.parametrize(
    ("path", "kind", "most"),
    [
        ("/log-in", "application/x-www-form-urlencoded", FORM),
        ("/releases/none/comments", "application/x-www-form-urlencoded", FORM),
        ("/specs/none", "application/x-www-form-urlencoded", TEXT),
        ("/specs", "multipart/form-data; boundary=x", TEXT),
        ("/specs/check", "application/json", TEXT),
        ("/decisions", "application/json", TEXT),
    ],
)
@pytest.mark.parametrize("lie", [{}, {"Content-Length": "7"}, {"Content-Length": "many"}])
def test_a_limit_holds_whatever_length_was_stated(
    path: str, kind: str, most: int, lie: dict[str, str], home: Path
):
    part = 16 * 1024
    headers = as_somebody(*Role) | HERE | {"Content-Type": kind} | lie
    first = HEAD if "multipart" in kind else b""
    chunks = iter([first.ljust(part, b"a"), *[b"a" * part] * 1000])
    status, says, taken = streamed(path, chunks, headers)
    assert (status, "this is too large" in says) == (413, True)
    assert taken == most // part + 1


def test_a_table_is_taken_up_to_its_limit(
    steward: TestClient, temporary: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(disk.UPLOAD, "0.01")  # 10 MiB
    assert "at most 10.24 MiB" in steward.get("/specs").text
    assert steward.post("/tables", files=FILE).status_code == 200
    large = {"table": ("large.csv", b"a,b\n" + b"1,2\n" * 3 * MIB)}
    answer = steward.post("/tables", files=large)
    assert answer.status_code == 413
    assert "at most 10.3 MiB are taken here (HALLMARK_UPLOAD_GIB)" in answer.text
    multipart = {"Content-Type": "multipart/form-data; boundary=x"}
    chunks = iter([HEAD, *[b"1,2\n" * (MIB // 4)] * 100])
    status, says, taken = streamed("/tables", chunks, multipart | as_somebody(Role.STEWARD))
    assert (status, "at most 10.3 MiB" in says) == (413, True)
    assert taken < 13
    assert kept(temporary) == []


def test_nothing_is_left_of_an_upload_that_is_cut_off(temporary: Path, home: Path):
    multipart = {"Content-Type": "multipart/form-data; boundary=x"} | as_somebody(Role.STEWARD)
    during: list[Path] = []

    def chunks() -> Iterator[bytes]:
        yield HEAD
        for _ in range(3):
            yield b"1,2\n" * MIB
            during.extend(kept(temporary))

    streamed("/tables", chunks(), multipart)
    assert during, "it is on the disk while it comes"
    assert kept(temporary) == []
    assert list((home / "tables").glob("*")) == []


def test_uploads_leave_room_on_the_disk(steward: TestClient, monkeypatch: pytest.MonkeyPatch):
    def free(number: int) -> None:
        usage = lambda _: type("Usage", (), {"free": number})  # noqa: E731
        monkeypatch.setattr(disk.shutil, "disk_usage", usage)

    free(2 * disk.GIB + MIB)
    answer = steward.post("/tables", files=FILE)
    assert answer.status_code == 507
    assert "2 GiB of them are kept for releases that run (HALLMARK_SPARE_DISK_GIB)" in answer.text
    small = {"table": ("small.csv", b"a\n1\n")}
    assert steward.post("/tables", files=small).status_code == 200
    free(disk.GIB)
    multipart = {"Content-Type": "multipart/form-data; boundary=x"} | as_somebody(Role.STEWARD)
    status, _, taken = streamed("/tables", iter([HEAD] * 9), multipart)
    assert (status, taken) == (507, 0)
    monkeypatch.setenv(disk.SPARE, "0")
    assert steward.post("/tables", files=FILE).status_code == 200


def test_a_disk_that_fills_meanwhile_ends_an_upload(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
):
    free = iter([*[9 * disk.GIB] * 3, *[disk.GIB] * 99])
    usage = lambda _: type("Usage", (), {"free": next(free)})  # noqa: E731
    monkeypatch.setattr(disk.shutil, "disk_usage", usage)
    multipart = {"Content-Type": "multipart/form-data; boundary=x"} | as_somebody(Role.STEWARD)
    chunks = iter([HEAD, *[b"1,2\n" * MIB] * 9])
    status, says, taken = streamed("/tables", chunks, multipart)
    assert (status, taken, "too little room" in says) == (507, 3, True)
    assert kept(temporary) == []


@pytest.mark.parametrize("wrong", ["much", "-1", "nan", "inf"])
def test_a_wrong_setting_is_named(wrong: str, steward: TestClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(disk.UPLOAD, wrong)
    answer = steward.post("/tables", files=FILE)
    assert answer.status_code == 503
    assert f"HALLMARK_UPLOAD_GIB is '{wrong}'; set it to a number of GiB" in answer.text
