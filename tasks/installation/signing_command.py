"""Sign with a command outside of this process: an HSM, a KMS or a smart card.

The command gets the bytes to sign on its standard input and writes the Ed25519 signature to its
standard output: 64 bytes, or their base64. It runs without a shell. What it answers is checked with
the public key before anything uses it, so a wrong key or a broken command is noticed at once.
"""

import base64
import binascii
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from hallmark.schemas.given_files import MOST_KEYS, bytes_of

_SECONDS = 60  # to wait for a command: somebody may have to touch a token
_SIGNATURE_BYTES = 64
_PROBE = b"hallmark: is this key at hand?"


class SigningError(Exception):
    """Something cannot be signed; the message says what to fix and shows no key."""


@dataclass(frozen=True)
class CommandSigner:
    """A key that only a command can sign with.

    Attributes:
        arguments: the command and its arguments, which may hold a PIN: nothing shows them.
        where: what named the command, for messages.
    """

    arguments: tuple[str, ...] = field(repr=False)
    public: Ed25519PublicKey
    where: str

    @classmethod
    def of(cls, command: str, public_key: Path, where: str) -> "CommandSigner":
        """The signer that a command line and a file with its public key (PEM) describe.

        Raises:
            SigningError: the command line cannot be split, or the file holds no such key.
        """
        try:
            arguments = tuple(shlex.split(command))
        except ValueError:
            arguments = ()
        if not arguments:
            raise SigningError(f"{where}: is no command line; check its quotes")
        return cls(arguments, public_key_in(public_key), where)

    def public_key(self) -> Ed25519PublicKey:
        """The public half of the key."""
        return self.public

    def sign(self, data: bytes, /) -> bytes:
        """The signature of `data`, which was checked.

        Raises:
            SigningError: the command fails, takes too long, or answers with no signature of `data`
                under the public key.
        """
        signature = _signature_in(self._answer(data))
        try:
            self.public.verify(signature, data)
        except InvalidSignature:
            raise self._error(
                "answers with no Ed25519 signature of what it was given under the public key; name "
                "the public key of the same key, and write 64 bytes or their base64, and nothing "
                "else, to the standard output"
            ) from None
        return signature

    def probe(self) -> None:
        """Refuse a command that cannot sign now.

        Raises:
            SigningError: as for `sign`.
        """
        self.sign(_PROBE)

    def _answer(self, data: bytes) -> bytes:
        try:
            done = subprocess.run(
                self.arguments, input=data, capture_output=True, timeout=_SECONDS, check=False
            )
        except OSError as error:
            raise self._error(f"cannot be started ({error.strerror}); fix the path") from None
        except subprocess.TimeoutExpired:
            raise self._error(f"is too slow: {_SECONDS} seconds; try it by hand") from None
        if done.returncode != 0:
            # What it says is not shown: tools for tokens repeat PINs and addresses.
            raise self._error(
                f"ended with exit code {done.returncode}; to see what it says, run it by hand with "
                "a file as its standard input"
            )
        return done.stdout

    def _error(self, what: str) -> SigningError:
        return SigningError(f"{self.where}: the command {Path(self.arguments[0]).name} {what}")


def public_key_in(file: Path) -> Ed25519PublicKey:
    """The Ed25519 public key in a PEM file.

    Raises:
        SigningError: the file cannot be read, or holds something else.
    """
    try:
        key = load_pem_public_key(bytes_of(file, MOST_KEYS))
    except OSError as error:
        raise SigningError(f"{file}: cannot be read ({error.strerror}); fix the path") from None
    except (ValueError, UnsupportedAlgorithm):
        raise SigningError(f"{file}: is not a public key in PEM") from None
    if not isinstance(key, Ed25519PublicKey):
        raise SigningError(f"{file}: is a public key of another type than Ed25519")
    return key


def _signature_in(answer: bytes) -> bytes:
    """The signature that a command wrote, raw or in base64; anything else as it is."""
    if len(answer) != _SIGNATURE_BYTES:
        try:
            return base64.b64decode(b"".join(answer.split()), validate=True)
        except binascii.Error:
            return answer
    return answer
