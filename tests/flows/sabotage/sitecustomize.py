"""What every Python process of an installation under test loads as it starts; it meets engines.

The folder `HALLMARK_TEST_FAULTS` holds a file `kill-STAGE`, `fill-STAGE` or `hold-STAGE` for every
fault that is to happen. The engine of a flow run that comes to the stage renames it to `met-STAGE`,
so that each happens once. Then it is killed in the midst of the stage, fills the disk on which the
file that `fill-STAGE` names is to lie, or waits for the test to remove `met-STAGE`.
"""

import os
import signal
import sys
import time
from pathlib import Path
from threading import Timer

INTO = 0.03  # seconds into the stage


def meet(stage: str, _share: float, _doing: str) -> None:
    """Meet what is to happen at a stage that begins."""
    for kind, happen in FAULTS.items():
        fault, met = FOLDER / f"{kind}-{stage}", FOLDER / f"met-{stage}"
        if fault.exists():
            said = fault.read_text()
            fault.rename(met)
            happen(said, met)


def kill(_said: str, _met: Path) -> None:
    Timer(INTO, os.kill, (os.getpid(), signal.SIGKILL)).start()


def fill(said: str, _met: Path) -> None:
    try:
        with open(said, "wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(1 << 20))
    except OSError:
        pass


def hold(_said: str, met: Path) -> None:
    while met.exists():
        time.sleep(0.02)


FAULTS = {"kill": kill, "fill": fill, "hold": hold}

if "prefect.engine" in sys.orig_argv:
    from hallmark.tasks.installation.progress import listening

    FOLDER = Path(os.environ["HALLMARK_TEST_FAULTS"])
    watching = listening(meet)  # kept, or it would end
    watching.__enter__()
