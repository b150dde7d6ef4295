"""``python -m patchctl`` is the console script, without the working directory that ``-m`` puts before everything else.

A ``json.py`` there would be run in place of Python's own, as root where root is who calls. What Python itself loads
before it comes here is out of reach: the console script, or ``python -P -m patchctl``, never looks there.
"""

import os
import sys


def _leave_working_directory() -> None:
    own = os.path.realpath(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120  # no more modules before this
    try:
        here = os.path.realpath(".")
    except OSError:
        return  # somebody removed it: nothing is found there
    if sys.path and os.path.realpath(sys.path[0] or here) == here != own:
        del sys.path[0]


_leave_working_directory()

from patchctl.cli import main  # noqa: E402  # this is what must not be looked for there

main()
