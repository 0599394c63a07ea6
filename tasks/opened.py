"""A release folder as Python and notebooks show it: what `hallmark.open` gives."""

from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pandas as pd

from hallmark.schemas.documents.certificate import CertificateFile
from hallmark.schemas.documents.data_dictionary import DataDictionary, DictionaryColumn
from hallmark.schemas.documents.manifest import CERTIFICATE_FILE, DICTIONARY_FILE
from hallmark.schemas.exact import decimal
from hallmark.schemas.visible import visible
from hallmark.tasks.output.released import typed_values
from hallmark.tasks.questions.release import CannotAsk, OpenRelease
from hallmark.tasks.verification.in_use import told_superseded

if TYPE_CHECKING:
    from hallmark.tasks.verification import Verification


@dataclass(frozen=True, eq=False, repr=False)
class Release(OpenRelease):
    """A published release. Nothing but its folder is read, and the notices beside it."""

    @classmethod
    def of(cls, folder: str | Path) -> Self:
        """The release in a folder.

        Raises:
            CannotAsk: the folder is not a release.
            NotInUse: the release was withdrawn, or a notice beside it is not the agency's.
        """
        return replace(super().of(folder), told=told_superseded(Path(folder)))

    @cached_property
    def data(self) -> pd.DataFrame:
        """The synthetic records: whole numbers as Int64, dates as datetime64, booleans as boolean,
        categories as categoricals of their codes.

        Raises:
            CannotAsk: the folder has no records.
        """
        if self.records_file is None:
            raise CannotAsk(f"{self.folder} has no records")
        return typed_values(self.spec, self.records_file)

    @cached_property
    def columns(self) -> pd.DataFrame:
        """One row a column of the records, by name: description, type, unit, least and greatest
        value, labels of categories by code, whether values may be missing, and the certificate's
        bound on the error of its distribution, with its unit; None where there is none."""
        told = DataDictionary.model_validate_json((self.folder / DICTIONARY_FILE).read_bytes())
        return pd.DataFrame([_row(one) for one in told.columns]).set_index("column")

    @cached_property
    def certificate(self) -> CertificateFile:
        """The bounds of the release, with their assumptions."""
        return CertificateFile.model_validate_json((self.folder / CERTIFICATE_FILE).read_bytes())

    def verify(self, key: str | Path | None = None) -> "Verification":
        """All checks that need no private data, as `hallmark verify` makes them; see its `ok`.

        Args:
            key: the agency's public key (PEM), obtained from elsewhere. Without it, nothing shows
                who signed.
        """
        from hallmark.tasks.verification import verify_release

        return verify_release(self.folder, None if key is None else Path(key))

    def __repr__(self) -> str:
        privacy = self.spec.privacy
        return (
            f"<release {self.spec.release}: {visible(self.spec.title)}; "
            f"{len(self.spec.published)} columns; epsilon {decimal(privacy.epsilon)}, "
            f"delta {float(privacy.delta):g}; in {visible(str(self.folder))}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the release, and a table of its columns."""
        return f"<p>{escape(repr(self))}</p>{self.columns.to_html(na_rep='')}"


def _row(column: DictionaryColumn) -> dict[str, object]:
    interval, error = column.interval, column.error
    return {
        "column": column.name,
        "description": column.description,
        "type": column.type,
        "unit": column.unit,
        "least": None if interval is None else interval.low,
        "greatest": None if interval is None else interval.high,
        "categories": {one.value: one.label or one.value for one in column.categories} or None,
        "may_miss": column.nullable,
        "bound": None if error is None else error.bound,
        "bound_unit": None if error is None else error.unit,
    }
