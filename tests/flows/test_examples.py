"""All examples plan from a fresh clone, and what is planned is released without any set-up."""

from pathlib import Path

import pytest

from hallmark.flows import examples
from hallmark.schemas.loading import load_spec
from hallmark.tasks.verification import verify_release
from tests import example

SPECS = Path(__file__).parents[2] / "schemas/examples"


LONG = ("certify", "nist-acs-2019", "sparse-lipschitz")  # seconds each to plan


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(file.stem, marks=pytest.mark.slow if file.stem in LONG else ())
        for file in sorted(SPECS.glob("*.yaml"))
    ],
)
def test_an_example_has_a_plan_within_its_budget(name: str) -> None:
    (prepared,) = examples.plan([SPECS / f"{name}.yaml"])
    assert prepared.spec == load_spec(SPECS / f"{name}.yaml")
    assert prepared.plan.budget.epsilon == prepared.spec.privacy.epsilon


def test_records_are_released_before_they_are_certified(
    prefect: None, home: Path, tmp_path: Path
) -> None:
    of_ages = example.only(tmp_path / "release", "age")
    alone = {"mechanism": {"name": "certify"}, "release": "a-certificate", "output": {}}
    specs = [
        example.write(tmp_path / "certificate", **of_ages | alone),
        example.write(tmp_path / "release", **of_ages),
    ]
    planned = examples.plan(specs)
    for earlier in (False, True):  # run again, it draws nothing
        made = examples.release(planned, tmp_path / "out")
        assert [(one.release, one.earlier) for one in made] == [
            ("test-release", earlier),
            ("a-certificate", earlier),
        ]
    assert all(verify_release(Path(one.folder)).ok for one in made)
    assert len(example.charges()) == 2
