"""The gates of a release: approvals, what they are bound to, and rehearsals."""
