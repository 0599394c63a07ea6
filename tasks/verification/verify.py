"""Verify a release folder, offline and without the private data.

What this shows: nothing was changed since the release was signed, the documents say the same, the
recorded privacy events cost no more than is claimed, the data lie in their public domain, all data
files hold the same records, and the report is made from its record. What it cannot show: that the
run did what the record says, and so nothing against somebody who signs a record that is not true.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from hallmark.mechanisms.privacy.accountant import fits
from hallmark.mechanisms.privacy.budget import Budget
from hallmark.mechanisms.privacy.events import (
    DiscreteLaplace,
    ExponentialMechanism,
    events_from_json,
)
from hallmark.mechanisms.privacy.trade_off import unproved
from hallmark.schemas.documents.audit_report import FORMAT, AuditRecord
from hallmark.schemas.documents.certificate import CertificateFile, CertifiedFile
from hallmark.schemas.documents.data_dictionary import DataDictionary
from hallmark.schemas.documents.decisions import FirstApprovalsFile
from hallmark.schemas.documents.manifest import (
    APPROVALS_FILE,
    CERTIFICATE_FILE,
    DICTIONARY_FILE,
    MANIFEST_FILE,
    MEASUREMENTS_FILE,
    PUBLIC_KEY_FILE,
    RECORD_FILE,
    REQUIRED_FILES,
    SIGNATURE_FILE,
    SIGNATURE_FILES,
    TIME_STAMP_FILE,
    Manifest,
)
from hallmark.schemas.release_spec import ReleaseSpec
from hallmark.tasks.installation.signing import digest, fingerprint
from hallmark.tasks.output.measurements import MeasurementsUnreadable, read_measurements
from hallmark.tasks.output.released import broken_totals
from hallmark.tasks.output.replicates import replicate_faults
from hallmark.tasks.rendering import files_for_users, rendered_files
from hallmark.tasks.sources.texts import Unbounded
from hallmark.tasks.verification.agreement import claim_faults, dictionary_faults
from hallmark.tasks.verification.approvals import approval_faults, read_approvals
from hallmark.tasks.verification.changes import change_checks
from hallmark.tasks.verification.conformity import nonconformities
from hallmark.tasks.verification.documents import (
    Check,
    Documents,
    Unsound,
    is_plain,
    plain_bytes,
    read_documents,
    read_manifest,
    sound,
)
from hallmark.tasks.verification.key_dates import KeysAtHand, key_checks, time_stamp
from hallmark.tasks.verification.lookups import lookup_faults
from hallmark.tasks.verification.notices import KnownKeys, notice_checks
from hallmark.tasks.verification.people import people_faults
from hallmark.tasks.verification.same_records import record_faults
from hallmark.tasks.verification.series_plan import series_plan


@dataclass(frozen=True)
class Verification:
    """All checks of a release folder, in the order in which they build on each other."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}


