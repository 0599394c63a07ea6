"""Replicate weights of a whole release: files, software for surveys, resuming, and checks."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hallmark
from hallmark.mechanisms.replicates.estimates import from_replicates
from hallmark.schemas.documents.data_dictionary import DataDictionary, DictionaryReplicates
from hallmark.tasks import replicate as stage
from hallmark.tasks.generate import SyntheticFile
from hallmark.tasks.output.replicates import column_names, replicate_faults
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.requested import PlanRefused
from hallmark.tasks.rendering.survey import survey_scripts
from hallmark.tasks.verification.verify import verify_release
from tests import example
from tests.tasks.released import Released, released

NUMBER = 20
DETAIL = 10  # own cells of a cell of income


@pytest.fixture(scope="module")
def survey_of_r() -> None:
    """Starting R takes a second: only for tests that use it."""
    asked = ["Rscript", "-e", "library(survey)"]
    if shutil.which("Rscript") is None or subprocess.run(asked, capture_output=True).returncode:
        pytest.skip("R or its package survey is not installed")


@pytest.fixture(scope="module")
def done(prefect: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Released]:
    output = {
        "formats": ["csv", "parquet"],
        "rows": 200,  # of 300 private records
        "columns": ["region", "age", "income", "employed"],
        "replicates": {"number": NUMBER},
    }
    columns = example.spec(Path("table.csv"))["columns"]
    columns["income"] |= {"detail": DETAIL}
    folder = tmp_path_factory.mktemp("replicates")
    with released(folder, output=output, columns=columns) as one:
        yield one


@pytest.fixture(scope="module")
def weights(done: Released) -> pd.DataFrame:
    return pd.read_parquet(done.folder / "replicates.parquet")


@pytest.fixture
def dictionary(done: Released) -> DataDictionary:
    return DataDictionary.model_validate_json((done.folder / "data-dictionary.json").read_text())


def test_files_hold_a_row_for_every_record_and_the_same_weights(
    done: Released, weights: pd.DataFrame
) -> None:
    assert list(weights.columns) == column_names(NUMBER)
    assert len(weights) == len(pd.read_csv(done.folder / "data.csv")) == 200
    pd.testing.assert_frame_equal(weights, pd.read_csv(done.folder / "replicates.csv"))
    assert (weights["weight"] == 1.5).all()
    assert (weights.to_numpy() >= 0).all()
    assert weights.sum().to_numpy() == pytest.approx(np.full(1 + 2 * NUMBER, 300.0), abs=0.2)


def test_sampling_adds_to_the_noise(done: Released, weights: pd.DataFrame) -> None:
    """The second set repeats the first and multiplies it, so nearly every statistic varies more."""
    age = pd.read_csv(done.folder / "data.csv")["age"].to_numpy()

    def deviation(prefix: str) -> float:
        means = [np.average(age, weights=weights[f"{prefix}{r}"]) for r in range(1, NUMBER + 1)]
        return float(np.sqrt(np.mean((np.array(means) - age.mean()) ** 2)))

    assert deviation("replicate_") > 0
    sampled = (weights.filter(like="sampled_").to_numpy() - 1.5).std()
    assert sampled > (weights.filter(like="replicate_").to_numpy() - 1.5).std()


def test_the_release_verifies_and_says_what_the_weights_are(
    done: Released, dictionary: DataDictionary
) -> None:
    found = verify_release(done.folder)
    assert found.ok, found.to_json()
    assert "replicate weights" in {check.name for check in found.checks}
    told = dictionary.replicates
    assert told == DictionaryReplicates.of(NUMBER, ("replicates.parquet", "replicates.csv"))
    record = json.loads((done.folder / "audit-report.json").read_text())
    steps = [one["step"] for one in record["post_processing"]["steps"]]
    assert any(step.startswith("replicate weights") for step in steps)
    assert "`replicates.csv`" in (done.folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda frame: frame.iloc[:-1], "has 199 rows, but the dictionary says 200"),
        (lambda frame: frame.drop(columns="sampled_20"), "its columns are not those"),
        (lambda frame: frame.assign(replicate_3=-1.0), "weights that are not numbers from 0 up"),
        (lambda frame: frame.assign(weight=range(200)), "has different weights"),
        (lambda frame: frame.assign(replicate_3=1.0), "the files hold different weights"),
        (lambda frame: frame[column_names(19)], "has not 20 replicates"),
    ],
)
def test_wrong_weights_are_found(
    change, fault: str, done: Released, dictionary: DataDictionary, tmp_path: Path
) -> None:
    for name in ("replicates.parquet", "replicates.csv"):
        shutil.copy(done.folder / name, tmp_path)
    assert list(replicate_faults(tmp_path, dictionary)) == []
    change(pd.read_parquet(tmp_path / "replicates.parquet")).to_parquet(
        tmp_path / "replicates.parquet", index=False
    )
    assert any(fault in told for told in replicate_faults(tmp_path, dictionary))


def test_a_rerun_is_kept_and_needs_no_private_table(
    done: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = Path(done.prepared.spec.data.source)
    aside = private.rename(private.with_suffix(".aside"))
    try:
        synthetic = SyntheticFile(done.workspace.path / "synthetic.npy")
        job = stage._Job(done.prepared, synthetic, 300, done.workspace)
        job.checkpoint(1)._path.unlink()
        (first,) = stage._rerun_block(job, [1])

        def never(*_: object) -> None:
            raise AssertionError("what was kept is run again")

        monkeypatch.setattr(stage.Rerunning, "rerun", never)
        (again,) = stage._rerun_block(job, [1])
        np.testing.assert_array_equal(first.tables, again.tables)
        other = done.prepared.spec.output.model_copy(update={"columns": ("age", "income")})
        spec = done.prepared.spec.model_copy(update={"output": other})
        changed = type(done.prepared)(**{**vars(done.prepared), "spec": spec})
        of_other_columns = stage._Job(changed, synthetic, 300, done.workspace)
        with pytest.raises(AssertionError, match="run again"):
            stage._rerun_block(of_other_columns, [1])
    finally:
        aside.rename(private)


def test_a_release_is_asked_with_its_weights(done: Released, weights: pd.DataFrame) -> None:
    """What no noisy table tells is the records' answer, with the interval that anybody computes."""
    release = hallmark.open(done.folder)
    data = pd.read_csv(done.folder / "data.csv", dtype={"region": "str"})
    question = "share of employed = true where region = '01' and age >= 50"
    found = release.query(question)
    assert found["basis"].tolist() == ["replicates"]
    among = (data["region"] == "01") & (data["age"] >= 50)
    held = among & (data["employed"] == 1)
    shares = weights[held].sum() / weights[among].sum()
    again = shares.filter(like="replicate_").to_numpy()
    expected = from_replicates(float(shares["weight"]), again, 0.95)
    row = found.iloc[0]
    assert row["estimate"] == pytest.approx(expected.estimate)
    assert row["deviation"] == pytest.approx(expected.deviation)
    assert row["low"] == pytest.approx(max(0, expected.low))
    assert row["high"] == pytest.approx(min(1, expected.high))

    share = release.with_error(lambda w: w[held].sum() / w[among].sum())
    assert share.low == pytest.approx(expected.low)
    sampled = from_replicates(
        float(shares["weight"]), shares.filter(like="sampled_").to_numpy(), 0.95
    )
    with_sampling = release.with_error(lambda w: w[held].sum() / w[among].sum(), sampling=True)
    assert with_sampling.high == pytest.approx(sampled.high)


