"""The image holds what its processes need; no container engine is asked."""

import fnmatch
import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect import Flow

from tests.deploy.stacks import DEPLOY, ROOT

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
IGNORED = (DEPLOY / "Dockerfile.dockerignore").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_base_is_pinned_and_the_user_is_a_number():
    assert re.search(r"^ARG PYTHON=python:3\.\d+\.\d+-slim-\w+$", DOCKERFILE, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"${PYTHON}"}
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]


def test_every_package_is_copied():
    included = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {name.rstrip("*") for name in included} <= set(_copied())


def test_what_is_copied_is_there_and_is_sent_to_the_builder():
    for pattern in _copied():
        assert list(ROOT.glob(pattern)), pattern
        assert f"!{pattern}" in IGNORED.splitlines(), pattern


def test_private_things_are_not_sent_to_the_builder():
    allowed = [line[1:] for line in IGNORED.splitlines() if line.startswith("!")]
    assert "*" in IGNORED.splitlines()
    for path in (".git", ".hallmark/ledger.db", "secrets/HALLMARK_LEDGER", "build/rand-hie.csv"):
        assert not any(fnmatch.fnmatch(path, f"{pattern}*") for pattern in allowed), path


def test_torch_comes_without_gpus_and_every_version_from_the_constraints():
    installs = [line for line in DOCKERFILE.splitlines() if line.startswith("RUN pip install")]
    assert "ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu" in DOCKERFILE
    torch, rest, own = installs
    assert torch.endswith('--constraint constraints.txt --index-url "${TORCH_INDEX}" torch')
    assert "--constraint constraints.txt" in rest
    assert "--no-deps" in own  # the code alone


def test_a_directory_that_is_written_lies_on_a_volume():
    written = dict(re.findall(r"(\w+)=(/\S+)", DOCKERFILE.partition("ENV PATH")[2]))
    places = ("HOME", "HALLMARK_HOME", "TMPDIR", "PREFECT_HOME", "NUMBA_CACHE_DIR")
    places += ("PREFECT_SERVER_UI_STATIC_DIRECTORY",)
    for name in places:
        assert written[name].startswith(("/tmp", "/var/lib/hallmark/")), name


def _copied() -> list[str]:
    lines = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    return [source for line in lines for source in line.split()]


def _deployments() -> list[dict[str, Any]]:
    return yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]


@pytest.mark.parametrize("deployment", _deployments(), ids=lambda one: one["entrypoint"])
def test_what_prefect_yaml_offers_is_a_flow(deployment: dict[str, Any]):
    module, _, name = deployment["entrypoint"].rpartition(".")
    assert isinstance(getattr(importlib.import_module(module), name), Flow)
    assert deployment["work_pool"]["name"] == "hallmark"
    assert Path(importlib.import_module(module).__file__ or "").is_relative_to(ROOT)
