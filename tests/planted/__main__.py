"""Plant the faults one after the other, and say which tests noticed."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.planted.faults import ROOT, copied, faults, planting, run


def main() -> int:
    """Plant the faults; returns how many were missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="faults; all where none is named")
    parser.add_argument(
        "--tree", type=Path, default=ROOT, help="another checkout, to plant the faults in a copy"
    )
    parser.add_argument(
        "--only-planted", action="store_true", help="do not run the tests without a fault first"
    )
    asked = parser.parse_args()
    chosen = [fault for fault in faults() if not asked.ids or fault.id in asked.ids]
    if unknown := set(asked.ids) - {fault.id for fault in chosen}:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="hallmark-planted-") as folder:
        tree = copied(asked.tree.resolve(), Path(folder) / "tree")
        if not asked.only_planted:
            tests = sorted({test for fault in chosen for test in fault.tests})
            sound = run(tests, tree, stop_early=False)
            if not sound.passed:
                print(sound.said)
                print("the tests fail where nothing is planted")
                return 1
            print("without a fault:", sound.said.strip().splitlines()[-1], flush=True)
        missed = 0
        for fault in chosen:
            began = time.monotonic()
            try:
                with planting(fault, tree):
                    found = run(fault.tests, tree)
            except (OSError, ValueError) as error:
                how = f"NOT PLANTED {error}"
            else:
                how = f"caught {found.caught_by}"
                if found.caught_by is None:
                    how = f"MISSED (status {found.status})"
            missed += not how.startswith("caught")
            print(f"{fault.id}\t{how}\t{time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults caught")
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 100))
