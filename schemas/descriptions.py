"""What the fields of a model mean: the docstrings below them.

They are read from the source when somebody asks. Pydantic can read them as it builds a model, but
then every program that imports the models waits for that, whether it shows descriptions or not.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise


@cache
def descriptions(model: type) -> Mapping[str, str]:
    """The description of every described field, those that it inherits among them, by name.

    A class that is not written at the top level of a module adds none.
    """
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        found |= _by_class(one.__module__).get(one.__qualname__, {})
    return found


@cache
def _by_class(module: str) -> Mapping[str, Mapping[str, str]]:
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError):  # of a compiled module
        return {}
    classes = [one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)]
    return {one.name: dict(_below_fields(one)) for one in classes}


def _below_fields(body: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statement, following in pairwise(body.body):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, inspect.cleandoc(text)
