"""Server mode on one machine, as processes: start it with `make up`."""
