"""The page: its tables say what the results say, and the plots are drawn."""

from pathlib import Path

import pytest

from benchmarks.comparison.journal import append
from benchmarks.comparison.report import markdown, write_report
from tests.builders.comparison_results import result

RESULTS = [
    result(seed=1, metrics={"sw1": 0.001, "tv": 0.02}),
    result(seed=2, metrics={"sw1": 0.003, "tv": 0.04}),
    result(method="mbi-mst", metrics={"sw1": 0.004, "tv": 0.06}, facts={"versions": {"mbi": "2"}}),
    result(method="dpmm-mst", metrics={"sw1": 0.005, "tv": 0.05}),
    result(method="mbi-aim", status="did not finish", metrics={}, detail=""),
    result(
        method="mbi-mst",
        relation="replace_one",
        converted=True,
        metrics={"tv": 0.07},
        facts={"versions": {"mbi": "2"}},
    ),
    result(method="gsd", relation="replace_one", status="reported", metrics={"tv": 0.08}, seed=0),
]


def line(page: str, start: str) -> str:
    (found,) = [text for text in page.splitlines() if text.startswith(start)]
    return found


def test_ours_are_means_and_the_best_peer_of_each_metric_is_bold() -> None:
    page = markdown(RESULTS, {})
    assert "| 0.0020 ± 0.0014 | 0.0300 ± 0.0141 | 10 | 400 |" in line(page, "| `privpgd` | 2 |")
    here = page.split("## Where a record is replaced")[0]
    assert "| **0.0040** | 0.0600 |" in line(here, "| mbi-mst | 1 |")
    assert "| 0.0050 | **0.0500** |" in line(here, "| dpmm-mst | 1 |")


def test_ratios_stand_below_the_table_and_in_short() -> None:
    page = markdown(RESULTS, {})
    assert "| 0.50 | 0.60 |" in line(page, "| *best of ours / best peer* |")
    assert "| 0.50 | 0.60 |" in line(page, "| add_remove | adult | 1 |")


def test_a_method_that_did_not_finish_says_so() -> None:
    page = markdown(RESULTS, {})
    assert "| did not finish within 15 CPU min | – |" in line(page, "| mbi-aim | 0 of 1 |")


def test_converted_and_reported_lines_are_marked() -> None:
    page = markdown(RESULTS, {"replace_one": "there.png"})
    assert "**0.0700**" in line(page, "| mbi-mst ⇄ | 1 |")
    assert "0.0800" in line(page, "| gsd † | – |")
    assert "](there.png)" in page


def test_versions_of_peers_are_listed() -> None:
    page = markdown(RESULTS, {})
    assert "| mbi 2 | a record is added or removed | estimated |" in line(page, "| mbi-mst | mbi")


def test_every_table_has_as_many_cells_a_line() -> None:
    widths: dict[str, set[int]] = {}
    head = ""
    for text in markdown(RESULTS, {}).splitlines():
        if text.startswith("|"):
            head = head or text
            widths.setdefault(head, set()).add(text.count("|"))
        else:
            head = ""
    assert len(widths) == 3  # in short, in a setting, and of the peers
    assert all(len(counts) == 1 for counts in widths.values())


def test_the_page_and_its_plots_are_written(tmp_path: Path) -> None:
    for one in RESULTS:
        append(one, tmp_path / "results")
    paths = write_report(tmp_path / "page", tmp_path / "results")
    assert [path.name for path in paths] == ["README.md", "add_remove.png", "replace_one.png"]
    assert "![Errors by epsilon, a record is replaced](replace_one.png)" in paths[0].read_text()
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths[1:])


def test_no_results_are_no_report(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are no results"):
        write_report(tmp_path / "page", tmp_path)
