"""Logs as they lie on the disk: which files a name means and in which order, what is in them, and what comes next.

``naming`` finds rotated sets, ``opening`` reads one file and takes compression off, ``holes`` passes over what nobody
wrote, ``following`` waits for more. What a line means is not here.
"""

from patchctl.logs.following import Followed
from patchctl.logs.naming import LogSet, find_logs
from patchctl.logs.opening import OpenLog, open_log, open_stdin

__all__ = ["Followed", "LogSet", "OpenLog", "find_logs", "open_log", "open_stdin"]
