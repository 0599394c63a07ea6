"""The desk: releases by name and state, specs, accounts, people, and decisions."""

from hallmark.flows.desk.app import desk

__all__ = ["desk"]