def verify_release(
    folder: Path,
    public_key: Path | None = None,
    certified: Path | None = None,
    keys: KeysAtHand | None = None,
    notices: Sequence[Path] = (),
) -> Verification:
    """Check everything that can be checked without the private data.

    Args:
        folder: a release folder, or that of a certificate of records made elsewhere.
        public_key: the agency's key (PEM), obtained from elsewhere. Without it, the key in the
            folder itself is used, which shows that nothing was changed but not who signed.
        certified: the file that a certificate is about; where it is not given, one of its name in
            the folder.
        keys: the agency's register of keys, obtained from elsewhere, to check whether each key was
            valid when it signed.
        notices: folders and files of notices, which tell of a release that it was superseded, and
            fail one that was withdrawn.
    Returns:
        One entry a check. A file that is missing or broken is a failed check, not an exception.
    """
    try:
        manifest = read_manifest(folder)
    except Unsound as error:
        return Verification((Check("manifest", False, str(error)),))
    checks = [
        Check("manifest", True, f"release {manifest.release_id}, in canonical form"),
        *_rehearsed(manifest),
        _signature(folder, manifest, public_key),
        *(_time_stamp(folder) if keys is None else key_checks(folder, manifest, keys)),
        *notice_checks(
            folder,
            manifest,
            notices,
            KnownKeys.given(public_key, None if keys is None else keys.register),
        ),
        _check("files", _file_faults(folder, manifest), f"{len(manifest.files)} as signed"),
    ]
    if not all(is_plain(folder / name) for name in manifest.files):
        return Verification(tuple(checks))  # a pipe or a device in their place has no end
    try:
        documents = read_documents(folder, manifest)
    except Unsound as error:
        return Verification((*checks, Check("documents", False, str(error))))
    claim, data = manifest.privacy, [n for n in manifest.data_files if n in manifest.files]
    checks += [
        Check("documents", True, "spec, certificate, dictionary and record are sound"),
        _check(
            "claims",
            [*claim_faults(documents), *dictionary_faults(documents)],
            "manifest, spec, certificate, dictionary and record agree"
            + (
                "; the claim, in the first format, does not say what is unprotected"
                if claim.unprotected is None
                else ""
            ),
        ),
        _check(
            "privacy events",
            _event_faults(documents.record),
            f"they cost at most epsilon {claim.epsilon}, delta {claim.delta}",
        ),
        *_approvals(folder, documents),
        *_series_plan(folder, documents),
        *_measurements(folder, documents),
        *change_checks(folder, documents),
        *_replicates(folder, documents),
        *_people(folder, documents),
        *(
            _check(name, _data_faults(folder / name, documents.dictionary), "as in the dictionary")
            for name in data
        ),
        *_same_records(folder, documents.spec, data),
        *(
            _check(
                f"lookups in {name}",
                lookup_faults(documents.spec, folder / name),
                f"as the spec has them: {', '.join(documents.spec.published_lookups)}",
            )
            for name in data
            if documents.spec.published_lookups
        ),
        *(
            _check(
                f"public totals in {name}",
                _total_faults(folder / name, documents.spec),
                f"all {len(documents.spec.public_totals)} hold exactly",
            )
            for name in data
            if documents.spec.public_totals
        ),
        _rendering(folder, documents),
        *_certified_file(folder, documents.certificate.file, certified),
    ]
    return Verification(tuple(checks))


def verify_files(folder: Path, public_key: Path | None = None) -> Verification:
    """Check that the files are those that were signed; what they say is not looked at.

    Args:
        folder: a release folder.
        public_key: as of `verify_release`.
    """
    try:
        manifest = read_manifest(folder)
    except Unsound as error:
        return Verification((Check("manifest", False, str(error)),))
    return Verification(
        (
            _signature(folder, manifest, public_key),
            _check("files", _file_faults(folder, manifest), f"{len(manifest.files)} as signed"),
        )
    )


def signature_of(folder: Path, public_key: Path | None = None) -> Check:
    """Whether the manifest of a release folder is signed, and by whom; nothing else is checked."""
    try:
        return _signature(folder, read_manifest(folder), public_key)
    except Unsound as error:
        return Check("manifest", False, str(error))


def _rehearsed(manifest: Manifest) -> Iterator[Check]:
    """A rehearsal is no release, however well it is made."""
    if manifest.is_rehearsal:
        yield Check(
            "release",
            False,
            "REHEARSAL: made of records that are public or made up, charged to nobody and signed "
            "by no agency; the other checks tell whether it was changed since",
        )


def _time_stamp(folder: Path) -> Iterator[Check]:
    """Whether the time stamp is one of this signature; no check where there is none."""
    if (folder / TIME_STAMP_FILE).exists():
        yield time_stamp(folder, None)[1]


def _same_records(folder: Path, spec: ReleaseSpec, data: list[str]) -> Iterator[Check]:
    """Whether all data files hold the same records; no check where there is one."""
    if len(data) > 1:
        yield _check(
            "records",
            record_faults(spec, [folder / name for name in data]),
            f"the same in {' and '.join(data)}, in the same order",
        )


def _approvals(folder: Path, documents: Documents) -> Iterator[Check]:
    """Whether whoever had to approve did; no check where nobody had to."""
    asked, manifest = documents.spec.approvals, documents.manifest
    if asked.plan or asked.disclosure or APPROVALS_FILE in manifest.files:
        sound = "signed, complete, and about these very files"
        if isinstance(read_approvals(folder), FirstApprovalsFile):
            sound += "; in the first format, which cannot show that nothing was left out"
        yield _check("approvals", approval_faults(folder, manifest, documents.spec), sound)


