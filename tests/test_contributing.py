"""The worked example of CONTRIBUTING, added to a copy of the code as the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## How to add")[2]
STEPS = re.split(r"^### \d+\. [^`\n]*`([^`\n]+)`$", PAGE, flags=re.MULTILINE)[1:]
CHANGES = {
    file: re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    for file, text in zip(STEPS[::2], STEPS[1::2], strict=True)
}
"""For each file of the example, its blocks: language and text."""
COMMANDS = re.findall(r"^\.venv/bin/python -m (\S+)$", PAGE, re.MULTILINE)
"""Modules that bring up to date what is written from the catalogue, ..."""
WRITTEN = ("README.md", "schemas/release-spec.schema.json", "docs/spec-reference.md")
"""... which is in these files."""
REFRESH_AND_LOAD = """
import runpy
import sys
from pathlib import Path
from hallmark.schemas.loading import load_spec

for module in sys.argv[1:]:
    runpy.run_module(module, run_name="__main__")
spec = Path("spec.yaml")
text = Path("schemas/examples/psmm.yaml").read_text()
spec.write_text(text.replace("psmm", "independent"))
assert load_spec(spec).mechanism.name == "independent"
"""


def copy(source: Path, target: Path, changed: set[Path]) -> None:
    """Copy a folder: by links, except for files that will be changed and the folders above them."""
    target.mkdir()
    for entry in source.iterdir():
        if entry.is_symlink():
            (target / entry.name).symlink_to(entry.readlink())
        elif entry in changed:
            (target / entry.name).write_bytes(entry.read_bytes())
        elif any(entry in file.parents for file in changed):
            copy(entry, target / entry.name, changed)
        elif not entry.name.startswith("."):
            (target / entry.name).symlink_to(entry)


def with_block(before: str, block: str) -> str:
    """The text with the lines that a block adds (+) next to a line that is there."""
    lines = block.splitlines(keepends=True)
    there = "".join(line[1:] for line in lines if not line.startswith("+"))
    assert there in before
    return before.replace(there, "".join(line[1:] for line in lines), 1)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the example in it."""
    project = tmp_path_factory.mktemp("contributing") / "project"
    package = "hallmark/__init__.py"  # beside links to the folders, which stay within the copy
    copy(ROOT, project, {ROOT / file for file in (*CHANGES, *WRITTEN, package)})
    for file, blocks in CHANGES.items():
        path = project / file
        path.parent.mkdir(exist_ok=True)
        for language, block in blocks:
            text = with_block(path.read_text("utf-8"), block) if language == "diff" else block
            path.write_text(text, encoding="utf-8")
    return project


def run(project: Path, *command: str) -> str:
    """The output of a command of Python that is run in the project, and succeeds."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_eight_files_are_enough_besides_those_that_are_written() -> None:
    assert 0 < len(CHANGES) <= 8
    assert "at most eight files" in PAGE
    assert all(f"`{file}`" in PAGE for file in WRITTEN)


def test_the_example_passes_what_every_mechanism_has_to_pass(project: Path) -> None:
    run(project, "-c", REFRESH_AND_LOAD, *COMMANDS)
    assert all("`independent`" in (project / file).read_text("utf-8") for file in WRITTEN[::2])
    assert '"independent"' in (project / WRITTEN[1]).read_text("utf-8")
    names = ("wasserstein/independent", "test_contract.py", "test_catalogue.py")
    tests = [f"tests/mechanisms/{name}" for name in names]
    passed = run(project, "-m", "pytest", *tests, "-k", "independent or catalogue", "-rA")
    assert passed.count("PASSED") > 10


def test_the_example_is_written_as_code_is_here(project: Path) -> None:
    files = [file for file in CHANGES if file.endswith(".py")]
    run(project, "-m", "ruff", "check", *files)
    run(project, "-m", "ruff", "format", "--check", *files)
