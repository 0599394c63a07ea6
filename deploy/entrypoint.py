"""Start a container's process with its secrets in its environment.

    python -m deploy.entrypoint COMMAND...

Prefect and Hallmark read their secrets from variables. To keep the values out of compose files,
manifests and the image, secrets are mounted as files: each file in /run/secrets that is named like
a variable, such as HALLMARK_LEDGER, becomes that variable of the command. Other files are ignored.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SECRETS = Path("/run/secrets")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+")


def main(command: Sequence[str], secrets: Path = SECRETS) -> None:
    """Replace this process by the command."""
    if not command:
        raise SystemExit("error: give the command to start")
    os.umask(0o077)  # whatever the process writes is readable only by its owner
    environment = with_secrets(os.environ, secrets)
    if temporary := environment.get("TMPDIR"):
        Path(temporary).mkdir(parents=True, exist_ok=True)  # on a volume that may be new
    os.execvpe(command[0], list(command), environment)


def with_secrets(given: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment with a variable for each secret file in the folder.

    Raises:
        SystemExit: a secret cannot be read, is empty, or is already in the environment.
    """
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return dict(given) | {
        file.name: _secret(file, given)
        for file in files
        if _VARIABLE.fullmatch(file.name) and file.is_file()
    }


def _secret(file: Path, given: Mapping[str, str]) -> str:
    if file.name in given:
        raise SystemExit(f"error: {file.name} is set, but so is the secret {file}; remove one")
    try:
        text = file.read_text(encoding="utf-8").rstrip("\n")
    except OSError as error:
        raise SystemExit(
            f"error: secret {file}: {error.strerror}; let user {os.getuid()} read it"
        ) from None
    if not text:
        raise SystemExit(f"error: secret {file} is empty")
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