def test_records_with_weights_answer_alone_where_no_table_is_published(
    done: Released, tmp_path: Path
) -> None:
    folder = shutil.copytree(done.folder, tmp_path / "without")
    (folder / "measurements.parquet").unlink()
    # By a column of two large groups: a small region may have no record, and so no interval.
    found = hallmark.open(folder).query("mean of age by employed")
    assert set(found["basis"]) == {"replicates"}
    told = hallmark.open(done.folder).query("mean of age by employed")
    assert set(told["basis"]) == {"exact"}
    assert found["estimate"].tolist() == told["of_records"].tolist()


def test_what_the_certificate_promises_of_the_records_is_told_beside_the_interval(
    done: Released,
) -> None:
    release = hallmark.open(done.folder)

    def promised(question: str) -> list[str]:
        return [n for n in release.query(question).attrs["notes"] if n.startswith("certificate")]

    (of_mean,) = promised("mean of age")
    assert "the mean of age in the records differs" in of_mean
    assert "years" in of_mean
    certificate = json.loads((done.folder / "certificate.json").read_text())
    (bound,) = (one for one in certificate["bounds"] if one["target"] == "region")
    (of_share,) = promised("share of region = '01'")
    assert f"at most {bound['value']:.3g}, and all" in of_share
    for unbounded in ("mean of income", "mean of age by region", "share of age < 50", "count"):
        assert promised(unbounded) == []


