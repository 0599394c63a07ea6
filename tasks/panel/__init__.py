"""Synthetic people who run through the periods of a series: whom each record continues."""

from hallmark.tasks.panel.past import Continued, keep_past, past_kept
from hallmark.tasks.panel.people import (
    PANEL,
    linked,
    people_files,
    persons_of,
    with_values_before,
    write_people,
)

__all__ = [
    "PANEL",
    "Continued",
    "keep_past",
    "linked",
    "past_kept",
    "people_files",
    "persons_of",
    "with_values_before",
    "write_people",
]
