"""Whole releases by the marginal mechanisms: every selection with every generator, with rules."""

import json
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from hallmark.mechanisms import batches
from hallmark.mechanisms.marginals.generators.graphical.model import GraphicalModel
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.manifest import CERTIFICATE_FILE
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.publish import Published
from tests import example
from tests.flows.conftest import Killed
from tests.flows.runs import release, sound, spent

ROWS = 400
BUDGET = (Fraction(1), Fraction(1, 100_000))
SELECTIONS: dict[str, dict[str, Any]] = {
    "all": {"method": "all"},
    "workload": {
        "method": "all",
        "workload": [
            {"columns": ["age", "income", "region"], "weight": 2},
            {"columns": ["age", "employed"]},
        ],
    },
    "mst": {"method": "mst"},
    "aim": {"method": "aim", "rounds_cap": 4},
    "mwem": {"method": "mwem", "rounds": 3},
}
GENERATORS: dict[str, dict[str, Any]] = {
    "noise-aware": {"method": "noise-aware", "latent": {"members": 2, "classes": 10}},
    "graphical-model": {"method": "graphical-model", "sweeps": 5},
    "particles": {
        "method": "particles",
        "particles": 300,
        "projection": {"iterations": 8, "directions": 8, "bank": 16},
        "descent": {"epochs": 4},
        "draft_iterations": 4,
        "draft_epochs": 2,
    },
    "private-gsd": {"method": "private-gsd", "rows": 200, "generations": 300},
}
RULES = [
    {"rule": "age < 10 => income is null", "source": "tests"},
    {"rule": "income is null <=> employed = false", "source": "tests"},
]

pytestmark = pytest.mark.usefixtures("prefect", "home")


def joined(selection: str, generator: str) -> dict[str, Any]:
    """A mechanism of the two, by their names above."""
    return {
        "name": "privpgd",
        "selection": SELECTIONS[selection],
        "generator": GENERATORS[generator],
    }


def certified(published: Published) -> dict[str, Any]:
    """The record of a sound release that spent its budget, keeps its rules and has its bounds."""
    record = sound(published)
    assert spent() == BUDGET
    assert all(check["held"] for check in record["post_processing"]["constraints"])
    certificate = json.loads((Path(published.folder) / CERTIFICATE_FILE).read_text())
    assert len(certificate["bounds"]) == 5
    assert all(0 < bound["value"] <= 1 for bound in certificate["bounds"])
    return record


@pytest.mark.parametrize(
    ("selection", "generator"),
    [
        pair if pair == ("aim", "particles") else pytest.param(*pair, marks=pytest.mark.slow)
        for pair in product(SELECTIONS, GENERATORS)
    ],
)
def test_any_selection_goes_with_any_generator(
    selection: str, generator: str, tmp_path: Path
) -> None:
    mechanism = joined(selection, generator)
    example.open_account()
    spec = example.write(tmp_path, ROWS, mechanism=mechanism, constraints=RULES)
    record = certified(release(spec))
    method = record["mechanism"]["parameters"]
    assert method["generator"]["method"] == generator
    kinds = {event["event"] for event in record["mechanism"]["events"]}
    assert ("exponential_mechanism" in kinds) == (selection in ("mst", "aim", "mwem"))


@pytest.mark.parametrize(
    ("selection", "generator"),
    [("all", "noise-aware"), pytest.param("mst", "particles", marks=pytest.mark.slow)],
)
def test_a_large_table_is_made_in_batches_and_is_as_sound(
    selection: str, generator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "ENTRIES", 5 * 150)  # records of five columns
    mechanism = joined(selection, generator)
    example.open_account()
    spec = example.write(tmp_path, ROWS, mechanism=mechanism, constraints=RULES)
    record = certified(release(spec))
    assert record["utility"]["rows"] == ROWS
    folder = tmp_path / "out/test-release"
    assert len(pd.read_csv(folder / "data.csv")) == ROWS
    assert pq.ParquetFile(folder / "data.parquet").num_row_groups == 3


