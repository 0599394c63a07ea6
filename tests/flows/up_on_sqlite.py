"""`make up` with the ledger in a file: `HALLMARK_TEST_LEDGER` in place of the one on PostgreSQL."""

import os
import sys
from typing import Any

from deploy.local import __main__ as up

on_postgres = up.settings


def settings(*how: Any) -> dict[str, str]:
    return on_postgres(*how) | {"HALLMARK_LEDGER": os.environ["HALLMARK_TEST_LEDGER"]}


if __name__ == "__main__":
    up.settings = settings
    sys.exit(up.main())
