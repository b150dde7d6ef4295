"""Command lines that may be shown: the values of options and variables that look like secrets are taken out.

Only what is shown is changed; nobody's process is touched. Too much may be taken out, too little must not be. What
passwords look like in options of one letter, only the program tells (``mysql -pSECRET``): a table has those that are
met around inference services. How names and texts give a secret away is in ``secrets``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from patchctl.processes.secrets import HIDDEN, is_secret, without_secrets

LONGEST = 200
"""Characters of a command line that are kept."""

_LONGEST_LINE = 2 * LONGEST
_LONGEST_ARGUMENT = 1 << 16
_SHORT_FLAG = 3
"""Characters of options such as ``-tp``; what is longer, behind an option that takes a secret, may be the secret."""

_NEXT, _JOINED = "next", "joined"
_CURL = {"-u": "both", "--user": _NEXT, "-U": "both", "--proxy-user": _NEXT, "-b": "both"}
_SQL = {"-p": _JOINED}
_LOGIN = {"-p": "both"}
_NONE: Mapping[str, str] = MappingProxyType({})
_OF_PROGRAMS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "curl": _CURL,
        "sshpass": {"-p": "both"},
        "mysql": _SQL,
        "mysqldump": _SQL,
        "mysqladmin": _SQL,
        "mariadb": _SQL,
        "mariadb-dump": _SQL,
        "redis-cli": {"-a": _NEXT},
        "valkey-cli": {"-a": _NEXT},
        "ldapsearch": {"-w": "both"},
        "smbclient": {"-U": "both"},
        "login": _LOGIN,  # docker, podman, helm registry, ...
        **dict.fromkeys(("docker", "nerdctl", "podman", "python", "python3", "scp", "sftp", "ssh", "vllm"), _NONE),
    }
)
"""Program -> its options of secrets, and whether the value is the next word, stands right behind, or either.

Those without any end what the program before them takes (``sshpass -e ssh -p 22``).
"""


def redacted(arguments: Sequence[str]) -> str:
    """Return a command line on one line, secrets replaced by ``***``, at most :data:`LONGEST` characters.

    Args:
        arguments: as the process has them; one that rewrote them (``setproctitle``) may have all in one.
    """
    line = " ".join(" ".join(shown.split()) for shown in shown_arguments(arguments) if shown.strip())
    line = without_secrets(line[:_LONGEST_LINE])
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def shown_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return as many arguments as were given, each fit to be shown but for what its own text gives away.

    That is taken out by :func:`without_secrets`, which may be given several of them as one text.
    """
    line = _Line()
    return tuple(line.shown(argument) for argument in arguments)


class _Line:
    """One pass over a command line: which program is running, and whether a secret is expected."""

    def __init__(self) -> None:
        self.short: Mapping[str, str] = {}
        self.hiding = self.first = self.several = False

    def shown(self, argument: str) -> str:
        """Return one argument without its secrets; one of several words is looked at word by word."""
        import re

        if self._is_value(argument):
            return HIDDEN
        name, sign, _ = argument.partition("=")
        if sign and is_secret(name):
            return f"{name}={HIDDEN}"
        # What is long is cut to its beginning before it is shown.
        pieces = re.split(r"(\s+)", argument[:_LONGEST_ARGUMENT])
        if len(pieces) == 1 and len(argument) <= _LONGEST_ARGUMENT:
            return self._word(argument)
        inside = _Line()
        for at in range(0, len(pieces), 2):
            pieces[at] = HIDDEN if inside._is_value(pieces[at]) else inside._word(pieces[at])
        return "".join(pieces) + ("" if len(argument) <= _LONGEST_ARGUMENT else f" {HIDDEN}")

    def _is_value(self, word: str) -> bool:
        """Whether a secret is expected and this is one; an option ends the values, unless it stands right behind."""
        if not self.hiding or not word:
            return False
        first, self.first = self.first, False
        option = word.startswith("-") and not (first and not word.startswith("--") and len(word) > _SHORT_FLAG)
        self.hiding = self.several and not option
        return not option

    def _word(self, word: str) -> str:
        self.short = _OF_PROGRAMS.get(word.rpartition("/")[2].rpartition("=")[2], self.short)
        for option, where in self.short.items():
            if word == option and where != _JOINED:
                self._expect(several=False)
                return word
            if where != _NEXT and word.startswith(option) and len(word) > len(option):
                return f"{option}{HIDDEN}"
        if word.startswith("-") and is_secret(word):
            self._expect(several=True)  # vLLM's --api-key takes as many as there are
        return word

    def _expect(self, *, several: bool) -> None:
        self.hiding = self.first = True
        self.several = several
