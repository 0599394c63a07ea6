"""The bundle of the spec editor is what its sources make, and asks nothing of another host."""

import hashlib
import json
import re
from pathlib import Path

import hallmark.flows.desk

DESK = Path(hallmark.flows.desk.__file__).parent
SOURCES, BUNDLE = DESK / "editor", DESK / "static" / "editor.js"


def digest(folder: Path) -> str:
    """SHA-256 of the sources, as the script of the build writes it into the bundle."""
    made = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix in (".js", ".json") and not file.name.endswith(".test.js"):
            made.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return made.hexdigest()


def test_the_bundle_is_up_to_date() -> None:
    first = BUNDLE.read_text(encoding="utf-8").partition("\n")[0]
    assert f"sources {digest(SOURCES)}." in first, "run: make editor"


def test_a_changed_source_is_noticed(tmp_path: Path) -> None:
    for file in SOURCES.glob("*.js*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert digest(tmp_path) == digest(SOURCES)
    with (tmp_path / "look.js").open("a") as look:
        look.write("// changed")
    assert digest(tmp_path) != digest(SOURCES)


def test_versions_are_exact() -> None:
    listed = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
    versions = [*listed["dependencies"].values(), *listed["devDependencies"].values()]
    assert [version for version in versions if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []


def test_every_bundled_package_has_its_licence() -> None:
    licences = (DESK / "static" / "editor.LICENSES.txt").read_text(encoding="utf-8")
    listed = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
    for name, version in listed["dependencies"].items():
        assert f"\n{name} {version} (MIT)\n" in licences
    assert licences.count("Permission is hereby granted") == licences.count(" (MIT)\n")


def test_no_text_becomes_code() -> None:
    assert not re.search(r"new Function|\beval\(|\bimport\(", BUNDLE.read_text(encoding="utf-8"))
