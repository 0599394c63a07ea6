"""Changes of documents: by two people, as they stand, and of no other document."""

import json
from functools import partial
from pathlib import Path

import pytest

from hallmark.tasks import governance
from hallmark.tasks.governance import ChangeRefused, Proposal, proposals
from hallmark.tasks.installation.profile import profile, profile_file
from hallmark.tasks.installation.workspace import home as home_folder
from hallmark.tasks.people import directory
from hallmark.tasks.people.actions import Actor
from hallmark.tasks.people.rights import Role
from hallmark.tasks.profile_changes import (
    ProfileText,
    as_written,
    with_approver,
    with_cluster,
    with_gates,
    without_approver,
)

BOARD = Actor("the board", "command line")
current = ProfileText().current
decide = partial(governance.decide, named=lambda _: ProfileText())


def propose(text: str, reason: str, *, by: str) -> Proposal:
    return governance.propose(ProfileText(), as_written(text), reason, by=by)


FIRST = """\
hallmark_profile: 1
approvers:  # people we know
- name: Ada Example
  roles: [methodologist]
  key: {ada}
"""


@pytest.fixture(autouse=True)
def governors(home: Path) -> None:
    """Two people who govern, whatever a test changes."""
    for login in ("gina", "hugo"):
        directory.add(login, f"The {login}", [Role.GOVERNOR], by=BOARD)


@pytest.fixture
def keys() -> dict[str, str]:
    """Public keys of people, in base64."""
    import base64

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    def one() -> str:
        return base64.b64encode(
            Ed25519PrivateKey.generate().public_key().public_bytes_raw()
        ).decode()

    return {"ada": one(), "bo": one()}


@pytest.fixture
def text(home: Path, keys: dict[str, str]) -> str:
    home.mkdir(exist_ok=True)
    profile_file().write_text(FIRST.format(**keys))
    return current()


def test_one_proposes_and_another_approves(text: str, keys: dict[str, str]):
    after = with_approver(text, name="Bo Reviewer", roles=["reviewer"], login="bo", key=keys["bo"])
    made = propose(after, "Bo joined us", by="gina")
    assert "# people we know" in made.after
    assert next(line for line in made.lines if line[0] == "+") == "+- name: Bo Reviewer"
    assert current() == text
    with pytest.raises(ChangeRefused, match="nobody decides about their own proposal"):
        decide(made.number, "approved", "I like it", by="gina")
    with pytest.raises(ChangeRefused, match="nobody decides about their own proposal"):
        decide(made.number, "approved", "I like it", by="GINA ")
    done = decide(made.number, "approved", "I know him", by="hugo")
    assert current() == made.after
    assert [one.name for one in profile().approvers] == ["Ada Example", "Bo Reviewer"]
    assert profile_file().stat().st_mode & 0o777 == 0o600
    assert done.decided is not None
    assert (done.decided.by, done.decided.answer) == ("hugo", "approved")
    with pytest.raises(ChangeRefused, match="was approved already"):
        decide(made.number, "refused", "too late", by="hugo")


def test_what_was_refused_or_withdrawn_changes_nothing(text: str):
    for answer, by in (("refused", "hugo"), ("withdrawn", "gina")):
        made = propose(with_gates(text, plan=["reviewer"], disclosure=[]), "x" * 3, by="gina")
        other = {"refused": "gina", "withdrawn": "hugo"}[answer]
        with pytest.raises(ChangeRefused, match=r"own proposal|withdraws it"):
            decide(made.number, answer, "no reason", by=other)  # type: ignore[arg-type]
        decide(made.number, answer, "not so", by=by)  # type: ignore[arg-type]
    assert current() == text
    assert [one.number for one in proposals()] == [2, 1]


def test_a_proposal_for_another_profile_is_not_approved(text: str, keys: dict[str, str]):
    one = propose(with_gates(text, plan=["reviewer"], disclosure=[]), "gates", by="gina")
    two = propose(without_approver(text, "ada example"), "she left", by="gina")
    decide(one.number, "approved", "so be it", by="hugo")
    with pytest.raises(ChangeRefused, match="has changed since proposal 2 was made"):
        decide(two.number, "approved", "so be it", by="hugo")
    assert profile().approvals.plan == ("reviewer",)
    assert len(profile().approvers) == 1


@pytest.mark.parametrize("ends", ["leaves", "loses the role"])
def test_what_somebody_proposed_who_may_no_longer_is_not_approved(ends: str, text: str):
    """Whoever left is no half of two people, also where a process ended just before its note."""
    made = propose(with_gates(text, plan=["reviewer"], disclosure=[]), "gates", by="gina")
    if ends == "leaves":
        directory.leave("gina", by=BOARD)
    else:
        directory.set_roles("gina", [Role.OPERATOR], by=BOARD)
    for now in (text, made.after):
        profile_file().write_text(now)
        with pytest.raises(ChangeRefused, match="made by gina, who may no longer propose it"):
            decide(made.number, "approved", "so be it", by="hugo")
        assert current() == now
    assert proposals()[0].decided is None
    decide(made.number, "refused", "she left", by="hugo")