def _series_plan(folder: Path, told: Documents) -> Iterator[Check]:
    """As `series_plan`, once its statements are sound: only then do they show who approved."""
    if APPROVALS_FILE not in told.manifest.files:
        return
    if not any(approval_faults(folder, told.manifest, told.spec)):
        yield from series_plan(folder, told)


def _measurements(folder: Path, told: Documents) -> Iterator[Check]:
    """Whether the noisy tables can be read, and have noise that was charged; no check without."""
    if MEASUREMENTS_FILE in told.manifest.files:
        yield _check(
            MEASUREMENTS_FILE,
            _measurement_faults(folder / MEASUREMENTS_FILE, told),
            "of this release, with noise that the record charges",
        )


def _replicates(folder: Path, told: Documents) -> Iterator[Check]:
    """Whether the replicate weights are those that the dictionary describes; no check without."""
    if (described := told.dictionary.replicates) is not None:
        yield _check(
            "replicate weights",
            replicate_faults(folder, told.dictionary),
            f"{' and '.join(described.files)}: {described.number} for each record and purpose",
        )


def _people(folder: Path, told: Documents) -> Iterator[Check]:
    """Whether the files of a panel say whom the records continue; no check without."""
    if files := told.dictionary.people:
        yield _check(
            "people of the panel",
            people_faults(folder, told.spec, told.dictionary.rows),
            f"{' and '.join(files)}: whom every record continues, as its values say",
        )


def _measurement_faults(path: Path, told: Documents) -> Iterator[str]:
    try:
        found = read_measurements(path, tuple(told.spec.columns))
    except MeasurementsUnreadable as error:
        yield str(error)
        return
    if found.release != told.spec.release:
        yield f"it is of release {found.release}"
    charged = {
        event.scale if isinstance(event, DiscreteLaplace) else event.sigma2
        for event in events_from_json(dict(event) for event in told.record.mechanism.events)
        if not isinstance(event, ExponentialMechanism)
    }
    for table in found.tables:
        if (parameter := table.noise.parameter) not in charged:
            yield f"a table has noise of parameter {parameter}, which the record does not charge"


def _certified_file(
    folder: Path, file: CertifiedFile | None, certified: Path | None
) -> Iterator[Check]:
    """Whether the file at hand is the one that the certificate is about."""
    name = "certified file"
    if file is None:
        if certified is not None:
            yield Check(name, False, "the release certifies its own data files, and no other file")
        return
    at_hand = certified or folder / file.name
    if certified is None and not at_hand.exists():
        yield Check(
            name,
            True,
            f"{file.name} is not at hand; whoever has it can be sure by its SHA-256, {file.sha256}",
        )
        return
    try:
        same = digest(at_hand) == file.sha256
    except OSError as error:
        yield Check(name, False, f"{at_hand} cannot be read ({error.strerror})")
        return
    yield _check(
        name,
        [] if same else [f"{at_hand.name} is not the file that was certified"],
        f"{at_hand.name} is the file that was certified",
    )


def _check(name: str, faults: Iterator[str] | list[str], sound: str) -> Check:
    told = list(faults)
    return Check(name, not told, "; ".join(told) or sound)


def _signature(folder: Path, manifest: Manifest, public_key: Path | None) -> Check:
    name = "signature"
    try:
        given = fingerprint(_public_key(public_key)) if public_key else None
        key = _public_key(folder / PUBLIC_KEY_FILE)
        if given not in (None, fingerprint(key)):
            return Check(
                name,
                False,
                f"{PUBLIC_KEY_FILE} is {fingerprint(key)}, and the given key another, {given}: "
                f"somebody else signed, or {public_key} is not the agency's",
            )
        signature = base64.b64decode(plain_bytes(folder / SIGNATURE_FILE), validate=False)
        key.verify(signature, plain_bytes(folder / MANIFEST_FILE))
    except Unsound as error:
        return Check(name, False, str(error))
    except binascii.Error:
        return Check(name, False, f"{SIGNATURE_FILE} is not base64")
    except InvalidSignature:
        return Check(
            name, False, f"the signature is not of this manifest under the key in {PUBLIC_KEY_FILE}"
        )
    if fingerprint(key) != manifest.public_key_fingerprint:
        return Check(
            name, False, f"the manifest names another key than the one in {PUBLIC_KEY_FILE}"
        )
    if given is not None:
        return Check(name, True, f"by the given key, {fingerprint(key)}")
    return Check(
        name,
        True,
        f"by the enclosed key, {fingerprint(key)}: nothing was changed since; to be sure who "
        "signed, compare this fingerprint with the agency's, or give the agency's key",
    )


