"""The command line: every command's happy path, its errors in words, and its exit codes."""

import json
import re
import shutil
import signal
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pytest

from hallmark.flows.cli.exits import ExitCode
from hallmark.mechanisms.privacy.ledger.ledger import Ledger
from hallmark.schemas.documents.manifest import RECORD_FILE, REPORT_FILE
from hallmark.tasks.installation.workspace import ledger_url
from hallmark.tasks.planning.prepare import prepare
from tests import example
from tests.flows.conftest import Done, Hallmark, press_ctrl_c
from tests.flows.runs import spent
from tests.tasks.cut import cut
from tests.tasks.released import Released

OPEN = ("ledger", "open", "test-people", "--epsilon", "2", "--delta", "1e-4", "--reason", "tests")
PROGRAM = Path(sys.executable).with_name("hallmark")
ROWS = 300


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return example.write(tmp_path, ROWS)


def assert_said(done: Done, code: int, *words: str) -> None:
    assert done.code == code, done
    for word in words:
        assert word in done.err, done.err
    assert "Traceback" not in done.err + done.out


# Help and usage


@pytest.mark.parametrize(
    "command",
    [(), ("init",), ("validate",), ("plan",), ("release",), ("verify",), ("report",), ("ledger",),
     ("ledger", "open"), ("ledger", "cap"), ("ledger", "plan"), ("ledger", "list"),
     ("ledger", "show"), ("ledger", "cancel"), ("ledger", "verify"), ("certify",), ("evaluate",),
     ("query",), ("compare",), ("smooth",), ("lag",), ("panel",),
     ("approve",)],
)  # fmt: skip
def test_every_command_explains_itself(command: tuple[str, ...], hallmark: Hallmark) -> None:
    done = hallmark(*command, "--help")
    assert done.code == 0
    assert "Usage: hallmark" in done.out


def test_the_help_names_the_exit_codes(hallmark: Hallmark) -> None:
    said = " ".join(hallmark("--help").out.split())
    for code in ExitCode:
        assert f" {code.value} " in said


@pytest.mark.parametrize("arguments", [("publish",), ("plan",), ("plan", "a", "b"), ("--x",)])
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...], hallmark: Hallmark) -> None:
    assert hallmark(*arguments).code == ExitCode.USAGE


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(
    shell: str, hallmark: Hallmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_HALLMARK_COMPLETE", f"source_{shell}")
    done = hallmark()
    assert done.code == 0
    assert "_HALLMARK_COMPLETE" in done.out


# init


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_header_gives_a_spec_that_asks_for_every_bound(
    suffix: str, hallmark: Hallmark, tmp_path: Path
) -> None:
    table = example.table(5).assign(age=73193)
    (tmp_path / "data").mkdir()
    (tmp_path / "specs").mkdir()
    source = tmp_path / f"data/t.{suffix}"
    table.to_csv(source, index=False) if suffix == "csv" else table.to_parquet(source)
    out = tmp_path / "specs/new.yaml"
    assert hallmark("init", source, "--out", out).code == 0
    text = out.read_text()
    assert f"source: ../data/t.{suffix}" in text
    assert "73193" not in text
    done = hallmark("validate", out)
    marked = [n for n, line in enumerate(text.splitlines(), 1) if ": FILL_IN" in line]
    assert_said(done, ExitCode.USAGE)
    assert len(done.error.splitlines()) == len(marked) > len(table.columns)
    assert all(f"new.yaml:{line}: " in done.error for line in marked)


def test_without_out_the_skeleton_goes_to_the_screen(hallmark: Hallmark, spec: Path) -> None:
    done = hallmark("init", spec.parent / "table.csv")
    assert done.code == 0
    assert "  region:\n" in done.out


def test_a_dictionary_gives_its_bounds(hallmark: Hallmark, tmp_path: Path) -> None:
    dictionary = {"age": {"description": "Age", "values": {"min": 0, "max": 99}}}
    (tmp_path / "d.json").write_text(json.dumps(dictionary))
    out = tmp_path / "new.yaml"
    assert hallmark("init", tmp_path / "d.json", "-o", out).code == 0
    assert "maximum: 99" in out.read_text()
    assert_said(hallmark("validate", out), ExitCode.USAGE, "columns.age.cells: is still FILL_IN")


STUDY = (
    '<codeBook><dataDscr><var name="AGE" intrvl="contin" dcml="0"><labl>Age</labl><valrng>'
    '<range min="0" max="99"/></valrng></var><var name="region"><catgry><catValu>01</catValu>'
    "<labl>north</labl></catgry></var><var name='pay'/></dataDscr></codeBook>"
)


def test_a_codebook_says_what_the_columns_of_a_table_are(
    hallmark: Hallmark, tmp_path: Path
) -> None:
    example.table(5).assign(age=73193).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "study.xml").write_text(STUDY)
    out = tmp_path / "new.yaml"
    done = hallmark("init", tmp_path / "t.csv", "--dictionary", tmp_path / "study.xml", "-o", out)
    assert done.code == 0, done.err
    text = out.read_text()
    for said in (
        "source: t.csv",
        "# study.xml describes columns beside these: pay\ncolumns:\n",
        "  # description, type, whole numbers or not, minimum, maximum: DDI codebook study.xml, ",
        "  age:\n    type: numeric\n    description: Age\n    integer: true\n    minimum: 0\n",
        "      '01': north\n",
        "  # not in study.xml\n  income:\n",
    ):
        assert said in text, said
    assert "73193" not in text
    done = hallmark("validate", out)
    assert_said(done, ExitCode.USAGE, "columns.age.bound_source.kind: is still FILL_IN")
    assert "columns.region.outside: is still FILL_IN" in done.error


