"""Certificates: computable bounds on what a release lost, from released quantities only."""
