"""Categories from a file: as if in the spec, or refused without telling what is there."""

import re
from pathlib import Path

import pytest

from hallmark.schemas.loading import SpecError, load_spec
from tests.builders import wages
from tests.builders.wages import FILE, WAGES, problems

LISTED = '{"1": male, "2": female, "9": other}'
CANARY = "73193"
CODES = "code,label\n1,male\n2,female\n9,other\n"


def written(
    folder: Path, codes: str | bytes | None = CODES, asked: str = "{file: codes.csv}"
) -> Path:
    if codes is not None:
        raw = codes.encode() if isinstance(codes, str) else codes
        (folder / "codes.csv").write_bytes(raw)
    return wages.written(folder, wages.edited((LISTED, asked)))


PLAIN = load_spec(FILE)


@pytest.mark.parametrize(
    "codes",
    [
        CODES,
        "\ufeff" + CODES.replace("\n", "\r\n"),
        CODES.replace(",", ";"),
        CODES.replace(",", "\t"),
        'label,since,code\nmale,1,1\n\nfemale,"a,b", 2 \n"other",3,9\n',
    ],
)
def test_they_count_as_if_they_stood_in_the_spec(codes, tmp_path):
    spec = load_spec(written(tmp_path, codes))
    assert spec.canonical_json() == PLAIN.canonical_json()
    assert spec.digest() == PLAIN.digest()


def test_codes_without_labels_label_themselves(tmp_path):
    spec = load_spec(written(tmp_path, "code\n01\n1\n9\n"))
    assert spec.columns["sex"].categories == {"01": "01", "1": "1", "9": "9"}


def test_four_hundred_codes_are_read_in_their_order(tmp_path):
    codes = [*(f"{i:03}" for i in reversed(range(400))), "9"]
    spec = load_spec(written(tmp_path, "\n".join(["code", *codes])))
    assert list(spec.columns["sex"].categories) == codes


def test_another_content_of_the_file_is_another_plan(tmp_path):
    before = load_spec(written(tmp_path))
    relabelled = load_spec(written(tmp_path, CODES.replace("female", "woman")))
    assert relabelled.privacy_digest() == before.privacy_digest()
    assert relabelled.digest() != before.digest()
    more = load_spec(written(tmp_path, CODES + "3,none\n"))
    assert more.privacy_digest() != before.privacy_digest()


@pytest.mark.parametrize(
    "asked",
    [
        "{file: codes.csv}",
        "&sexes { file:  codes.csv }  # the codebook",
        "\n      file: codes.csv\n",
        "&sexes\n      # the codebook\n      'file': \"codes.csv\"",
    ],
)
def test_the_spec_is_published_with_what_was_read(asked, tmp_path):
    codes = CODES + '"it\'s ""so"": é, #1 \\ {",x\n'
    spec = load_spec(written(tmp_path, codes, asked))
    text = spec.with_categories((tmp_path / "spec.yaml").read_text(encoding="utf-8"))
    assert "codes.csv" not in re.sub("#.*", "", text)
    (tmp_path / "codes.csv").unlink()
    (tmp_path / "published.yaml").write_text(text, encoding="utf-8")
    published = load_spec(tmp_path / "published.yaml")
    assert published.canonical_json() == spec.canonical_json()
    assert "bound_source: &law {kind: law, reference: Wages Act}" in text


def test_a_spec_without_such_files_is_published_as_it_is():
    assert PLAIN.with_categories(WAGES) == WAGES


WHERE = "39: columns.sex.categories.file: codes.csv "


@pytest.mark.parametrize(
    ("codes", "says"),
    [
        (None, "does not exist; check the path, which is relative to the spec"),
        ("", "does not name the column code once; make its first line code, or code,label"),
        (f"{CANARY},male\n1,x\n", "does not name the column code once; make its first line"),
        ("code,code\n1,2\n", "does not name the column code once; make its first line"),
        ("code,label\n", "lists no codes; write one per line"),
        (f"code\n{CANARY}\n\n2\n{CANARY}\n", "repeats the code of line 2 on line 5; keep one"),
        (
            f"code,label\n1,a\n,{CANARY}\n",
            "has no code on line 3; remove the line, and for missing",
        ),
        (f"code,label\n1,a,{CANARY}\n", "has 3 fields on line 2, but 2 on the first; put texts"),
        (f"code\n{CANARY}\x07\n", "has an unprintable character on line 2; remove it"),
        ("code\né\n".encode("latin-1"), "is not UTF-8 text; save it as UTF-8"),
        (b"code\n" + b"1" * 2**24, "cannot be read (it has more than 16,777,216 bytes); give"),
    ],
)
def test_a_file_that_lists_none_is_refused_with_its_line_and_no_value(codes, says, tmp_path):
    (said,) = problems(written(tmp_path, codes))
    assert said.startswith(f"{WHERE}{says}")
    assert CANARY not in said


def test_the_private_table_lists_no_categories(tmp_path):
    (tmp_path / "wages.csv").write_text(CODES)
    (tmp_path / "link.csv").symlink_to("wages.csv")
    for file in ("wages.csv", "./wages.csv", "link.csv"):
        with pytest.raises(SpecError, match="is the private table of this release"):
            load_spec(written(tmp_path, None, f"{{file: {file}}}"))


GROUPED = "code,label,kind,half\n1,male,a,x\n2,female,b,x\n9,other,a,y\n"


def with_groups(folder: Path, groups: str, codes: str = GROUPED) -> Path:
    spec = written(folder, codes)
    other = '    other: "9"\n'
    grouped = (other, f"{other}    groups: {groups}\n")
    return wages.written(folder, wages.edited(grouped, text=spec.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "groups",
    [
        "{file: codes.csv, column: kind}",
        "[{file: codes.csv, column: kind}, {x: [1, 2], y: [9]}]",
        "\n      - {x: [1, 2], y: [9]}\n      - file: codes.csv\n        column: kind",
    ],
)
def test_groups_come_from_a_column_of_the_file_and_are_published(groups, tmp_path):
    spec = load_spec(with_groups(tmp_path, groups))
    levels = spec.columns["sex"].groups
    assert {"a": ("1", "9"), "b": ("2",)} in levels
    text = spec.with_categories((tmp_path / "spec.yaml").read_text(encoding="utf-8"))
    assert "codes.csv" not in text
    (tmp_path / "published.yaml").write_text(text, encoding="utf-8")
    assert load_spec(tmp_path / "published.yaml").digest() == spec.digest()
    assert spec.columns["sex"].groups_of_cells[levels.index({"a": ("1", "9"), "b": ("2",)})] == (
        0,
        1,
        0,
    )


@pytest.mark.parametrize(
    ("codes", "says"),
    [
        (GROUPED.replace("kind", "sort"), "has no column kind; its first line must name it"),
        (GROUPED.replace("female,b", f"{CANARY},"), "has no kind on line 3; give every code one"),
    ],
)
def test_a_file_without_the_groups_is_refused_with_its_line_and_no_value(codes, says, tmp_path):
    (said,) = problems(with_groups(tmp_path, "{file: codes.csv, column: kind}", codes))
    assert f"columns.sex.groups.file: codes.csv {says}" in said
    assert CANARY not in said


def test_what_else_is_wrong_is_told_too(tmp_path):
    spec = written(tmp_path, None)
    spec.write_text(spec.read_text().replace("epsilon: 1\n", "epsilon: lots\n"))
    assert [problem.split(":")[0] for problem in problems(spec)] == ["15", "39"]
