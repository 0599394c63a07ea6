"""The digest of the code covers every file that is installed, wherever the package lies."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hallmark.tasks.installation.code import code_digest, digest_of, files_of

ROOT = Path(__file__).parents[3]
FOLDERS = ("flows", "tasks", "mechanisms", "schemas")
LISTED = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "hallmark", *FOLDERS)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as an installation has it: no folder of it is a link."""
    package = tmp_path_factory.mktemp("installed") / "hallmark"
    ignore = shutil.ignore_patterns("__pycache__", "node_modules")
    shutil.copytree(ROOT / "hallmark", package, ignore=ignore)
    return package


def test_every_file_of_the_package_is_digested() -> None:
    listed = subprocess.check_output(LISTED, cwd=ROOT, text=True).splitlines()
    files = {ROOT / file for file in listed if not (ROOT / file).is_symlink()}
    digested = {path.resolve() for path in files_of(ROOT / "hallmark")}
    fetched = {path for path in digested if "node_modules" in path.parts}  # by `make editor`
    assert digested - fetched == {path for path in files if path.exists()}
    assert len(digested) > 500


def test_a_checkout_and_an_installation_have_one_digest(copied: Path) -> None:
    assert digest_of(copied) == digest_of(ROOT / "hallmark") == code_digest()


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_change_in_any_folder_is_another_digest(copied: Path, folder: str) -> None:
    before = digest_of(copied)
    with (copied / folder / "__init__.py").open("a") as file:
        file.write("# changed\n")
    assert digest_of(copied) != before


LOAD = """
import sys
from os.path import realpath
import deploy.registration, hallmark.flows.cli.app, hallmark.tasks.validate
files = [realpath(m.__file__) for m in list(sys.modules.values()) if getattr(m, "__file__", None)]
ours = [file for file in files if file.startswith(sys.argv[1]) and "site-packages" not in file]
print(len(ours), len(ours) - len(set(ours)))
"""


def test_no_module_is_loaded_under_two_names() -> None:
    command = [sys.executable, "-c", LOAD, str(ROOT)]
    loaded, twice = subprocess.check_output(command, cwd=ROOT, text=True).split()
    assert int(loaded) > 100
    assert int(twice) == 0
