"""The command that starts vLLM, as words: taken apart, read, and edited exactly. Nothing here reads a file.

``shell``, ``unit``, ``manifest``, ``yaml_text`` and ``config_file`` take files apart, ``program`` finds the program,
``options`` the options by the ``table`` of vLLM's, ``launches`` puts them together. ``effective`` says what counts,
``edits`` changes it, with ``json_text`` inside JSON, and ``allowed`` what advice may change. Which bug needs what is
not here; see ``advice``.
"""

from patchctl.launch.allowed import (
    advice_problem,
    characters_problem,
    dropped_problem,
    given_problems,
    variable_problem,
)
from patchctl.launch.config_file import config_path, misread_config, unread_config, with_config
from patchctl.launch.edits import Edited, edited, gives
from patchctl.launch.effective import State, json_key, json_option, model_of, option, variable
from patchctl.launch.json_text import read_object
from patchctl.launch.launches import Command, launches_in, launches_of, not_a_server, plain
from patchctl.launch.options import broken_options
from patchctl.launch.shell import ShellError
from patchctl.launch.table import find_option
from patchctl.launch.values import Item, Launch, Word

__all__ = [
    "Command",
    "Edited",
    "Item",
    "Launch",
    "ShellError",
    "State",
    "Word",
    "advice_problem",
    "broken_options",
    "characters_problem",
    "config_path",
    "dropped_problem",
    "edited",
    "find_option",
    "given_problems",
    "gives",
    "json_key",
    "json_option",
    "launches_in",
    "launches_of",
    "misread_config",
    "model_of",
    "not_a_server",
    "option",
    "plain",
    "read_object",
    "unread_config",
    "variable",
    "variable_problem",
    "with_config",
]
