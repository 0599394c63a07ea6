"""The sound spec `wages.yaml`: edited, loaded, or refused."""

from pathlib import Path

import pytest

from hallmark.schemas.loading import SpecError, load_spec
from hallmark.schemas.release_spec import ReleaseSpec

FILE = Path(__file__).parents[1] / "schemas/wages.yaml"
WAGES = FILE.read_text(encoding="utf-8")


def edited(*edits: tuple[str, str], text: str = WAGES) -> str:
    """The text with something new for something old, which must be in it once."""
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def written(folder: Path, text: str | bytes) -> Path:
    file = folder / "spec.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def load(folder: Path, text: str) -> ReleaseSpec:
    return load_spec(written(folder, text))


def problems(file: Path) -> list[str]:
    """All that is wrong with a spec, as `line: key: what`."""
    with pytest.raises(SpecError) as caught:
        load_spec(file)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return [problem.removeprefix(f"{file}:").lstrip() for problem in caught.value.problems]