def test_a_process_that_ends_between_the_change_and_its_note_is_caught_up_with(text: str):
    made = propose(with_gates(text, plan=["reviewer"], disclosure=[]), "gates", by="gina")
    profile_file().write_text(made.after)
    assert decide(made.number, "approved", "again", by="hugo").decided is not None


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ("approvers: 3\n", "line 1: approvers"),
        ("- a list\n", "no profile"),
        ("", "no profile"),
        ("hallmark_profile: 1\nrelease: x\n", "release"),
        ("hallmark_profile: [\n", "no profile"),
    ],
)
def test_what_is_no_profile_is_not_proposed(after: str, says: str, text: str, home: Path):
    with pytest.raises(ChangeRefused, match=says) as refused:
        propose(after, "a reason", by="gina")
    assert str(home) not in str(refused.value)
    assert proposals() == []


def test_nothing_is_proposed_without_a_change_or_a_reason(text: str):
    with pytest.raises(ChangeRefused, match="that is the profile as it is"):
        propose(text.replace("\n", "\r\n"), "a reason", by="gina")
    with pytest.raises(ChangeRefused, match="say why"):
        propose(f"{text}uncharged_looks: 9\n", " ", by="gina")
    with pytest.raises(ChangeRefused, match="at most 200,000 characters"):
        propose(text + "#" * 200_000, "a reason", by="gina")


def test_two_entries_for_one_key_are_no_profile(text: str, keys: dict[str, str]):
    twice = with_approver(text, name="Eve", roles=["reviewer"], login="", key=keys["ada"])
    with pytest.raises(ChangeRefused, match="count as two people"):
        propose(twice, "a friend", by="gina")


def test_an_installation_without_a_profile_gets_one(home: Path):
    made = propose("hallmark_profile: 1\nuncharged_looks: 3\n", "a start", by="gina")
    decide(made.number, "approved", "a start", by="hugo")
    assert profile().uncharged_looks == 3


def test_a_proposal_that_an_earlier_version_kept_is_of_the_profile(text: str):
    after = with_gates(text, plan=["reviewer"], disclosure=[])
    kept = {"number": 1, "by": "gina", "at": "2026-11-01T00:00:00Z", "reason": "gates",
            "before": text, "after": after}  # fmt: skip
    folder = home_folder() / "governance"
    folder.mkdir()
    (folder / "000001.json").write_text(json.dumps(kept))
    assert decide(1, "approved", "agreed", by="hugo").document == "profile"
    assert profile().approvals.plan == ("reviewer",)


CLUSTERED = """\
hallmark_profile: 1
cluster:  # of the data centre
  class: dask_jobqueue.SLURMCluster
  options: {queue: long}  # ours
  adapt: {maximum: 8}
"""


@pytest.mark.parametrize(
    ("place", "said", "after"),
    [
        ("here", {("class",): "a.B"}, "hallmark_profile: 1\n"),
        ("class", {("class",): "dask_jobqueue.SLURMCluster", ("adapt", "maximum"): "9"},
         CLUSTERED.replace("8", "9")),
        ("class", {("class",): "other.Cluster"},
         "hallmark_profile: 1\ncluster:  # of the data centre\n  class: other.Cluster\n"),
        ("local", {("local", "processes"): "4", ("local", "memory"): "4GiB", ("class",): "a.B"},
         "hallmark_profile: 1\ncluster:  # of the data centre\n"
         "  local:\n    processes: 4\n    memory: 4GiB\n"),
    ],
)  # fmt: skip
def test_a_cluster_is_said_by_its_fields_and_the_rest_stays(place, said, after):
    assert with_cluster(CLUSTERED, place, said) == after


@pytest.mark.parametrize(
    ("place", "said", "where", "what"),
    [
        ("local", {("local", "memory"): "4"}, ("cluster", "local", "memory"), "must be a size"),
        ("address", {("address",): "here"}, ("cluster", "address"), "must be like tls://"),
        ("class", {("class",): "a.B", ("adapt", "minimum"): "2", ("adapt", "maximum"): "1"},
         ("cluster", "adapt", "maximum"), "below the minimum"),
        ("class", {}, ("cluster",), "is empty; give one of"),
    ],
)  # fmt: skip
def test_what_is_no_cluster_is_said_by_its_keys(place, said, where, what, text: str):
    with pytest.raises(ChangeRefused) as refused:
        propose(with_cluster(text, place, said), "faster", by="gina")
    assert what in refused.value.at[where]
    assert proposals() == []
