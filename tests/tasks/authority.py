"""A small time-stamping authority on the loopback address: `openssl ts` behind an HTTP server."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.serving import Handler, serving

_CONFIGURATION = """
[tsa]
default_tsa = authority
[authority]
serial = {folder}/serial
signer_cert = {folder}/signer.pem
signer_key = {folder}/signer-key.pem
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


@contextmanager
def authority(folder: Path) -> Iterator[str]:
    """URL of an authority whose root certificate is `root.pem` in the folder."""
    folder.mkdir()
    _certificates(folder)
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(_CONFIGURATION.format(folder=folder))

    class Answers(Handler):
        def do_POST(self) -> None:
            (folder / "query").write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            _openssl(
                folder, "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", "-out", "reply"
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.end_headers()
            self.wfile.write((folder / "reply").read_bytes())

    with serving(Answers) as url:
        yield url


def _certificates(folder: Path) -> None:
    """A root, and a signer that it certifies for time stamps alone."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    subject = ("-subj", "/CN=Root of the tests")
    _openssl(folder, "req", "-x509", *key, "-keyout", "root-key.pem", "-out", "root.pem", *subject)
    subject = ("-subj", "/CN=Time stamps of the tests")
    _openssl(folder, "req", *key, "-keyout", "signer-key.pem", "-out", "signer.csr", *subject)
    (folder / "use.cnf").write_text("extendedKeyUsage = critical,timeStamping\n")
    _openssl(
        folder, "x509", "-req", "-in", "signer.csr", "-CA", "root.pem", "-CAkey", "root-key.pem",
        "-CAcreateserial", "-extfile", "use.cnf", "-out", "signer.pem",
    )  # fmt: skip


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
