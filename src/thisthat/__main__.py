"""`python -m thisthat`: the command line, where the script is not on the path."""

from thisthat.cli import main

main()
