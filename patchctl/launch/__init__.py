"""The command that starts vLLM, as words: taken apart, read, and edited exactly. Nothing here reads a file.

``shell``, ``unit``, ``manifest`` and ``yaml_text`` take files apart, ``program`` finds the program, ``options`` the
options by the ``table`` of vLLM's, ``launches`` puts them together. ``effective`` says what counts, ``edits`` changes
it, with ``json_text`` inside JSON. Which bug needs what is not here; see ``advice``.
"""

from patchctl.launch.edits import Edited, edited, gives
from patchctl.launch.effective import State, json_key, json_option, model_of, option, variable
from patchctl.launch.launches import Command, launches_in, launches_of, not_a_server, plain
from patchctl.launch.shell import ShellError
from patchctl.launch.table import find_option
from patchctl.launch.values import Launch, Word

__all__ = [
    "Command",
    "Edited",
    "Launch",
    "ShellError",
    "State",
    "Word",
    "edited",
    "find_option",
    "gives",
    "json_key",
    "json_option",
    "launches_in",
    "launches_of",
    "model_of",
    "not_a_server",
    "option",
    "plain",
    "variable",
]
