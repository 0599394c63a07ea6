"""How time and memory grow with rows, columns, cells and workers: `python -m benchmarks.scale`."""
