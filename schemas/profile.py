"""The profile of an installation: what is the same for all releases that an agency runs there.

One YAML file, beside the release specs: a spec says what is released, the profile says who runs it,
who may approve it and on which machines. Read one with `schemas.loading.load_profile`.
"""

from pydantic import Field

from schemas.agency import Agency
from schemas.approvals import Approvals, Approver
from schemas.cluster import Cluster
from schemas.section import Section


class Profile(Section):
    """A whole profile; every section may be left out."""

    hallmark_profile: int = Field(default=1, ge=1, le=1)
    """the version of the profile format: 1"""
    agency: Agency = Agency()
    """who publishes, and what a reviewer is to know of the place where releases run"""
    approvers: tuple[Approver, ...] = ()
    """who may decide at the gates: name, roles, and public key of each"""
    approvals: Approvals = Approvals()
    """who must approve every release here, whatever its spec asks for"""
    cluster: Cluster | None = None
    """the Dask cluster on which releases run; in this process where it is not given"""
