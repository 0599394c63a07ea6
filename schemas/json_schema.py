"""The JSON Schema of the release spec, which lets editors complete and check a spec.

It checks less than the loader, which also checks the keys against each other. Refresh the file
next to this module with `python -m hallmark.schemas.json_schema`; a test fails while it is out of
date.
"""

import json
from pathlib import Path
from typing import Any

from hallmark.schemas.release_spec import ReleaseSpec

SCHEMA_FILE = Path(__file__).with_name("release-spec.schema.json")


def release_spec_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a release spec as written in YAML."""
    schema = ReleaseSpec.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schema_text() -> str:
    """The content of the schema file."""
    return json.dumps(release_spec_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
