"""One virtual environment for each peer, made from its pinned requirements when first needed."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.data import ROOT

REQUIREMENTS = Path(__file__).parent / "peers"
HOME = ROOT / "build/peers"


def interpreter(name: str) -> Path:
    """Python of the peer's environment, which is made, or remade after its pins have changed.

    Raises:
        FileNotFoundError: the peer has no requirements file.
        RuntimeError: they could not be installed.
    """
    requirements = REQUIREMENTS / f"{name}.txt"
    folder = HOME / name
    python, marker = folder / "bin/python", folder / "installed"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if python.exists() and marker.exists() and marker.read_text() == digest:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    print(f"making the environment of {name} in {folder.relative_to(ROOT)}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    made = subprocess.run(
        [*pip, "-r", str(requirements)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise RuntimeError(
            f"the requirements of {name} ({requirements.relative_to(ROOT)}) could not be "
            f"installed: {made.stderr.strip().splitlines()[-1]}"
        )
    marker.write_text(digest)
    return python
