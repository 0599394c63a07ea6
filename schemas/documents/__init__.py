"""What leaves: audit record, certificate, manifest, approvals, and internal reviews."""
