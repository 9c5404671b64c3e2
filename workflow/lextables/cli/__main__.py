"""`python -m lextables.cli` is the command `lextables`."""

from lextables.cli import main

main()
