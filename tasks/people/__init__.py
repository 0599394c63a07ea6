"""The people who work with an installation: who they are, what they may do, and what they did."""
