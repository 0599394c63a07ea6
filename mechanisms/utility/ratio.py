"""A relative error that says what happens at zero."""


def relative(error: float, size: float) -> float | None:
    """`error / size`; 0 where the error is 0, None where an error stands against nothing."""
    if error == 0:
        return 0.0
    return error / size if size > 0 else None
