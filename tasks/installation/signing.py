"""Sign a release: the manifest of all its files, an Ed25519 signature, and the public key.

The signature covers the bytes of `manifest.json` as they stand in the folder, so that it can be
checked with any Ed25519 tool (`manifest.sig` holds it in base64, `signer.pub` the key in PEM).
"""

import base64
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from hallmark.schemas.documents.manifest import (
    MANIFEST_FILE,
    PUBLIC_KEY_FILE,
    REHEARSAL_FORMAT,
    RELEASE_FORMAT,
    SIGNATURE_FILE,
    SIGNATURE_FILES,
    Claims,
    FileEntry,
    Manifest,
)
from hallmark.schemas.given_files import MOST_KEYS, bytes_of, opened
from hallmark.tasks.installation.key_register import key_register
from hallmark.tasks.installation.secret_files import kept_secret
from hallmark.tasks.installation.signing_command import CommandSigner
from hallmark.tasks.installation.signing_command import SigningError as SigningError

if TYPE_CHECKING:  # a spec and its rules import pandas, and whoever has one has done so
    from hallmark.schemas.release_spec import ReleaseSpec

KEY_VARIABLE = "HALLMARK_SIGNING_KEY"
KEY_FILE_VARIABLE = "HALLMARK_SIGNING_KEY_FILE"
PASSPHRASE_VARIABLE = "HALLMARK_SIGNING_KEY_PASSPHRASE"
COMMAND_VARIABLE = "HALLMARK_SIGNING_COMMAND"
PUBLIC_KEY_FILE_VARIABLE = "HALLMARK_SIGNING_PUBLIC_KEY_FILE"
KEY_VARIABLES = (KEY_VARIABLE, KEY_FILE_VARIABLE, COMMAND_VARIABLE)
"""The variables that name the agency's key, of which one is set."""
DEMO_KEY_FILE = "demonstration-key.pem"
REHEARSAL_KEY_FILE = "rehearsal-key.pem"

_HOW_TO_MAKE_ONE = "make one with: openssl genpkey -algorithm ed25519 -out signing-key.pem"


class Signer(Protocol):
    """Something that signs with Ed25519: a private key in this process, or a command outside."""

    def public_key(self) -> Ed25519PublicKey:
        """The public half of the key."""
        ...

    def sign(self, data: bytes, /) -> bytes:
        """The signature of `data`, 64 bytes. Raises `SigningError` where there is none."""
        ...


@dataclass(frozen=True)
class SigningKey:
    """What signs, with where it came from; `warning` is empty where nothing is wrong with it."""

    signer: Signer = field(repr=False)
    origin: Literal["environment", "file", "command", "demonstration", "rehearsal"]
    warning: str = ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the public key, in hexadecimal."""
        return fingerprint(self.signer.public_key())

    def probe(self) -> None:
        """Refuse a key that cannot sign now; a key in this process always can.

        Raises:
            SigningError: the command that signs fails.
        """
        if isinstance(self.signer, CommandSigner):
            self.signer.probe()


def fingerprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of the key's SubjectPublicKeyInfo in DER, in hexadecimal.

    The same as `openssl pkey -pubin -in signer.pub -outform DER | sha256sum`.
    """
    return sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def signing_key(folder: Path, environment: Mapping[str, str] = os.environ) -> SigningKey:
    """The key to sign with: what the environment names, else a demonstration key.

    Args:
        folder: restricted folder in which a demonstration key is kept, mode 0600.
        environment: holds `HALLMARK_SIGNING_KEY` (PEM text) or `HALLMARK_SIGNING_KEY_FILE` (path),
            and `HALLMARK_SIGNING_KEY_PASSPHRASE` where the key is encrypted; or
            `HALLMARK_SIGNING_COMMAND` and `HALLMARK_SIGNING_PUBLIC_KEY_FILE`.
    Raises:
        SigningError: two of the variables are set, a file cannot be read, or its content is no
            Ed25519 key that the passphrase opens.
    """
    text, path = environment.get(KEY_VARIABLE), environment.get(KEY_FILE_VARIABLE)
    command = environment.get(COMMAND_VARIABLE)
    passphrase = environment.get(PASSPHRASE_VARIABLE)
    named = [name for name in KEY_VARIABLES if environment.get(name)]
    if len(named) > 1:
        raise SigningError(f"{' and '.join(named)} are both set; unset one")
    if command:
        public = environment.get(PUBLIC_KEY_FILE_VARIABLE)
        if not public:
            raise SigningError(
                f"{COMMAND_VARIABLE} is set, but {PUBLIC_KEY_FILE_VARIABLE} is not; name a file "
                "with the public key in PEM, with which every signature is checked"
            )
        file = Path(public).expanduser()
        return SigningKey(CommandSigner.of(command, file, COMMAND_VARIABLE), "command")
    if text:
        return SigningKey(_private_key(text.encode(), passphrase, KEY_VARIABLE), "environment")
    if path:
        file = Path(path).expanduser()
        where = f"{KEY_FILE_VARIABLE} ({file})"
        return SigningKey(
            _private_key(_read_or_piped(file, where), passphrase, where),
            "file",
            _if_open_to_others(file),
        )
    return _demonstration_key(folder)


