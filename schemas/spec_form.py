"""The part of a release spec that is filled in as a form; the columns stay in a file.

A form's values travel through a database that keeps no order of keys, but the order of columns and
of their categories is the order of cells. So what describes the table is left to the file.

So is which table it is, whose budget pays, which machines get to see the records, who must approve,
and what need not be protected: whoever may start a release is not who may say that.
"""

from typing import Any

from pydantic import BaseModel, create_model

from schemas.release_spec import ReleaseSpec
from schemas.section import Section

_OF_THE_TABLE = ("columns", "binning", "constraints", "public_totals")
_WHOSE = ("population", "data", "cluster", "approvals")
_UNPROTECTED = ("public_data", "rehearsal", "rehearsal_of")
LEFT_TO_THE_FILE = (*_OF_THE_TABLE, *_WHOSE, *_UNPROTECTED)

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
    """The content of `spec` with the form in place of what it covers, whether valid or not.

    What a form holds beyond that, since somebody sent it by other means, is left out.
    """
    left = {key: value for key, value in spec.content().items() if key in LEFT_TO_THE_FILE}
    if spec.cluster is not None:  # which is no part of the content
        left["cluster"] = spec.cluster.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {k: v for k, v in _stated(form).items() if k not in LEFT_TO_THE_FILE} | left


def _stated(section: dict[str, Any]) -> dict[str, Any]:
    """A section without what the form left empty."""
    return {
        key: _stated(value) if isinstance(value, dict) else value
        for key, value in section.items()
        if value is not None
    }
