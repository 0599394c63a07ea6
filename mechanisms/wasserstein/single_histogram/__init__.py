"""What mechanisms share that measure one histogram over all columns."""
