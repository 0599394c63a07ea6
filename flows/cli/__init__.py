"""The command line: `app` is the whole of it, the others are its groups of commands."""
