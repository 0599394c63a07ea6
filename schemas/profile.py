"""The profile of an installation: what is the same for all releases that an agency runs there.

One YAML file in addition to the release specs: a spec says what is released; the profile says who
runs it, who may approve it, and on which machines. Read one with `schemas.loading.load_profile`.
"""

from collections.abc import Iterator

from pydantic import Field

from hallmark.schemas.agency import Agency
from hallmark.schemas.cluster import Cluster
from hallmark.schemas.documents.approvals import Approvals, Approver, known_as
from hallmark.schemas.documents.approver_keys import approver_key
from hallmark.schemas.section import Format, Problem, Section


class Profile(Section):
    """A whole profile; every section is optional.

    An approver is one person with one key: a key, name or login that occurs twice is refused, since
    its holder would count as two people.
    """

    hallmark_profile: Format = 1
    """the version of the profile format: 1"""
    agency: Agency = Agency()
    """who publishes, and what a reviewer should know about the place where releases run"""
    approvers: tuple[Approver, ...] = ()
    """who may decide at the gates: the name, roles and public key of each person"""
    approvals: Approvals = Approvals()
    """who must approve every release here, whatever its spec asks for"""
    cluster: Cluster | None = None
    """the Dask cluster that releases run on; defaults to the release's own process"""
    uncharged_looks: int = Field(default=5, ge=1)
    """how many runs that were ordered at the desk may read one private table within 30 days and end
    without a draw, before an administrator must allow more"""

    def _problems(self) -> Iterator[Problem]:
        """Keys, names and logins that two approvers share."""
        keys: dict[bytes, int] = {}
        names: dict[str, int] = {}  # by name and by login: an operator may go by either
        for i, person in enumerate(self.approvers):
            if (other := keys.setdefault(approver_key(person.key).identity, i)) != i:
                yield Problem(
                    ("approvers", i, "key"),
                    f"is also the key of {self.approvers[other].name}, so its holder would count "
                    "as two people; each must make their own key with hallmark approver-key",
                )
            for field, name in (("name", person.name), ("login", person.login)):
                if name is not None and (other := names.setdefault(known_as(name), i)) != i:
                    yield Problem(
                        ("approvers", i, field),
                        f"is {name!r}, which approvers[{other}] is already called; list each "
                        "person once, with one key and all their roles, and tell namesakes apart",
                    )
