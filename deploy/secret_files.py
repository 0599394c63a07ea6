"""Make the secrets of an installation in containers: a folder of files readable only by its owner.

    python -m deploy.secret_files FOLDER [--database HOST:PORT]

Each file is named like the variable that it becomes (`deploy.entrypoint`). Existing files are kept;
to change a secret, delete its file and run this again. The agency's signing key is not made here.
"""

import argparse
import secrets
from pathlib import Path

from deploy.certificates import certificates, write_private
from hallmark.tasks.installation.secret_files import kept_secret

_CLUSTER = ("dask-scheduler", "dask-worker", "worker")


def main(folder: Path, database: str) -> None:
    """Make missing secrets, and list all."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    administrator = _kept(folder / "POSTGRES_PASSWORD", secrets.token_urlsafe(24))
    write_private(
        folder / "HALLMARK_DATABASE", f"postgresql://postgres:{administrator}@{database}".encode()
    )
    for name, driver, role in (
        ("HALLMARK_LEDGER", "psycopg", "hallmark_ledger"),
        ("PREFECT_API_DATABASE_CONNECTION_URL", "asyncpg", "hallmark_prefect"),
    ):
        password = secrets.token_urlsafe(24)
        _kept(folder / name, f"postgresql+{driver}://{role}:{password}@{database}/{role}")
    operator = _kept(folder / "PREFECT_API_AUTH_STRING", f"operator:{secrets.token_urlsafe(24)}")
    # Clients send the same string that the server expects.
    write_private(folder / "PREFECT_SERVER_API_AUTH_STRING", operator.encode())
    tls = folder / "tls"
    tls.mkdir(mode=0o700, exist_ok=True)
    certificates(tls, _CLUSTER)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        print(file)


def _kept(file: Path, fresh: str) -> str:
    """The content of the file, which is created with `fresh` if missing."""
    return kept_secret(file, fresh.encode).decode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m deploy.secret_files", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--database", default="postgres:5432", help="where PostgreSQL listens")
    asked = parser.parse_args()
    main(asked.folder, asked.database)
