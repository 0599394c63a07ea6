"""Private GSD: a genetic search over whole tables."""
