"""`python -m tickwise`: the same as the command."""

from .cli.main import main

main()
