"""How many records are made at a time, where a mechanism makes them in batches.

Batches are independent given what was fitted to the measurements, so workers make them side by
side, and no process ever holds a large table.
"""

ENTRIES = 10_000_000  # of the records of a batch: 500,000 records of 20 columns


def batch_sizes(rows: int, columns: int) -> list[int]:
    """Records of every batch of a table: as few batches as there can be, evenly filled."""
    batches = -(-rows * columns // ENTRIES) or 1
    return [rows // batches + (number < rows % batches) for number in range(batches)]
