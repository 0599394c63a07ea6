"""A steward's own table as they come: latin-1, semicolons, decimal commas, days as 31/12/2019,
missing values written in three ways, and postal codes with leading zeros."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MISSING = ("", "NA", "-")
"""The ways in which a missing value is written."""
FORM: dict[str, Any] = {
    "delimiter": ";",
    "encoding": "latin-1",
    "decimal_mark": ",",
    "date_format": "%d/%m/%Y",
    "null_markers": list(MISSING),
}
"""What a spec says of how it is written."""
POSTAL_CODES = ("01067", "04109", "09111", "20095", "80331")
_SOURCE = {"kind": "public", "reference": "made up for the tests"}
_STATED = {"outside": "refuse", "bound_source": _SOURCE}


def table(rows: int = 20_000, seed: int = 5) -> pd.DataFrame:
    """Twelve columns as they are meant; missing values are null, days are timestamps."""
    rng = np.random.default_rng(seed)
    born = pd.Timestamp("1930-01-01") + pd.to_timedelta(rng.integers(0, 32_000, rows), "D")
    moved = pd.Timestamp("2019-12-31") - pd.to_timedelta(rng.integers(0, 3_000, rows), "D")
    return pd.DataFrame(
        {
            "née": born,
            "déménagé": pd.Series(moved).mask(rng.random(rows) < 0.1),
            "code_postal": rng.choice(POSTAL_CODES, rows),
            "sexe": rng.choice(["1", "2"], rows),
            "état": rng.choice(["célibataire", "marié", "veuf"], rows),
            "enfants": pd.array(rng.integers(0, 9, rows), dtype="Int64"),
            "revenu": pd.Series(np.round(rng.gamma(2, 900, rows), 2)).mask(rng.random(rows) < 0.2),
            "loyer": np.round(rng.uniform(100, 1500, rows), 2),
            "surface": np.round(rng.uniform(9, 200, rows), 1),
            "pièces": pd.array(rng.integers(1, 8, rows), dtype="Int64"),
            "emploi": pd.Series(rng.choice(["oui", "non"], rows)).mask(rng.random(rows) < 0.1),
            "heures": pd.Series(np.round(rng.uniform(0, 60, rows), 1)).mask(rng.random(rows) < 0.3),
        }
    )  # fmt: skip


def as_texts(meant: pd.DataFrame, seed: int = 6) -> pd.DataFrame:
    """The table's cells as its file writes them."""
    rng, texts = np.random.default_rng(seed), {}
    for name, column in meant.items():
        if pd.api.types.is_datetime64_any_dtype(column):
            written = column.dt.strftime("%d/%m/%Y")
        elif pd.api.types.is_float_dtype(column):
            written = column.map("{:.2f}".format).str.replace(".", ",")
        else:
            written = column.astype("string")
        missing = pd.Series(rng.choice(MISSING, len(column)))
        texts[name] = written.astype("object").where(column.notna().to_numpy(), missing)
    return pd.DataFrame(texts)


def write(folder: Path, rows: int = 20_000) -> Path:
    """Write the file; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "enquete.csv"
    as_texts(table(rows)).to_csv(file, sep=";", index=False, encoding="latin-1")
    return file


def spec(source: str, **changes: Any) -> dict[str, Any]:
    """A complete spec of the table as plain values; `changes` replaces whole sections."""
    days = {"type": "date", "minimum": "1930-01-01", "maximum": "2019-12-31", "cells": 20}
    number = {"type": "numeric", "minimum": 0, "cells": 10}
    return {
        "hallmark": 1,
        "release": "enquete",
        "title": "A messy table",
        "population": {"account": "test-people"},
        "data": {"source": source, **FORM, "expected_rows": 20_000, "record": "one person"},
        "privacy": {"neighbours": "replace_one", "unit": "record", "epsilon": "1", "delta": "1e-5"},
        "mechanism": {"name": "privpgd"},
        "columns": {
            "née": days | _STATED,
            "déménagé": days | {"minimum": "2010-01-01", "nulls": True} | _STATED,
            "code_postal": {"type": "nominal", "categories": list(POSTAL_CODES)} | _STATED,
            "sexe": {"type": "nominal", "categories": {"1": "homme", "2": "femme"}} | _STATED,
            "état": {"type": "nominal", "categories": ["célibataire", "marié", "veuf"]} | _STATED,
            "enfants": {**number, "integer": True, "maximum": 8, "cells": 9} | _STATED,
            "revenu": {**number, "maximum": 20_000, "nulls": True} | _STATED,
            "loyer": {**number, "maximum": 1500} | _STATED,
            "surface": {**number, "maximum": 200} | _STATED,
            "pièces": {**number, "integer": True, "maximum": 9} | _STATED,
            "emploi": {"type": "nominal", "categories": ["oui", "non"], "nulls": True} | _STATED,
            "heures": {**number, "maximum": 60, "nulls": True} | _STATED,
        },
        **changes,
    }
