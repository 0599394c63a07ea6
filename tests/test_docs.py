"""The documentation's own code runs as printed."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def test_the_notebook_of_the_wasserstein_family_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(
        r"```python\n(.*?)```", (DOCS / "wasserstein.md").read_text(), re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "wasserstein.md", "exec"), {})
    assert 0 < float(capsys.readouterr().out) < 0.05
