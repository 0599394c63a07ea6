"""The part of a release spec that is filled in as a form; the columns stay in a file.

A form's values travel through a database that keeps no order of keys, but the order of columns and
of their categories is the order of cells. So what describes the table is left to the file. So is
what says that a table need not be protected: whoever may start a release is not who may say that.
"""

from typing import Any

from pydantic import BaseModel, create_model

from schemas.release_spec import ReleaseSpec
from schemas.section import Section

_OF_THE_TABLE = ("columns", "binning", "constraints", "public_totals")
_UNPROTECTED = ("public_data", "rehearsal", "rehearsal_of")
LEFT_TO_THE_FILE = (*_OF_THE_TABLE, *_UNPROTECTED)

_FIELDS: dict[str, Any] = {
    name: (field.annotation, field)
    for name, field in ReleaseSpec.model_fields.items()
    if name not in LEFT_TO_THE_FILE
}

SpecForm: type[BaseModel] = create_model(
    "SpecForm", __base__=Section, __doc__="A release spec without its columns.", **_FIELDS
)
"""Has every other section of a `ReleaseSpec`, with its type, default and description."""


def form_of(spec: ReleaseSpec) -> dict[str, Any]:
    """What the form holds before anybody changes it: plain JSON values."""
    return {key: value for key, value in spec.content().items() if key not in LEFT_TO_THE_FILE}


def filled_in(spec: ReleaseSpec, form: dict[str, Any]) -> dict[str, Any]:
    """The content of `spec` with the form in place of what it covers, whether valid or not."""
    left = {key: value for key, value in spec.content().items() if key in LEFT_TO_THE_FILE}
    return _stated(form) | left


def _stated(section: dict[str, Any]) -> dict[str, Any]:
    """A section without what the form left empty."""
    return {
        key: _stated(value) if isinstance(value, dict) else value
        for key, value in section.items()
        if value is not None
    }