def test_a_dictionary_alone_has_the_columns(hallmark: Hallmark, tmp_path: Path) -> None:
    (tmp_path / "study.xml").write_text(STUDY)
    for words in (["--dictionary", tmp_path / "study.xml"], [tmp_path / "study.xml"]):
        done = hallmark("init", *words)
        assert all(f"\n  {name}:\n" in done.out for name in ("AGE", "region", "pay"))
        assert "source: FILL_IN" in done.out


def test_a_dictionary_that_is_the_table_is_refused(hallmark: Hallmark, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("name,label\n73193,1\n")
    done = hallmark("init", table, "--dictionary", table)
    assert_said(done, ExitCode.USAGE, "is a private table; give the dictionary of its columns")
    (tmp_path / "study.xml").write_text(STUDY)
    twice = hallmark("init", tmp_path / "study.xml", "--dictionary", tmp_path / "study.xml")
    assert twice.code == ExitCode.USAGE
    assert "73193" not in done.out + done.err


def test_init_needs_a_table_or_a_dictionary(hallmark: Hallmark) -> None:
    assert_said(hallmark("init"), ExitCode.USAGE, "give a table, a --dictionary, or both")


def test_init_overwrites_nothing(hallmark: Hallmark, spec: Path) -> None:
    before = spec.read_text()
    done = hallmark("init", spec.parent / "table.csv", "--out", spec)
    assert_said(done, ExitCode.USAGE, "exists; give another file")
    assert spec.read_text() == before


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.csv", None, "does not exist"),
        ("t.csv", "1,2\n3,4\n", "does not look like a header"),
        ("t.parquet", "1,2\n3,4\n", "cannot be read as a Parquet file"),
        ("t.json", "[1]", "is not a data dictionary"),
    ],
)
def test_init_refuses_what_has_no_header(
    name: str, content: str | None, says: str, hallmark: Hallmark, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    assert_said(hallmark("init", tmp_path / name), ExitCode.USAGE, says)


def test_init_into_a_folder_that_is_not_there_is_told_in_words(
    hallmark: Hallmark, spec: Path
) -> None:
    done = hallmark("init", spec.parent / "table.csv", "--out", spec.parent / "no/spec.yaml")
    assert_said(done, 1, "no/spec.yaml: No such file or directory")


# validate


def test_a_sound_spec_is_told_with_its_warnings(hallmark: Hallmark, spec: Path) -> None:
    done = hallmark("validate", spec)
    assert done.code == 0
    assert "the spec is complete, with 5 columns" in done.out
    assert "warning: outside: refuse in age" in done.err


def test_data_that_hold_to_the_spec_pass(hallmark: Hallmark, spec: Path) -> None:
    done = hallmark("validate", spec, "--data")
    assert done.code == 0
    assert "internal, do not publish" in done.out


def test_data_that_break_the_spec_exit_with_3_and_show_counts_to_the_steward_alone(
    hallmark: Hallmark, spec: Path
) -> None:
    table = pd.read_csv(spec.parent / "table.csv", dtype=str, keep_default_na=False)
    table.loc[:16, "age"] = "73193"
    table.to_csv(spec.parent / "table.csv", index=False)
    done = hallmark("validate", spec, "--data")
    assert_said(done, ExitCode.DATA, "columns.age: not all rows lie between 0 and 99")
    assert "17" in done.out
    assert "73193" not in done.out + done.err


def test_data_that_will_be_clamped_pass_and_are_counted(hallmark: Hallmark, spec: Path) -> None:
    table = pd.read_csv(spec.parent / "table.csv", dtype=str, keep_default_na=False)
    table.loc[:16, "income"] = "73193"
    table.to_csv(spec.parent / "table.csv", index=False)
    done = hallmark("validate", spec, "--data")
    assert done.code == 0
    (line,) = [line for line in done.out.splitlines() if "at the bounds" in line]
    assert "income" in line
    assert "17" in line
    assert "73193" not in done.out + done.err


@pytest.mark.parametrize(("rows", "code"), [(0, ExitCode.DATA), (1, 0)])
def test_data_of_another_size_are_told_to_the_steward(
    rows: int, code: int, hallmark: Hallmark, spec: Path
) -> None:
    lines = (spec.parent / "table.csv").read_text().splitlines(keepends=True)
    (spec.parent / "table.csv").write_text("".join(lines[: 1 + rows]))
    done = hallmark("validate", spec, "--data")
    assert done.code == code
    assert f"The table has {rows} rows, but the spec expects" in done.out
    assert ("the table has no rows" in done.err) == (rows == 0)


@pytest.mark.parametrize("command", ["validate", "plan", "release"])
def test_a_wrong_spec_exits_with_2_and_its_line(
    command: str, hallmark: Hallmark, spec: Path
) -> None:
    spec.write_text(spec.read_text().replace("cell_width: 10", "cell_widht: 10"))
    assert_said(hallmark(command, spec), ExitCode.USAGE, "did you mean cell_width?", "spec.yaml:")


def test_a_spec_that_is_not_there_is_told(hallmark: Hallmark, tmp_path: Path) -> None:
    assert_said(hallmark("plan", tmp_path / "no.yaml"), ExitCode.USAGE, "there is no such file")


# plan


def test_a_plan_shows_cost_noise_and_forecast_and_ends_with_what_they_are_good_for(
    hallmark: Hallmark, spec: Path
) -> None:
    done = hallmark("plan", spec)
    assert done.code == 0
    for word in ("epsilon 1", "discrete Gaussian", "Forecast", "memory", "account test-people"):
        assert word in done.out
    last = done.out.strip().splitlines()[-1]
    assert last.startswith("verdict")
    assert "good for region, employed" in last


def test_a_plan_tells_at_once_that_there_is_no_account_or_too_little_left(
    hallmark: Hallmark, spec: Path, home: Path
) -> None:
    assert "hallmark ledger open test-people --epsilon CAP" in "".join(
        hallmark("plan", spec, "--json").out
    )
    assert not (home / "ledger.db").exists()  # looking makes none
    hallmark(*OPEN)
    plan = json.loads(hallmark("plan", spec, "--json").out)
    assert plan["left"].endswith("delta 0.0001")
    assert not any("population.account" in warning for warning in plan["warnings"])
    hallmark("ledger", "cap", "test-people", "--epsilon", "0.5", "--reason", "less")
    done = hallmark("plan", spec)
    assert done.code == hallmark("plan", spec, "--json").code == ExitCode.BUDGET
    said = " ".join(done.out.split())
    assert "no budget would be reserved for this release" in said
    assert "verdict" in said  # all the same
    told = hallmark("release", spec)  # what it was not told that it "may" be
    assert told.code == ExitCode.BUDGET
    assert " ".join(told.error.split()).removesuffix(".") in said


def test_a_plan_compares_epsilons(hallmark: Hallmark, spec: Path) -> None:
    found = json.loads(hallmark("plan", spec, "--sweep", "0.2, 2", "--json").out)["sweep"]
    assert [one["epsilon"] for one in found] == ["1/5", "2"]
    assert found[0]["expected_error"] > found[1]["expected_error"]
    assert "At other epsilons" in hallmark("plan", spec, "--sweep", "2").out
    assert_said(hallmark("plan", spec, "--sweep", "1,x"), ExitCode.USAGE, "is not an epsilon")


def test_a_plan_says_whether_needs_are_met_and_solves_for_them(
    hallmark: Hallmark, tmp_path: Path
) -> None:
    pure = example.write(tmp_path, 30, **example.only(tmp_path, "age", "region"))
    said = hallmark("plan", pure, "--need", "count by region within 40", "--solve").out
    assert "whatever the answers are" in said
    assert "is the least that meets 1 of 1 needs" in " ".join(said.split())
    found = json.loads(
        hallmark("plan", pure, "--json", "--solve", "--need", "count by region within 40").out
    )
    (told,) = found["solution"]["needs"]
    assert told["half_width"] <= 40
    assert found["savings"] is None
    both = ("plan", pure, "--need", "count by region within 40", "--solve", "--changes")
    said = " ".join(hallmark(*both).out.split())
    assert "leave out the columns that no need asks about: age" in said
    assert "pays for what no need asks for" in said
    assert_said(hallmark("plan", pure, "--changes"), ExitCode.USAGE, "only read with --solve")
    for need, words in {
        "count by region": "is not a need",
        "count by regoin within 3": "region",
        "count within 1 point": "points are of shares",
        "count within 3 at noon": "is no confidence",
    }.items():
        assert_said(hallmark("plan", pure, "--need", need), ExitCode.USAGE, words)
    assert_said(hallmark("plan", pure, "--solve"), ExitCode.USAGE, "there are no needs")


def test_a_plan_for_programs_is_json(hallmark: Hallmark, spec: Path) -> None:
    plan = json.loads(hallmark("plan", spec, "--json").out)
    assert plan["privacy"]["epsilon"] == "1"
    assert plan["privacy"]["proven_epsilon"][1] <= 1
    assert {line["column"] for line in plan["forecast"]["per_attribute"]} >= {"age", "income"}


_opened: list[str] | None = None


@contextmanager
def files_opened() -> Iterator[list[str]]:
    """Paths of all files that Python opens meanwhile; an audit hook cannot be taken away again."""
    global _opened
    if not hasattr(files_opened, "hooked"):
        sys.addaudithook(_audit)
        files_opened.hooked = True  # type: ignore[attr-defined]  # a mark on the function
    _opened = seen = []
    yield seen
    _opened = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open":
        _opened.append(str(arguments[0]))


def test_a_plan_opens_no_data_file_and_needs_none(hallmark: Hallmark, spec: Path) -> None:
    table = spec.parent / "table.csv"
    with files_opened() as opened:
        shown = hallmark("plan", spec, "--json").out
    assert any(path.endswith("spec.yaml") for path in opened)
    assert not any(path.endswith("table.csv") for path in opened)
    with files_opened() as opened:
        hallmark("validate", spec, "--data")
    assert any(path.endswith("table.csv") for path in opened)
    table.unlink()
    assert hallmark("plan", spec, "--json").out == shown


# ledger


def test_accounts_are_opened_capped_listed_and_verified(hallmark: Hallmark) -> None:
    assert hallmark(*OPEN).code == 0
    assert hallmark(*OPEN, "--if-missing").code == 0
    capped = hallmark("ledger", "cap", "test-people", "--epsilon", "2/3", "--reason", "less")
    assert capped.code == 0
    (state,) = json.loads(hallmark("ledger", "list", "--json").out)
    assert state["cap"] == {"epsilon": "2/3", "delta": "1/10000"}  # delta as it was
    listed = hallmark("ledger", "list").out
    assert "0.666666" in listed
    assert "0.666667" not in listed  # which is more than there is
    shown = hallmark("ledger", "show", "test-people")
    _, opened, capped = re.split(r"(?m)^ +\d  ", shown.out)
    for row, words in (
        (opened, ("open", "ε 2, δ 0.0001", "tests")),
        (capped, ("cap", "ε 0.666666", "less")),
    ):
        assert all(word in row for word in words), row
    assert "the chain is intact," in hallmark("ledger", "verify", "test-people").out


def test_an_empty_ledger_says_how_to_open_an_account(hallmark: Hallmark) -> None:
    done = hallmark("ledger", "list")
    assert done.code == 0
    assert "hallmark ledger open" in done.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("ledger", "show", "nobody"),
        ("ledger", "verify", "nobody"),
        ("ledger", "cap", "nobody", "--epsilon", "1", "--reason", "x"),
        ("ledger", "cancel", "nothing", "--reason", "x"),
    ],
)
def test_what_the_ledger_does_not_know_exits_with_4(
    arguments: tuple[str, ...], hallmark: Hallmark
) -> None:
    done = hallmark(*arguments)
    assert_said(done, ExitCode.BUDGET, "nobody" if "nobody" in arguments else "nothing")


