"""Changes and shifts as plain values, for JSON, which has no infinite numbers."""

from collections.abc import Mapping
from typing import Any

from hallmark.tasks.changes.changes import Changes
from hallmark.tasks.changes.shifts import Shift, Shifts
from hallmark.tasks.questions.answers import finite


def plain_changes(found: Changes) -> dict[str, Any]:
    """Changes of the answers to a question; null ends with a deviation mean no bound."""
    return {
        "question": found.question,
        "confidence": found.confidence,
        "simultaneous": found.simultaneous,
        "changes": [
            {
                "group": dict(zip(found.by, one.group, strict=True)),
                **_finite(one.numbers),
                "in_words": one.in_words(in_points=found.in_points),
            }
            for one in found.changes
        ],
        "notes": list(found.notes),
    }


def plain_shifts(found: Shifts) -> dict[str, Any]:
    """What changed at all, table by table."""
    return {
        "confidence": found.confidence,
        "within": found.within,
        "tables": [
            {
                "columns": list(one.columns),
                "cells": one.cells,
                "changed": one.changed,
                "statistic": one.test.statistic,
                "freedom": one.test.freedom,
                "probability": one.test.probability,
                "basis": one.basis,
                "hidden": finite(one.hidden),
                "seen_from": finite(one.seen_from),
                "apart": list(one.apart),
                "largest": [
                    {
                        "cell": dict(zip(one.columns, shift.cell, strict=True)),
                        **_finite(numbers_of(shift)),
                    }
                    for shift in one.largest
                ],
            }
            for one in found.tables
        ],
        "untold": [{"columns": list(columns), "why": why} for columns, why in found.untold],
        "notes": list(found.notes),
    }


def numbers_of(shift: Shift) -> dict[str, float | bool]:
    """Everything but the cell, by name, as tables and files have it."""
    return {
        "before": shift.before,
        "after": shift.after,
        "change": shift.change,
        "low": shift.low,
        "high": shift.high,
        "is_told": shift.is_told,
    }


def _finite(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: finite(value) if isinstance(value, float) else value
        for name, value in numbers.items()
    }
