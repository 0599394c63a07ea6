"""The profile of this installation: who runs it, who may approve, on which machines."""

import os
from pathlib import Path

from hallmark.schemas.documents.approvals import Approvals
from hallmark.schemas.loading import load_profile
from hallmark.schemas.profile import Profile
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.workspace import home

PROFILE_VARIABLE = "HALLMARK_PROFILE"


def profile() -> Profile:
    """What the file that `HALLMARK_PROFILE` names says, else `profile.yaml` in the home folder.

    An installation without a profile has one that says nothing; a variable that names no file is
    a mistake.

    Raises:
        SpecError: with every problem of the file.
    """
    path = profile_file()
    is_named = bool(os.environ.get(PROFILE_VARIABLE))
    return load_profile(path) if is_named or path.exists() else Profile()


def profile_file() -> Path:
    """Where the profile is, or would be."""
    named = os.environ.get(PROFILE_VARIABLE)
    return Path(named).expanduser() if named else home() / "profile.yaml"


def approvals_of(spec: ReleaseSpec) -> Approvals:
    """Who must approve a release: whoever its spec asks for, and whoever the profile does."""
    return spec.approvals.joined(profile().approvals)
