"""What `pip install` brings: a wheel with every file of the packages, which says it is typed."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = [
    pattern.rstrip("*") for pattern in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files in a wheel that is built from a copy of the sources."""
    sources, target = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, sources / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, sources / file)
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", build, str(target)], cwd=sources, check=True, capture_output=True
    )
    (file,) = target.glob("*.whl")
    with ZipFile(file) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_file_of_the_packages(wheel: set[str]) -> None:
    files = {
        str(file.relative_to(ROOT))
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert files - wheel == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_says_that_it_is_typed(wheel: set[str], package: str) -> None:
    assert f"{package}/py.typed" in wheel
