"""`python -m hallmark` is `hallmark`, where no script of that name is on the path."""

from hallmark.flows.cli.app import main

main()
