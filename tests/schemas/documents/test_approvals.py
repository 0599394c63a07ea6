"""Who must approve a release, as the spec and the profile ask together."""

import pytest
from pydantic import ValidationError

from hallmark.schemas.documents.approvals import Approvals


def test_crosswalks_are_asked_for_where_somebody_approves_the_release() -> None:
    both = Approvals(disclosure=("reviewer",), crosswalks=("iso-iec-27559",)).joined(
        Approvals(disclosure=("reviewer",), crosswalks=("nist-sp-800-226", "iso-iec-27559"))
    )
    assert both.crosswalks == ("iso-iec-27559", "nist-sp-800-226")
    assert both.disclosure == ("reviewer",)
    with pytest.raises(ValidationError, match="nobody must approve it"):
        Approvals(plan=("methodologist",), crosswalks=("iso-iec-27559",))
    with pytest.raises(ValidationError, match="iso-iec-27559"):
        Approvals(disclosure=("reviewer",), crosswalks=("iso",))  # type: ignore[arg-type]
