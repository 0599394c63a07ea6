"""What a plan promises before any private byte is read."""
