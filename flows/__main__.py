"""`python -m flows` is `hallmark`, where no script of that name is on the path."""

from flows.cli import main

main()
