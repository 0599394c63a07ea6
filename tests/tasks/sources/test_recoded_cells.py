"""Recoded cells: whole columns as the rule does one code, in every type that a file may hold."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hallmark.schemas.columns.recoding import Recode
from hallmark.tasks.sources import Source, batches_of_cells, first_rows, parts
from hallmark.tasks.sources.cells import encoded, framed
from hallmark.tasks.sources.parts import Recoded

UNCOVERED = "???"
RULES = [
    Recode(first=2),
    Recode(first=1, of=3),
    Recode.model_validate({"codes": {"a": "b", "c": "b", "b": "?", "": "b", "007": "7"}}),
]


def source(rule: Recode) -> Source:
    recoded = (Recoded("x", rule, UNCOVERED),)
    return Source(location="t", null_markers=("NA",), columns=("x",), recodes=recoded)


def expected(rule: Recode, text: str | None) -> str | None:
    """What a text becomes, one at a time."""
    trimmed = None if text is None else text.strip()
    if trimmed is None or trimmed == "NA":
        return None
    found = rule.of_code(trimmed)
    return UNCOVERED if found is None else found


TEXTS = st.sampled_from(["a", "b", "c", "", "NA", "007", " 007 ", "é́x", "01067", UNCOVERED])


@given(texts=st.lists(TEXTS | st.text("ab?07 é", max_size=4) | st.none(), min_size=1, max_size=30))
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.words)
def test_every_cell_becomes_what_its_code_does(rule: Recode, texts: list[str | None]) -> None:
    wanted = [expected(rule, text) for text in texts]
    for column in (pa.array(texts, pa.string()), pa.array(texts, pa.string()).dictionary_encode()):
        batch = pa.record_batch({"x": column})
        frame = framed(batch, source(rule))["x"]
        cells = encoded(batch, source(rule))["x"]
        assert [
            None if one is None else str(one)
            for one in frame.astype(object).where(frame.notna(), None)
        ] == wanted
        texts_of_cells = cells.texts.astype(object).where(cells.texts.notna(), None)
        assert [texts_of_cells.iloc[place] for place in cells.places] == wanted


def test_what_the_file_holds_is_there_for_whoever_mends_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1067, 99_999, 7, None]}), tmp_path / "t.parquet")
    rule = Recode(first=2, of=5)
    there = Source(
        location=str(tmp_path / "t.parquet"),
        null_markers=(),
        columns=("x",),
        recodes=(Recoded("x", rule, UNCOVERED),),
    )
    (part,) = parts(there)
    (cells,) = batches_of_cells(part)
    pairs = zip(cells["x"].originals, cells["x"].texts, strict=True)
    told = {str(before): str(after) for before, after in pairs if isinstance(before, str)}
    assert told == {"1067": UNCOVERED, "99999": "99", "7": UNCOVERED}
    rows = first_rows(part, 2)
    assert rows is not None
    assert rows[0]["x"].tolist() == [UNCOVERED, "99"]
