"""The command line: parse, call one command, render, exit. Nothing is decided here.

``app`` has the application, ``options`` what every verb takes, ``settings`` where each setting came from, ``runner``
the one error boundary and the exit codes; ``readers``, ``writers`` and ``menders`` have the verbs.
"""

from patchctl.cli.app import main

__all__ = ["main"]
