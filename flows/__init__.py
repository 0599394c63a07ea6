"""What an operator can start: the flows and the command line."""
