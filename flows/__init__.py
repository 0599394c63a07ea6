"""What an operator can start: the release flow and the command line."""