def _public_key(path: Path) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(plain_bytes(path))
    except (ValueError, UnsupportedAlgorithm):
        raise Unsound(f"{path.name} is not a public key in PEM") from None
    if not isinstance(key, Ed25519PublicKey):
        raise Unsound(f"{path.name} is a key of another type than Ed25519")
    return key


def _file_faults(folder: Path, manifest: Manifest) -> Iterator[str]:
    present = {path.name for path in folder.iterdir()}
    given = _given(folder)
    for name in sorted(present - set(manifest.files) - {*SIGNATURE_FILES, TIME_STAMP_FILE} - given):
        yield f"{name} is not in the manifest"
    for name in REQUIRED_FILES:
        if name not in manifest.files:
            yield f"the manifest lists no {name}"
    if not given and not set(manifest.data_files) & set(manifest.files):
        yield "the manifest lists no data file"
    for name, entry in sorted(manifest.files.items()):
        path = folder / name
        if name not in present:
            yield f"{name} is missing"
        elif not is_plain(path):
            yield f"{name} is not a plain file"
        elif path.stat().st_size != entry.bytes or digest(path) != entry.sha256:
            yield f"{name} was changed after signing"


def _given(folder: Path) -> set[str]:
    """The name of the file that a certificate is about, which may lie beside it and is not signed
    with it; empty where the release has data of its own, or no sound certificate."""
    try:
        certificate = sound(folder / CERTIFICATE_FILE, CertificateFile.model_validate_json)
    except Unsound:
        return set()
    return set() if certificate.file is None else {certificate.file.name}


def _event_faults(record: AuditRecord) -> Iterator[str]:
    claim = record.guarantee.claim
    try:
        events = events_from_json(dict(event) for event in record.mechanism.events)
    except (KeyError, TypeError, ValueError) as error:
        yield f"they cannot be read ({error})"
        return
    budget = Budget(epsilon=claim.epsilon, delta=claim.delta)
    if not fits(events, budget):
        yield f"they cost more than epsilon {claim.epsilon}, delta {claim.delta}"
        return
    for epsilon, delta in unproved(record.guarantee.curve, events, budget):
        yield f"they allow more at epsilon {epsilon:.6g} than delta {delta:.6g}, as is said"


def _data_faults(path: Path, dictionary: DataDictionary) -> Iterator[str]:
    try:
        yield from nonconformities(path, dictionary)
    except Unbounded as error:
        yield str(error)
    except (OSError, pa.ArrowException) as error:
        yield f"it cannot be read as {path.suffix[1:]} ({type(error).__name__})"


def _total_faults(path: Path, spec: ReleaseSpec) -> Iterator[str]:
    try:
        yield from broken_totals(spec, path)
    except Exception as error:  # whatever a file that is not as it should be makes a reader do
        yield f"it cannot be counted in ({type(error).__name__})"


def _rendering(folder: Path, told: Documents) -> Check:
    """Whether all that is made from the record is what this version makes of it."""
    name, record = "report", told.record
    if record.format != FORMAT:
        return Check(
            name,
            True,
            f"as signed; made in an earlier format ({record.format}) by Hallmark "
            f"{record.provenance.software.hallmark}, which alone can render it anew to compare",
        )
    files = rendered_files(record) | files_for_users(record, told.dictionary)
    sound = f"{', '.join(files)}: as rendered from {RECORD_FILE} and {DICTIONARY_FILE}"
    return _check(name, list(_rendering_faults(folder, told, files)), sound)


def _rendering_faults(folder: Path, told: Documents, files: Mapping[str, bytes]) -> Iterator[str]:
    for name, content in files.items():
        if name not in told.manifest.files:
            yield f"the manifest lists no {name}"
            continue
        try:
            same = plain_bytes(folder / name) == content
        except Unsound as error:
            yield str(error)
            continue
        if not same:
            yield (
                f"{name} is not what this version renders from {RECORD_FILE} and "
                f"{DICTIONARY_FILE}; it was rendered by Hallmark "
                f"{told.record.provenance.software.hallmark}, so verify with that version"
            )
