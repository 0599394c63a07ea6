"""One module per stage; each joins one side effect to one call of a mechanism."""
