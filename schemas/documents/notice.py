"""Notices about published releases: that another took the place of one, or that it is withdrawn.

A notice lies beside the release folder, whose files stay what they were, and names the release by
the digest of its manifest. It is one JSON file, with the signature and the key that made it, and a
page for people that says the same.
"""

import json
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, model_validator

from hallmark.schemas.documents.labels import FORMAT_LABEL, PublicSection, Shown
from hallmark.schemas.documents.manifest import Sha256

NoticeKind = Literal["superseded", "withdrawn"]
KINDS: tuple[NoticeKind, ...] = ("superseded", "withdrawn")
LEAST_REASON, MOST_REASON = 3, 1_000  # characters


class Replacement(PublicSection):
    """The release that took the place of another."""

    release: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    manifest: Annotated[Sha256, Shown("Its manifest (SHA-256)", form="code")]


class Notice(PublicSection):
    """What became of a published release.

    Raises:
        ValueError: it is superseded by nothing, or withdrawn in favour of something.
    """

    format: Annotated[Literal["hallmark-notice/1"], FORMAT_LABEL] = "hallmark-notice/1"
    kind: Annotated[NoticeKind, Shown("What became of it")]
    release: Annotated[str, Field(min_length=1), Shown("Release", form="code")]
    manifest: Annotated[Sha256, Shown("Its manifest (SHA-256)", form="code")]
    by: Annotated[Replacement | None, Shown("Superseded by")] = None
    reason: Annotated[str, Field(min_length=LEAST_REASON, max_length=MOST_REASON), Shown("Reason")]
    stated: Annotated[AwareDatetime, Shown("Time")]
    public_key_fingerprint: Annotated[Sha256, Shown("Signing key (SHA-256)", form="code")]

    @model_validator(mode="after")
    def _check_by(self) -> "Notice":
        if (self.by is None) != (self.kind == "withdrawn"):
            raise ValueError("a release is superseded by another, and withdrawn without one")
        return self

    def canonical_bytes(self) -> bytes:
        """The canonical JSON text of the notice, which its signature covers."""
        content = self.model_dump(mode="json")
        return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")

    @property
    def words(self) -> str:
        """What became of the release, when and why."""
        what = "withdrawn" if self.by is None else f"superseded by {self.by.release}"
        return f"{what} on {self.stated:%Y-%m-%d}: {self.reason}"


class SignedNotice(PublicSection):
    """A notice with its proof."""

    notice: Annotated[Notice, Shown("Notice")]
    key: Annotated[str, Shown("Public key (PEM)", form="code")]
    signature: Annotated[str, Shown("Signature (base64)", form="code")]


def notice_file(release: str, kind: NoticeKind) -> str:
    """The name of the file of a notice, which lies beside the release's folder."""
    return f"{release}.{kind}.json"


def is_notice_file(name: str) -> bool:
    """Whether a file is called as notices are."""
    return any(name.endswith(notice_file("", kind)) for kind in KINDS)