@pytest.mark.parametrize("name", ["aim", "mst", "mwem", "private-gsd", "privpgd-paper"])
def test_the_peers_are_mechanisms_of_their_own_name(name: str, tmp_path: Path) -> None:
    mechanism: dict[str, Any] = {"name": name}
    if name in ("mwem", "privpgd-paper"):
        mechanism["generator"] = GENERATORS["particles"]
    if name == "private-gsd":
        mechanism["generator"] = {"rows": 200, "generations": 300}
    assert prepare(example.write(tmp_path, ROWS, mechanism=mechanism)).plan.mechanism == name


def test_a_release_leans_on_a_public_table_and_says_how_far(tmp_path: Path) -> None:
    example.table(300, seed=8).to_csv(tmp_path / "public.csv", index=False, na_rep="NA")
    public = {"source": "public.csv", "null_markers": ["NA"], "reference": "a yearbook"}
    example.open_account()
    mechanism = joined("all", "noise-aware")
    record = certified(
        release(example.write(tmp_path, ROWS, mechanism=mechanism, public_data=public))
    )
    (leaned,) = (s for s in record["post_processing"]["steps"] if "leaned" in s["step"])
    assert leaned["step"].endswith("a yearbook")
    assert re.fullmatch(
        r"on average by \d+ % for single columns, \d+ % for tables of several", leaned["effect"]
    )


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (
            {"selection": {"method": "all", "workload": [{"columns": ["age", "incme"]}]}},
            r"mechanism\.selection\.workload\[0\]\.columns: there is no column incme; did you mean",
        ),
        ({"selection": {"ways": 9}}, r"mechanism\.selection\.ways: 9, but there are only 5"),
        (
            {"generator": {"method": "particles", "device": "cuda"}},
            r"mechanism\.generator\.device: .*",
        ),
        (
            {"generator": {"method": "noise-aware", "sweps": 3}},
            r"mechanism\.generator\.sweps: .* did you mean sweeps",
        ),
    ],
)
def test_what_cannot_be_served_is_refused_with_its_key(
    mechanism: dict[str, Any], words: str, tmp_path: Path
) -> None:
    import torch

    if "cuda" in str(mechanism) and torch.cuda.is_available():
        pytest.skip("this machine has what the test asks for in vain")
    spec = example.write(tmp_path, ROWS, mechanism={"name": "privpgd", **mechanism})
    with pytest.raises(PlanRefused, match=words):
        prepare(spec)


def test_what_cannot_be_served_is_refused_before_a_reservation(tmp_path: Path) -> None:
    example.open_account()
    mechanism = {"name": "privpgd", "selection": {"ways": 9}}
    with pytest.raises(PlanRefused, match="but there are only 5"):
        release(example.write(tmp_path, ROWS, mechanism=mechanism))
    assert Ledger(ledger_url()).reservation("test-release") is None


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (["age < 20", "age > 30"], r"constraints\[\d\]"),
        (["income is null"], r"constraints\[0\].*income"),
    ],
)
def test_rules_that_leave_nothing_are_named(rules: list[str], words: str, tmp_path: Path) -> None:
    constraints = [{"rule": rule, "source": "tests"} for rule in rules]
    with pytest.raises(PlanRefused, match=words):
        prepare(example.write(tmp_path, ROWS, constraints=constraints))


@pytest.mark.parametrize(
    ("selection", "calls"),
    [
        ("mwem", 3),
        *(
            pytest.param(*cut, marks=pytest.mark.slow)
            for cut in [("all", 1), ("aim", 3), ("mst", 6)]
        ),
    ],
)
def test_another_generator_can_go_on_with_what_was_drawn(
    selection: str, calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a generator fails after so many calls, no budget is lost with it."""

    def changed(generator: str) -> Path:
        mechanism = joined(selection, generator)
        return example.write(tmp_path, ROWS, mechanism=mechanism, constraints=RULES)

    def fail(*given: Any, **named: Any) -> Any:
        if len(example.charges()) == calls:
            raise Killed("Killed")
        return fit(*given, **named)

    example.open_account()
    spec, fit = changed("graphical-model"), GraphicalModel.fit
    with monkeypatch.context() as patched:
        patched.setattr(GraphicalModel, "fit", fail)
        with pytest.raises(Exception, match="Killed"):
            release(spec)
    first = example.charges()
    assert len(first) == calls
    record = certified(release(changed("noise-aware"), resume=True))
    assert example.charges()[:calls] == first
    assert record["mechanism"]["parameters"]["generator"]["method"] == "noise-aware"