@pytest.mark.parametrize("amount", ["lots", "1/0", "0", "-1"])
def test_an_amount_that_is_none_exits_with_2(amount: str, hallmark: Hallmark) -> None:
    done = hallmark("ledger", "open", "people", f"--epsilon={amount}", "--reason", "x")
    assert_said(done, ExitCode.USAGE, "Invalid value")


def test_an_account_that_no_spec_could_name_is_refused(hallmark: Hallmark) -> None:
    done = hallmark("ledger", "open", "Bad Name", "--epsilon", "1", "--reason", "x")
    assert_said(done, ExitCode.USAGE, "cannot be the population.account of a spec")


def test_opening_an_account_again_with_other_terms_exits_with_4(hallmark: Hallmark) -> None:
    hallmark(*OPEN)
    done = hallmark(*OPEN, "--neighbours", "add_remove")
    assert_said(done, ExitCode.BUDGET, "exists, with cap")


# release, verify, report


def test_a_release_prints_where_it_is_what_it_cost_and_how_to_read_on(
    hallmark: Hallmark, spec: Path, tmp_path: Path
) -> None:
    hallmark(*OPEN)
    done = hallmark("release", spec, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    for word in ("Release", "spent epsilon 1", "Certificate", "hallmark report", "hallmark verify"):
        assert word in done.out
    again = hallmark("release", spec, "--out", tmp_path / "out", "--json")
    published = json.loads(again.out)
    assert published["earlier"]
    assert Path(published["folder"]).is_dir()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)],
)
def test_a_release_stopped_by_ctrl_c_or_sigterm_says_how_to_go_on(
    number: int, code: ExitCode, hallmark: Hallmark, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hallmark(*OPEN)
    stop = partial(press_ctrl_c, number=number)
    monkeypatch.setattr("hallmark.tasks.planning.prepare.prepare", stop)
    handler = signal.getsignal(number)
    done = hallmark("release", spec, "--out", spec.parent / "out")
    assert_said(done, code, "run it again with --resume to continue")
    assert signal.getsignal(number) is handler


def test_a_sigterm_that_a_library_wraps_while_prefect_handles_it_says_the_same(
    hallmark: Hallmark, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.utilities.engine import capture_sigterm

    def fail(*_: object) -> NoReturn:
        with capture_sigterm():
            with suppress(BaseException):
                signal.raise_signal(signal.SIGTERM)
            raise ValueError("as a library wraps it")

    hallmark(*OPEN)
    monkeypatch.setattr("hallmark.tasks.planning.prepare.prepare", fail)
    done = hallmark("release", spec, "--out", spec.parent / "out")
    assert_said(done, ExitCode.TERMINATED, "run it again with --resume to continue")


def test_an_out_that_is_a_file_is_refused_before_anything_is_reserved(
    hallmark: Hallmark, spec: Path
) -> None:
    hallmark(*OPEN)
    done = hallmark("release", spec, "--out", spec)
    assert_said(done, ExitCode.USAGE, "is a file; name a folder")
    assert [entry.kind for entry in Ledger(ledger_url()).entries("test-people")] == ["open"]


def test_a_release_without_an_account_exits_with_4(
    hallmark: Hallmark, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hallmark.flows.quiet.start_orchestrator", press_ctrl_c)  # is not come to
    done = hallmark("release", spec, "--out", spec.parent / "out", "--json")
    assert_said(done, ExitCode.BUDGET, "hallmark ledger open test-people --epsilon CAP")
    assert "--neighbours replace_one --max-records 1" in done.error
    assert done.out == ""


def test_a_release_beyond_the_cap_exits_with_4_and_reserves_nothing(
    hallmark: Hallmark, spec: Path
) -> None:
    hallmark(*OPEN)
    hallmark("ledger", "cap", "test-people", "--epsilon", "0.5", "--delta", "1e-4", "--reason", "x")
    assert_said(hallmark("release", spec, "--out", spec.parent / "out"), ExitCode.BUDGET)
    state = Ledger(ledger_url()).account("test-people")
    assert (state.spent, state.reserved) == ((0, 0), (0, 0))


def outcomes() -> list[tuple[str, bytes]]:
    """What was drawn for the release: every call and its logged outcome."""
    book = Ledger(ledger_url())
    drawn = book.calls("test-release")
    return [(one.call, book.lookup("test-release", one.call, one.request) or b"") for one in drawn]


def test_a_rule_that_blocks_exits_with_5_and_a_relaxed_one_resumes_without_a_new_draw(
    hallmark: Hallmark, tmp_path: Path
) -> None:
    hallmark(*OPEN)
    # One income for a region cannot equal all ages there, so one of these rules must be broken.
    given = {"rule": "region determines income", "source": "tests"}
    rule = {"rule": "income = age", "source": "tests"}
    spec = example.write(tmp_path, ROWS, constraints=[given, rule])
    release = ("release", spec, "--out", tmp_path / "out")
    assert_said(hallmark(*release), ExitCode.CHECK, "income = age", "block the publication")
    drawn = outcomes()
    assert drawn
    assert_said(hallmark(*release), ExitCode.USAGE, "--resume")
    columns = example.spec(tmp_path / "table.csv")["columns"]
    columns["age"] = {**columns["age"], "cell_width": 5}  # another question to the data
    example.write(tmp_path, ROWS, columns=columns)
    assert_said(hallmark(*release, "--resume"), ExitCode.BUDGET, "another plan")
    example.write(tmp_path, ROWS, constraints=[given, {**rule, "if_broken": "report"}])
    assert hallmark(*release, "--resume").code == 0
    assert hallmark("verify", tmp_path / "out" / "test-release").code == 0
    assert outcomes() == drawn
    assert spent() == (1, Fraction(1, 10**5))


def test_a_release_verifies(hallmark: Hallmark, example_release: Released) -> None:
    done = hallmark("verify", example_release.folder)
    assert done.code == 0
    assert "The release is what it claims." in done.out
    told = json.loads(hallmark("verify", example_release.folder, "--json").out)
    assert told["ok"]
    assert len(told["checks"]) > 5


def test_a_changed_release_and_one_that_is_gone_exit_with_6(
    hallmark: Hallmark, example_release: Released, tmp_path: Path
) -> None:
    copy = shutil.copytree(example_release.folder, tmp_path / "copy")
    data = copy / "data.csv"
    data.write_bytes(data.read_bytes().replace(b"0", b"1", 1))
    done = hallmark("verify", copy)
    assert done.code == ExitCode.VERIFICATION
    assert "Do not use this release." in done.out
    shutil.rmtree(copy)
    done = hallmark("verify", copy, "--json")
    assert done.code == ExitCode.VERIFICATION
    assert not json.loads(done.out)["ok"]


def test_a_release_tells_of_a_ledger_that_was_cut_off_where_no_anchors_are_left(
    hallmark: Hallmark, example_release: Released, home: Path, tmp_path: Path
) -> None:
    folder, made_in = example_release.folder, example_release.workspace.path.parents[1]
    home.mkdir(exist_ok=True)
    shutil.copy(made_in / "ledger.db", home / "ledger.db")
    ask = ("ledger", "verify", "test-people", "--anchor", folder)
    told = hallmark(*ask)
    assert told.code == 0, told
    assert "release test-release in " in told.out
    assert "signed by the enclosed key" in told.out
    cut(ledger_url(), 1)
    alone = hallmark("ledger", "verify", "test-people")
    assert alone.code == 0
    assert "entries were cut off at its end." in alone.out
    assert_said(hallmark(*ask), ExitCode.BUDGET, "ends at entry 1, and lacks entry ")
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "manifest.sig").write_text("AAAA")
    done = hallmark(*ask, "--anchor", tmp_path / "copy" / "manifest.json")
    assert_said(done, ExitCode.USAGE, "cannot be relied on")


def test_a_report_is_rendered_again_byte_for_byte(
    hallmark: Hallmark, example_release: Released, tmp_path: Path
) -> None:
    done = hallmark("report", example_release.folder, "--render", tmp_path / "again.html")
    assert done.code == 0
    assert (tmp_path / "again.html").read_bytes() == (
        example_release.folder / REPORT_FILE
    ).read_bytes()


def test_a_report_is_opened_in_the_browser(
    hallmark: Hallmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / REPORT_FILE).touch()
    opened: list[str] = []

    def take(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", take)
    done = hallmark("report", tmp_path)
    assert done.code == 0
    assert done.out == f"Opening {tmp_path / REPORT_FILE}\n"
    assert opened == [(tmp_path / REPORT_FILE).as_uri()]


def _fail(address: str) -> bool:
    raise webbrowser.Error("could not locate runnable browser")


@pytest.mark.parametrize("take", [lambda address: False, _fail], ids=["none", "broken"])
def test_without_a_browser_the_report_is_named_and_not_said_to_open(
    hallmark: Hallmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take: Callable[[str], bool]
) -> None:
    (tmp_path / REPORT_FILE).touch()
    monkeypatch.setattr("webbrowser.open", take)
    done = hallmark("report", tmp_path)
    assert done.code == 0
    assert f"The report is {tmp_path / REPORT_FILE}\n" in done.out
    assert "Opening" not in done.out


def test_a_report_that_is_not_there_or_broken_exits_with_2(
    hallmark: Hallmark, tmp_path: Path
) -> None:
    assert_said(hallmark("report", tmp_path), ExitCode.USAGE, "give a release folder")
    (tmp_path / RECORD_FILE).write_text("{}")
    done = hallmark("report", tmp_path, "--render", tmp_path / "r.html")
    assert_said(done, ExitCode.USAGE, "is not an audit record of this version")


def test_the_program_itself_ends_without_a_traceback(tmp_path: Path, home: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "report", tmp_path], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_source_is_found_from_the_folder_of_its_spec(
    spec: Path, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec.write_text(spec.read_text().replace(str(spec.parent / "table.csv"), "table.csv"))
    monkeypatch.chdir(tmp_path.parent)
    assert prepare(spec.relative_to(tmp_path.parent)).source.location == str(tmp_path / "table.csv")
