"""What `pip install` brings: a typed wheel with every file of the packages, of one version."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FIND = PROJECT["tool"]["setuptools"]["packages"]["find"]
PACKAGES = [pattern.rstrip("*") for pattern in FIND["include"]]
LEFT_OUT = tuple(f"{pattern.rstrip('*').replace('.', '/')}/" for pattern in FIND["exclude"])
"""Sources of what is committed in its built form, and the data of the examples."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files in a wheel that is built from a copy of the sources."""
    sources, target = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package,
            sources / package,
            ignore=shutil.ignore_patterns("__pycache__", "node_modules"),
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
        for folder, _, names in os.walk(ROOT / package, followlinks=True)
        for file in (Path(folder, name) for name in names)
        if "__pycache__" not in file.parts
    }
    assert len(files) > 600  # links are followed
    assert {file for file in files - wheel if not file.startswith(LEFT_OUT)} == set()


def test_what_is_left_out_is_there_and_not_in_the_wheel(wheel: set[str]) -> None:
    assert {file for file in wheel if file.startswith(LEFT_OUT)} == set()
    assert all((ROOT / folder).is_dir() for folder in LEFT_OUT)


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_says_that_it_is_typed(wheel: set[str], package: str) -> None:
    assert f"{package}/py.typed" in wheel


def test_changelog_images_and_package_are_of_one_version() -> None:
    version = PROJECT["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", changelog, re.MULTILINE)
    assert newest is not None
    tags = {
        tag
        for file in (ROOT / "deploy").rglob("*")
        if file.suffix in (".md", ".yaml") or file.name == "Dockerfile"
        for tag in re.findall(r"(?:hallmark:|VERSION=)(\d[\w.]*\d)", file.read_text("utf-8"))
    }
    assert {newest[1], *tags} == {version}