def test_a_group_without_a_record_gets_no_interval(done: Released) -> None:
    """No weight can say how many records such a group may truly have."""
    found = hallmark.open(done.folder).query("count where age < 10 and income >= 300 by region")
    empty = found[found["estimate"] == 0]
    assert len(empty)
    assert set(empty["basis"]) == {"records"}
    assert empty["low"].isna().all()


def test_an_answer_that_rests_on_few_records_says_so(done: Released) -> None:
    data = pd.read_csv(done.folder / "data.csv", dtype={"region": "str"})
    earning = data[data["income"].notna()]
    age, region, number = next(
        (age, region, number)
        for age in range(90, 0, -10)
        for region in ("01", "02", "07")
        if 0 < (number := int(((earning["age"] >= age) & (earning["region"] == region)).sum())) < 30
    )
    question = f"mean of income where age >= {age} and region = '{region}'"
    found = hallmark.open(done.folder).query(question)
    told = f"1 of 1 answers rest on fewer than 30 synthetic records, one of them on {number}"
    assert told in found.attrs["notes"]
    many = hallmark.open(done.folder).query("mean of income where age >= 20 and region = '01'")
    assert not any("rest on fewer" in note for note in many.attrs["notes"])


def python(folder: Path, ask: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", f"import json, survey; print(json.dumps({ask}))"],
        cwd=folder, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


MEAN_AGE = "lambda data, weight: (data['age'] * weight).sum() / weight.sum()"


@pytest.mark.parametrize("sampling", [False, True])
def test_the_script_for_python_gives_our_deviations(sampling: bool, done: Released) -> None:
    data = pd.read_csv(done.folder / "data.csv")
    ours = hallmark.open(done.folder).with_error(
        lambda w: np.average(data["age"], weights=w), sampling=sampling
    )
    found = python(done.folder, f"survey.with_error({MEAN_AGE}, sampling={sampling})")
    assert found["estimate"] == pytest.approx(ours.estimate, rel=1e-9)
    assert found["standard_error"] == pytest.approx(ours.deviation, rel=1e-9)


@pytest.mark.usefixtures("survey_of_r")
@pytest.mark.service
@pytest.mark.parametrize("design", ["noise", "sampling"])
def test_r_gives_our_deviations_of_means_and_regressions(design: str, done: Released) -> None:
    ask = (
        'source("survey.R", chdir = TRUE); options(digits = 15); '
        f"m <- svymean(~age, {design}); "
        f"r <- svyglm(age ~ employed, {design}); "
        "cat(coef(m), SE(m), coef(r), SE(r))"
    )
    ran = subprocess.run(
        ["Rscript", "--vanilla", "-e", ask], cwd=done.folder, capture_output=True, text=True,
        timeout=120, env=os.environ | {"LC_ALL": "C"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    mean, of_mean, constant, slope, of_constant, of_slope = map(float, ran.stdout.split())
    data = pd.read_csv(done.folder / "data.csv")
    release, sampling = hallmark.open(done.folder), design == "sampling"
    ours = release.with_error(lambda w: np.average(data["age"], weights=w), sampling=sampling)
    assert (mean, of_mean) == pytest.approx((ours.estimate, ours.deviation), rel=1e-8)
    columns = np.column_stack([np.ones(len(data)), data["employed"]])

    def coefficient(number: int, w: np.ndarray) -> float:
        weighted = columns * w[:, None]
        return float(np.linalg.solve(weighted.T @ columns, weighted.T @ data["age"])[number])

    for number, told in enumerate([(constant, of_constant), (slope, of_slope)]):
        ours = release.with_error(lambda w, n=number: coefficient(n, w), sampling=sampling)
        assert told == pytest.approx((ours.estimate, ours.deviation), rel=1e-7)


@pytest.mark.parametrize(("prefix", "sampling"), [("replicate_", False), ("sampled_", True)])
def test_a_package_for_surveys_gives_our_deviations(
    prefix: str, sampling: bool, done: Released
) -> None:
    polars, svy = pytest.importorskip("polars"), pytest.importorskip("svy")
    files = [polars.read_csv(done.folder / name) for name in ("data.csv", "replicates.csv")]
    design = svy.Design(wgt="weight", rep_wgts=svy.BrrWgts(prefix=prefix, n_reps=NUMBER, df=NUMBER))
    sample = svy.Sample(data=polars.concat(files, how="horizontal"), design=design)
    found = sample.estimation.mean(y="age", method="replication", variance_center="estimate")
    data = pd.read_csv(done.folder / "data.csv")
    ours = hallmark.open(done.folder).with_error(
        lambda w: np.average(data["age"], weights=w), sampling=sampling
    )
    row = found.to_polars().row(0, named=True)
    assert (row["est"], row["se"]) == pytest.approx((ours.estimate, ours.deviation), rel=1e-8)
    assert (row["lci"], row["uci"]) == pytest.approx((ours.low, ours.high), rel=1e-8)


@pytest.mark.parametrize(
    ("output", "mechanism", "fault"),
    [
        ({"columns": ["age"]}, "privpgd", "at least two columns must be published"),
        ({"rows": 200_000_000}, "privpgd", "200,000,000 records of 5 columns are too many"),
        ({}, "aim", "aim does not measure age x income for certain.*measure all pairs"),
        ({}, "mst", "mst does not measure"),
    ],
)
def test_weights_that_cannot_be_made_or_trusted_are_refused_before_anything_is_spent(
    output: dict[str, object], mechanism: str, fault: str, tmp_path: Path
) -> None:
    spec = example.write(
        tmp_path, 10, output={"formats": ["csv"], "replicates": {"number": 20}, **output},
        constraints=[], mechanism={"name": mechanism},
    )  # fmt: skip
    with pytest.raises(PlanRefused, match=fault):
        prepare(spec)


def test_weights_are_refused_where_they_did_not_hold(tmp_path: Path) -> None:
    output = {"formats": ["csv"], "replicates": {"number": 20}}
    pure = {"neighbours": "replace_one", "unit": "record", "epsilon": "1"}
    spec = example.write(
        tmp_path, 10, output=output, constraints=[], privacy=pure, mechanism={"name": "pmm"}
    )
    with pytest.raises(PlanRefused, match="records by pmm did not hold in trials"):
        prepare(spec)
    private = {"columns": {"income": 4}, "share": "1/10"}
    with pytest.raises(PlanRefused, match="does not measure age x income for certain"):
        prepare(example.write(tmp_path, 10, output=output, constraints=[], binning=private))


def test_scripts_are_for_what_can_read_the_files(dictionary: DataDictionary) -> None:
    assert set(survey_scripts(dictionary)) == {"survey.py", "survey.R", "survey.do", "survey.sas"}
    parquet = DictionaryReplicates.of(NUMBER, ("replicates.parquet",))
    alone = dictionary.model_copy(update={"replicates": parquet})
    scripts = survey_scripts(alone)
    assert set(scripts) == {"survey.py", "survey.R"}
    assert "arrow::read_parquet" in scripts["survey.R"]
    assert survey_scripts(dictionary.model_copy(update={"replicates": None})) == {}


def test_a_column_called_weight_keeps_its_name_in_stata_and_sas(
    dictionary: DataDictionary,
) -> None:
    named = dictionary.columns[1].model_copy(update={"name": "Weight"})
    scripts = survey_scripts(dictionary.model_copy(update={"columns": (named,)}))
    assert "rename weight record_weight" in scripts["survey.do"]
    assert "[pweight = record_weight]" in scripts["survey.do"]
    assert "weight record_weight;" in scripts["survey.sas"]
