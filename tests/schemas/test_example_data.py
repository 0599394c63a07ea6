"""The data of the examples are what their page says, and compressed the same by everybody."""

import gzip
import re
from hashlib import sha256
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "schemas/examples/data"
ROW = re.compile(r"^\| `([\w.]+)` \| ([\d,]*) ?\| `(\w{64})` \|$", re.MULTILINE)
STATED = {
    name: (rows, digest) for name, rows, digest in ROW.findall((DATA / "README.md").read_text())
}


def test_the_page_states_every_file():
    assert {*STATED, "README.md"} == {file.name for file in DATA.iterdir()}


@pytest.mark.parametrize("name", STATED)
def test_a_file_is_the_stated_one(name):
    content = (DATA / name).read_bytes()
    rows, digest = STATED[name]
    if name.endswith(".gz"):
        assert content[3:8] == bytes(5)  # no name of a file, and no time
        content = gzip.decompress(content)
        assert content.count(b"\n") - 1 == int(rows.replace(",", ""))
    assert sha256(content).hexdigest() == digest