def key_for(spec: "ReleaseSpec", folder: Path) -> SigningKey:
    """The key that signs what is made of `spec`; of a rehearsal never the agency's.

    Args:
        folder: as for `signing_key`.
    Raises:
        SigningError: as for `signing_key`, and for `refuse_ended`.
        RegisterRefused: the register cannot be read.
    """
    if spec.rehearsal_of is not None:
        return _rehearsal_key(folder)
    key = signing_key(folder)
    refuse_ended(key)
    return key


def refuse_ended(key: SigningKey) -> None:
    """Refuse a key that is no longer, or not yet, valid by the register of keys.

    Raises:
        SigningError: it is not valid now.
        RegisterRefused: the register cannot be read.
    """
    entry = key_register().signing_key(key.fingerprint)
    if entry is not None and (ended := entry.ended(datetime.now(UTC))):
        raise SigningError(
            f"the signing key {key.fingerprint[:16]}… {ended}, as the register of keys says "
            "(hallmark key list); sign with the agency's present key"
        )


def sign_manifest(folder: Path, claims: Claims, key: SigningKey) -> Manifest:
    """Write `manifest.json`, `manifest.sig` and `signer.pub` for all files in `folder`.

    Call it last: a file changed or added later makes the verification fail.

    Raises:
        SigningError: the folder holds something that is not a plain file, or the command that
            signs fails.
    """
    files = {}
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_file():
            raise SigningError(f"{path.name} in the release folder is not a plain file; remove it")
        if path.name not in SIGNATURE_FILES:
            files[path.name] = FileEntry(sha256=digest(path), bytes=path.stat().st_size)
    manifest = Manifest(
        **dict(claims),
        format=REHEARSAL_FORMAT if key.origin == "rehearsal" else RELEASE_FORMAT,
        files=files,
        public_key_fingerprint=key.fingerprint,
    )
    content = manifest.canonical_bytes()
    signature = key.signer.sign(content)  # before anything is written: a command may fail
    public = key.signer.public_key()
    (folder / MANIFEST_FILE).write_bytes(content)
    (folder / SIGNATURE_FILE).write_bytes(base64.b64encode(signature) + b"\n")
    (folder / PUBLIC_KEY_FILE).write_bytes(
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return manifest


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with opened(path) as handle:
        return file_digest(handle, "sha256").hexdigest()


def private_key(file: Path, passphrase: Callable[[], str]) -> Ed25519PrivateKey:
    """A person's key in a PEM file.

    Args:
        passphrase: asks for it, and is called only where the key is encrypted.
    Raises:
        SigningError: the file cannot be read, or holds no Ed25519 key that the passphrase opens.
    """
    pem = _read(file, str(file))
    return _private_key(pem, passphrase() if b"ENCRYPTED" in pem else None, str(file))


def _private_key(pem: bytes, passphrase: str | None, where: str) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem, passphrase.encode() if passphrase else None)
    except TypeError:
        # The library's way to say that a passphrase is missing, or given for a plain key.
        raise SigningError(
            f"{where}: the key is not encrypted, but {PASSPHRASE_VARIABLE} is set; unset it"
            if passphrase
            else f"{where}: the key is encrypted; set {PASSPHRASE_VARIABLE}"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        reason = f"or {PASSPHRASE_VARIABLE} does not open it; " if passphrase else ""
        raise SigningError(
            f"{where}: not a private key in PEM, {reason}{_HOW_TO_MAKE_ONE}"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        kind = type(key).__name__.removesuffix("PrivateKey").strip("_")
        raise SigningError(f"{where}: the key is of type {kind}, not Ed25519; {_HOW_TO_MAKE_ONE}")
    return key


def _read(file: Path, where: str) -> bytes:
    try:
        return bytes_of(file, MOST_KEYS)
    except OSError as error:
        raise SigningError(f"{where}: cannot be read ({error.strerror}); fix the path") from None


def _read_or_piped(file: Path, where: str) -> bytes:
    """The agency's key, which a command may give through a pipe, so that no disk holds it plain."""
    if file.is_fifo():
        with file.open("rb") as pipe:
            return pipe.read(MOST_KEYS)
    return _read(file, where)


def _if_open_to_others(file: Path) -> str:
    if os.name == "posix" and file.stat().st_mode & 0o077:
        return f"Others on this machine may read the signing key; run: chmod 600 {file.name}."
    return ""


def _demonstration_key(folder: Path) -> SigningKey:
    return SigningKey(
        kept_key(folder / DEMO_KEY_FILE),
        "demonstration",
        "Signed with a demonstration key that was generated on this machine: the signature shows "
        "that nothing was changed since, not who published. For a real release set "
        f"{KEY_FILE_VARIABLE} to your agency's Ed25519 key.",
    )


def _rehearsal_key(folder: Path) -> SigningKey:
    return SigningKey(
        kept_key(folder / REHEARSAL_KEY_FILE),
        "rehearsal",
        "Signed with a key that was made for rehearsals alone: this is no release, and nobody "
        "vouches for it.",
    )


def kept_key(file: Path) -> Ed25519PrivateKey:
    """A key of this installation's own, made where the file does not exist yet."""
    pem = kept_secret(
        file,
        lambda: Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ),
    )
    return _private_key(pem, None, file.name)
