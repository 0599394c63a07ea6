"""Loops that numba compiles, and that no program waits for which does not run them.

Importing numba takes as long as importing all of `mechanisms`. So a loop is handed to it when it is
first called, by Python or by another compiled loop.
"""

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any


class Compiled:
    """A function that numba compiles for the types with which it is called.

    Compiled code is kept in numba's cache, and runs without the interpreter's lock.

    Attributes:
        options: more of those of `numba.njit`.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.function = function
        self.options = options

    def __call__(self, *arguments: Any) -> Any:
        """What the compiled function returns."""
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's own object, which it looks for where compiled loops call each other."""
        from numba import njit

        return njit(cache=True, nogil=True, **self.options)(self.function)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by Python's own modules, which do not need numba
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Compiled]:
    """Decorator: compile a function of numbers and arrays when it is first called.

    Args:
        options: more of those of `numba.njit`, such as `inline="always"`.
    """
    return lambda function: Compiled(function, options)
