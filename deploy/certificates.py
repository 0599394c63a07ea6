"""Make an authority and one certificate, with which Dask's processes authenticate each other (TLS).

    python -m deploy.certificates FOLDER NAME...

Scheduler, workers and releases of an installation share the certificate: only holders of its key
can join the cluster. Existing files are kept; delete them to make new ones.
"""

import datetime
import ipaddress
import sys
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from hallmark.tasks.installation.secret_files import write_secret

_YEARS = 2
_AUTHORITY = "Hallmark cluster authority"


def main(folder: Path, names: Sequence[str]) -> None:
    """Make the files unless they exist, and print their paths."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in certificates(folder, names).values():
        print(path)


def certificates(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Paths of `ca`, `cert` and `key` in PEM.

    Args:
        names: host names and addresses that the certificate is for; the first is its subject.
    """
    files = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
    if not all(file.exists() for file in files.values()):
        _make(files, names)
    return files


def write_private(file: Path, content: bytes) -> None:
    """Write a file readable only by its owner, replacing an existing one."""
    file.unlink(missing_ok=True)
    write_secret(file, content)


def _make(files: dict[str, Path], names: Sequence[str]) -> None:
    now = datetime.datetime.now(datetime.UTC)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    own_key = ec.generate_private_key(ec.SECP256R1())

    def signed(
        subject: str, key: ec.EllipticCurvePrivateKey, *extensions: tuple[x509.ExtensionType, bool]
    ) -> bytes:
        known_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(subject))
            .issuer_name(_name(_AUTHORITY))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now)
            .not_valid_after(now + datetime.timedelta(days=365 * _YEARS))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(known_by, False)
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(authority_key, hashes.SHA256()).public_bytes(Encoding.PEM)

    signs = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    ca = signed(
        _AUTHORITY,
        authority_key,
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (signs, True),
    )
    hosts = x509.SubjectAlternativeName([_host(name) for name in names])
    write_private(files["ca"], ca)
    write_private(files["cert"], signed(names[0][:64], own_key, (hosts, False)))
    write_private(
        files["key"], own_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )  # the authority's own key is not kept: it signs nothing else


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:])
