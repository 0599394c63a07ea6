"""The tables that methods are compared on, coded and split, and where their records come from.

    python -m benchmarks.data    # says what is here, and where to get the rest

The census excerpts are shipped, as data of the examples. UCI Adult is not, for its licence: its two
files are read from the folder `HALLMARK_BENCHMARK_DATA`, which is build/benchmark-data unless set.
"""

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd

from hallmark.mechanisms.arrays import Codes64

ROOT = Path(__file__).parents[1]
EXCERPTS = ROOT / "schemas/examples/data"
FOLDER = "HALLMARK_BENCHMARK_DATA"
ADULT_FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
"""SHA-256 of each."""
ADULT_SOURCE = """\
UCI Adult (https://archive.ics.uci.edu/dataset/2/adult, CC BY 4.0), for example by
    curl -fLO https://archive.ics.uci.edu/static/public/2/adult.zip
    unzip adult.zip {files} -d {folder}"""
SPLIT_SEED = 20_240_613
LABELS = {"adult": "income>50K", "acs_nat": "OWN_RENT"}
"""The column that users predict (whether its code is 1), by table."""


@dataclass(frozen=True)
class Coding:
    """Cells of a column: equally many of its values in each, in order.

    Attributes:
        values: all that the column may have; numbers in multiples of `unit`.
        cells: their number; as many as values where None.
        null: whether everything else has a cell of its own, which is the last.
    """

    values: range | Sequence[str]
    cells: int | None = None
    null: bool = False
    unit: float = 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return (self.cells or len(self.values)) + self.null

    def codes(self, column: "pd.Series[str] | pd.Series[int]") -> Codes64:
        """The cells of a column's values.

        Raises:
            ValueError: a value is not among `values`, and there is no cell for it.
        """
        if isinstance(self.values, range):
            numbers = pd.to_numeric(column, errors="coerce") / self.unit
            position = numbers.round() - self.values.start
        else:
            position = column.map({value: i for i, value in enumerate(self.values)})
        known = position.between(0, len(self.values) - 1)
        if not (self.null or known.all()):
            raise ValueError(f"{column.name}: {(~known).sum()} values have no cell")
        cells = self.size - self.null
        whole = position.where(known, 0).to_numpy(dtype=np.int64)
        return np.where(known, whole * cells // len(self.values), cells)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ONE_OR_TWO = Coding(range(1, 3))
_PUMAS = """01-01301 06-07502 06-08507 08-00803 13-04600 17-03529 17-03531 19-01700 24-01004
26-02702 28-01100 29-01901 30-00600 32-00405 36-03710 36-04010 38-00100 40-00200 51-01301
51-51255"""
_ACS: Mapping[str, Coding] = {
    "AGEP": Coding(range(100), 32),
    "SEX": _ONE_OR_TWO,
    "MSP": Coding(range(1, 7), null=True),
    "HISP": Coding(range(5)),
    "RAC1P": Coding(range(1, 10)),
    "NOC": Coding(range(20), null=True),
    "NPF": Coding(range(2, 21), null=True),
    "HOUSING_TYPE": Coding(range(1, 4)),
    "OWN_RENT": Coding(range(3)),
    "EDU": Coding(range(1, 13), null=True),
    "PINCP_DECILE": Coding(range(10), null=True),
    "DVET": Coding(range(1, 7), null=True),
    "DREM": Coding(range(1, 3), null=True),
    "DPHY": Coding(range(1, 3), null=True),
    "DEYE": _ONE_OR_TWO,
    "DEAR": _ONE_OR_TWO,
    "PUMA": Coding(_words(_PUMAS)),
    "DENSITY": Coding(range(163, 528_648), 32, unit=0.1),
    "INDP_CAT": Coding(range(19), null=True),
}
_WORK = """Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay
Never-worked ?"""
_EDUCATION = """10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate
HS-grad Masters Preschool Prof-school Some-college"""
_MARITAL = """Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent
Married-AF-spouse"""
_OCCUPATIONS = """Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty
Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv
Protective-serv Armed-Forces ?"""
_RELATIONSHIPS = "Wife Own-child Husband Not-in-family Other-relative Unmarried"
_COUNTRIES = """United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc)
India Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico
Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala
Nicaragua Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands ?"""
_ADULT: Mapping[str, Coding] = {
    "age": Coding(range(16, 101), 32),
    "workclass": Coding(_words(_WORK)),
    "fnlwgt": Coding(range(10_000, 1_500_001), 32),
    "education": Coding(_words(_EDUCATION)),
    "education-num": Coding(range(1, 17)),
    "marital-status": Coding(_words(_MARITAL)),
    "occupation": Coding(_words(_OCCUPATIONS)),
    "relationship": Coding(_words(_RELATIONSHIPS)),
    "race": Coding(_words("White Asian-Pac-Islander Amer-Indian-Eskimo Other Black")),
    "sex": Coding(_words("Female Male")),
    "capital-gain": Coding(range(100_000), 32),
    "capital-loss": Coding(range(5001), 32),
    "hours-per-week": Coding(range(1, 100), 32),
    "native-country": Coding(_words(_COUNTRIES), 32),
    "income>50K": Coding(_words("<=50K >50K")),
}


@dataclass(frozen=True, eq=False)
class Table:
    """A coded table, split for good into private records and held-out ones.

    Attributes:
        cells: number of cells by column.
        train: the private records, shape (n, columns).
        test: held out for the downstream error; no method sees them.
        label: position of the column that is predicted.
    """

    name: str
    cells: dict[str, int]
    train: Codes64
    test: Codes64
    label: int


@cache
def load(name: str) -> Table:
    """One of the tables: a fifth of its records, drawn for good, are held out.

    Raises:
        SystemExit: files are missing or not the expected ones; says where to get them.
    """
    text, codings = (
        (adult().set_axis(list(_ADULT), axis=1), _ADULT)
        if name == "adult"
        else (excerpt("national2019"), _ACS)
    )
    codes = np.column_stack([coding.codes(text[column]) for column, coding in codings.items()])
    order = list(range(len(codes)))
    random.Random(SPLIT_SEED).shuffle(order)
    kept = int(0.8 * len(order))
    train, test = (codes[np.sort(rows)] for rows in (order[:kept], order[kept:]))
    cells = {column: coding.size for column, coding in codings.items()}
    return Table(name, cells, train, test, list(cells).index(LABELS[name]))


def excerpt(name: str) -> pd.DataFrame:
    """A census excerpt such as national2019 as text, in which a null is `N`."""
    return pd.read_csv(EXCERPTS / f"{name}.csv.gz", dtype=str, keep_default_na=False)


@cache
def adult() -> pd.DataFrame:
    """UCI Adult, first its training records and then those for tests; a null is `?`.

    Raises:
        SystemExit: a file is missing or not the expected one; says where to get it.
    """
    if problems := list(_problems()):
        raise SystemExit("\n".join(problems))
    names = [*(name.replace("-", "_") for name in list(_ADULT)[:-1]), "income"]
    parts = (
        pd.read_csv(folder() / file, names=names, skiprows=head, skipinitialspace=True)
        for file, head in zip(ADULT_FILES, (0, 1), strict=True)
    )
    table = pd.concat(parts, ignore_index=True)
    return table.assign(income=table["income"].str.removesuffix("."))


def folder() -> Path:
    """Where data lie that are not shipped."""
    return Path(os.environ.get(FOLDER) or ROOT / "build/benchmark-data")


def _problems() -> Iterator[str]:
    """What is missing, or is not what it was, and where to get it."""
    wrong = []
    for name, digest in ADULT_FILES.items():
        file = folder() / name
        if not file.is_file():
            yield f"missing: {file}"
        elif sha256(file.read_bytes()).hexdigest() != digest:
            yield f"not the expected file: {file} (its SHA-256 is not {digest})"
        else:
            continue
        wrong.append(name)
    if wrong:
        yield f"Get it from {ADULT_SOURCE.format(files=' '.join(wrong), folder=folder())}"
        yield f"or let {FOLDER} name the folder that has it."


def main() -> None:
    """Say what is here, and end with what is not."""
    for file in sorted(EXCERPTS.glob("*.csv.gz")):
        print(f"here: {file.relative_to(ROOT)}")
    if problems := list(_problems()):
        raise SystemExit("\n".join(problems))
    for name in ADULT_FILES:
        print(f"here: {folder() / name}")


if __name__ == "__main__":
    main()
