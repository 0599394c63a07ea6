"""The review desk: a page for each release that waits, and decisions signed in the browser."""

from hallmark.flows.desk.app import desk

__all__ = ["desk"]
