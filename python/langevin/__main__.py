"""python -m langevin: the command line."""

from langevin._command import main

main()
