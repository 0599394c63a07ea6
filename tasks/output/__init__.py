"""The files of a release: written from synthetic records, and read as its users would."""
