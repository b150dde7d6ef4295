"""``python -m patchctl`` is the console script."""

from patchctl.cli import main

main()
