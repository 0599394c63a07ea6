"""Edit rules: their language, and their truth on a record."""
