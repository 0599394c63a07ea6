"""The part of a release spec that is filled in as a form; the columns stay in a file.

A form's values pass through a database that does not keep the order of keys, but the order of
columns and of their categories is the order of cells. So the description of the table stays in the
file.

So do the choice of the table, whose budget pays, which machines see the records, who must approve,
and what need not be protected: people who may start a release may not decide these.
"""

from typing import Any

from pydantic import BaseModel, create_model

from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.schemas.section import Section

_OF_THE_TABLE = ("columns", "lookups", "binning", "constraints", "public_totals")
_WHOSE = ("population", "data", "cluster", "approvals")
_UNPROTECTED = ("public_data", "rehearsal", "rehearsal_of")
LEFT_TO_THE_FILE = (*_OF_THE_TABLE, *_WHOSE, *_UNPROTECTED)

_FIELDS: dict[str, Any] = {
    name: (field.annotation, field)
    for name, field in ReleaseSpec.model_fields.items()
    if name not in LEFT_TO_THE_FILE
}


class _OfSpec(Section):
    @classmethod
    def meanings(cls) -> dict[str, str]:
        return {key: text for key, text in ReleaseSpec.meanings().items() if key in _FIELDS}


SpecForm: type[BaseModel] = create_model(
    "SpecForm", __base__=_OfSpec, __doc__="A release spec without its columns.", **_FIELDS
)
"""A form with every other section of a `ReleaseSpec`: its type, default and description."""


def form_of(spec: ReleaseSpec) -> dict[str, Any]:
    """The initial values of the form, as plain JSON values."""
    return {key: value for key, value in spec.content().items() if key not in LEFT_TO_THE_FILE}


def filled_in(spec: ReleaseSpec, form: dict[str, Any]) -> dict[str, Any]:
    """The content of `spec` with the form's sections in place of its own, whether valid or not.

    Other sections are ignored, which somebody may have sent without the form.
    """
    left = {key: value for key, value in spec.content().items() if key in LEFT_TO_THE_FILE}
    if spec.cluster is not None:  # which is not part of the content
        left["cluster"] = spec.cluster.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {k: v for k, v in _stated(form).items() if k not in LEFT_TO_THE_FILE} | left


def _stated(section: dict[str, Any]) -> dict[str, Any]:
    """A section without the keys that the form left empty."""
    return {
        key: _stated(value) if isinstance(value, dict) else value
        for key, value in section.items()
        if value is not None
    }
