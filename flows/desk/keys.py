"""The page of keys: whose keys count here, and a place to make new ones, at a key ceremony.

The page writes nothing on the server. A key is made in the browser of its person; whoever keeps the
profile puts its public half there.
"""

import os
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from hallmark.flows.desk.pages import page
from hallmark.schemas.documents.agency_keys import AgencyKeys, RegisteredKey
from hallmark.schemas.documents.approver_keys import approver_key
from hallmark.schemas.profile import Profile
from hallmark.tasks.installation.key_register import key_register
from hallmark.tasks.installation.profile import profile
from hallmark.tasks.installation.signing import KEY_VARIABLES, SigningError, signing_key
from hallmark.tasks.installation.workspace import home

router = APIRouter()


@dataclass(frozen=True)
class _Line:
    """A key as the page shows it."""

    holder: str
    kind: str
    fingerprint: str
    entry: RegisteredKey | None = None


@router.get("/keys")
def keys_page(request: Request) -> Response:
    """The page with all keys, the forms that make new ones, and the checklist of the ceremony."""
    known, register = profile(), key_register()
    return page(
        request,
        "keys",
        signing=list(_signing(register)),
        approvers=list(_approvers(known, register)),
    )


def _signing(register: AgencyKeys) -> list[_Line]:
    """The key that this process signs with, and all others that the register lists."""
    lines = [_Line("in the register", "Ed25519", one.fingerprint, one) for one in register.signing]
    # Where no key is set, asking for one would make a demonstration key.
    if not any(os.environ.get(name) for name in KEY_VARIABLES):
        return lines
    try:
        own = signing_key(home())
    except SigningError as error:
        return [_Line(str(error), "cannot be used here", ""), *lines]
    entry = register.signing_key(own.fingerprint)
    others = [line for line in lines if line.fingerprint != own.fingerprint]
    used = _Line(f"in use here, from the {own.origin}", "Ed25519", own.fingerprint, entry)
    return [used, *others]


def _approvers(known: Profile, register: AgencyKeys) -> list[_Line]:
    """Keys of the profile's approvers, then those in the register that nobody has now."""
    now = [
        _Line(
            f"{person.name} ({', '.join(person.roles)})",
            (key := approver_key(person.key)).kind,
            key.fingerprint,
            register.approvers_key(person.key),
        )
        for person in known.approvers
    ]
    listed = {line.fingerprint for line in now}
    return now + [
        _Line(f"{one.person}, not in the profile", approver_key(one.key).kind, one.fingerprint, one)
        for one in register.approvers
        if one.fingerprint not in listed
    ]
