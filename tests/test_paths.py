"""Every file that a docstring, a comment or a page names is there: proofs, oracles, documents."""

import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from os.path import normpath
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
LISTED = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
FILES = {
    file
    for file in subprocess.check_output(LISTED, cwd=ROOT, text=True).splitlines()
    if (ROOT / file).exists()
}
FOLDERS = {str(folder) for file in FILES for folder in PurePosixPath(file).parents}
ENDINGS = {
    "/".join(parts[start:])
    for parts in (PurePosixPath(file).parts for file in FILES)
    for start in range(len(parts))
}
"""Last parts of paths: `pmm/tree.py` says enough to find the file."""
NO_FILES = {
    "load.py",  # written into a release folder
    "hallmark/front",  # a label of Kubernetes
    "tests/test_halves.py",  # of a project that a test makes up
}
OF_AN_EXAMPLE = "/independent/"  # added by whoever follows CONTRIBUTING
LINKED = {link.name for link in (ROOT / "hallmark").iterdir() if link.is_symlink()}
"""Folders that are imported as `hallmark.*` alone."""
ROOTS = "|".join(sorted(folder for folder in FOLDERS if re.fullmatch(r"\w+", folder)))

FROM_THE_ROOT = re.compile(rf"(?<![\w/.*{{}}<$:\"-])(?:{ROOTS})/[\w./-]*\w(?![\w/{{<*-])")
MODULE_OR_PAGE = re.compile(r"(?<![\w/.*{}<$-])(?:[\w.-]+/)*[\w-]+\.(?:py|md)(?!\w)")
PROOF_BESIDE = re.compile(r"([\w-]+\.md), beside\s+this\s+file")
QUOTES = '"' * 3
COMMAND = re.compile(r"python -m ([a-z_][\w.]*\w)")


def astray(text: str, file: str) -> Iterator[str]:
    """Paths that a text in `file` names and that lead nowhere, from the root or from the file."""
    for path in (*FROM_THE_ROOT.findall(text), *MODULE_OR_PAGE.findall(text)):
        near = normpath(PurePosixPath(file).parent / path)
        known = {path, near} & (FILES | FOLDERS) or path in ENDINGS | NO_FILES
        if not known and OF_AN_EXAMPLE not in path:
            yield path
    for page in PROOF_BESIDE.findall(text):
        if str(PurePosixPath(file).with_name(page)) not in FILES:
            yield page


def docstrings(source: str) -> str:
    """The docstrings of a module's source, of whatever they describe: strings that stand alone."""
    parts = source.split(QUOTES)
    return "\n".join(
        text
        for before, text in zip(parts[::2], parts[1::2], strict=False)
        if not before.rpartition("\n")[2].strip(" r")
    )


def contents(*suffixes: str) -> Iterator[tuple[str, str]]:
    """Every file with one of these suffixes, and its text; links are to files that are here."""
    for file in sorted(FILES):
        if file.endswith(suffixes) and not (ROOT / file).is_symlink():
            yield file, (ROOT / file).read_text(encoding="utf-8")


def test_pages_name_files_that_exist() -> None:
    assert [(file, path) for file, text in contents(".md") for path in astray(text, file)] == []


def test_docstrings_are_read_and_no_other_strings() -> None:
    source = "|A.|\nx = |B|\ndef f():\n    r|C\n    d.|\n    y: int\n    |E|\n"
    source = source.replace("|", QUOTES)
    assert docstrings(source) == "A.\nC\n    d.\nE"


def test_docstrings_name_files_that_exist() -> None:
    assert [
        (file, path) for file, text in contents(".py") for path in astray(docstrings(text), file)
    ] == []


def test_comments_and_messages_name_files_that_exist() -> None:
    assert [
        (file, path)
        for file, text in contents(".py", ".yaml", ".toml", ".j2", "Makefile")
        for path in FROM_THE_ROOT.findall(text)
        if path not in FILES | FOLDERS | NO_FILES
    ] == []


def wrong_commands(text: str) -> Iterator[str]:
    """Modules that `python -m` is to run, and that are neither ours nor installed."""
    for module in COMMAND.findall(text):
        path, top = module.replace(".", "/"), module.partition(".")[0]
        files = {(ROOT / file).resolve() for file in (f"{path}.py", f"{path}/__main__.py")}
        ours = top not in LINKED and {str(file.relative_to(ROOT)) for file in files} & FILES
        if not ours and (top in FOLDERS or not find_spec(top)):
            yield module


def test_commands_run_modules_that_exist() -> None:
    kinds = (".md", ".py", ".yaml", ".toml", ".j2", "Makefile")
    left_out = ("CHANGELOG.md", "tests/")  # earlier names of commands; commands made up for tests
    assert [
        (file, module)
        for file, text in contents(*kinds)
        if not file.startswith(left_out)
        for module in wrong_commands(text)
    ] == []


def test_a_command_that_runs_nothing_is_found() -> None:
    text = "python -m hallmark.flows.demo, python -m flows.demo, python -m hallmark.no_module"
    text += ", python -m hallmark, python -m pip install, python -m benchmarks.no_table"
    wrong = ["flows.demo", "hallmark.no_module", "benchmarks.no_table"]
    assert list(wrong_commands(text)) == wrong


def test_a_proof_or_an_oracle_that_is_missing_is_found() -> None:
    text = f"""Claim.
    Proof.   no_such_proof.md, beside this file.
    Oracle.  {"tests/mechanisms"}/test_no_such_oracle.py, test_nor_this.py.
    """
    assert set(astray(text, "tests/test_paths.py")) == {
        "no_such_proof.md",
        "tests/mechanisms/test_no_such_oracle.py",
        "test_nor_this.py",
    }
