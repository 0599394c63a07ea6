"""What enters and leaves: release spec, edit rules, audit report and manifest, in pydantic."""
