"""Command lines that may be shown: the values of options and variables that look like secrets are taken out.

Only what is shown is changed; nobody's process is touched. Too much may be taken out, too little must not be. What
passwords look like in options of one letter, only the program tells (``mysql -pSECRET``): a table has those that are
met around inference services. How names and texts give a secret away is in ``secrets``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from patchctl.processes.secrets import HIDDEN, is_secret, without_secrets

LONGEST = 200
"""Characters of a command line that are kept."""

_LONGEST_LINE = 2 * LONGEST
_LONGEST_ARGUMENT = 1 << 16
_SHORT_FLAG = 3
"""Characters of options such as ``-tp``; what is longer, behind an option that takes a secret, may be the secret."""

_NEXT, _JOINED, _BOTH = "next", "joined", "both"
_ENDS_COMMAND = frozenset({"&&", "||", "|", "&", ";"})


class _Program(NamedTuple):
    """What a program does with secrets in words that do not look like any.

    Attributes:
        options: its options of secrets, and whether the value is the next word, stands right behind, or either.
        switches: letters of options without a value, which may stand before another in one word (``curl -sSu``).
        bare: words without an option that come before the secret, which is one too; None: no such word is a secret.
        valued: letters of options whose value is no such word.
    """

    options: Mapping[str, str] = MappingProxyType({})
    switches: str = ""
    bare: int | None = None
    valued: str = ""


_CURL = _Program(
    options={
        "-u": _BOTH,
        "--user": _NEXT,
        "-U": _BOTH,
        "--proxy-user": _NEXT,
        "-b": _BOTH,
        "-E": _BOTH,
        "--cert": _NEXT,
    },
    switches="0123456#:BGIJLMNORSVZafgijklnpqsv",
)
_SQL = _Program(options={"-p": _JOINED}, switches="ABNfnqstv")
_P = _Program(options={"-p": _BOTH})
_HTPASSWD = _Program(bare=2, valued="Cr")  # [options] FILE USER PASSWORD; with -n there is no FILE
_NONE = _Program()
_OF_PROGRAMS: Mapping[str, _Program] = MappingProxyType(
    {
        "curl": _CURL,
        "htpasswd": _HTPASSWD,
        "wandb": _Program(bare=1),  # wandb login KEY
        "redis-cli": _Program(options={"-a": _NEXT}),
        "valkey-cli": _Program(options={"-a": _NEXT}),
        "http": _Program(options={"-a": _NEXT}),
        "https": _Program(options={"-a": _NEXT}),
        "ldapsearch": _Program(options={"-w": _BOTH}),
        "smbclient": _Program(options={"-U": _BOTH}),
        **dict.fromkeys(("sshpass", "login"), _P),  # docker login, podman login, helm registry login, ...
        **dict.fromkeys(("mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"), _P),
        **dict.fromkeys(("mysql", "mysqladmin", "mysqlbinlog", "mysqlcheck", "mysqldump", "mysqlimport"), _SQL),
        **dict.fromkeys(("mysqlpump", "mysqlsh", "mysqlshow", "mysqlslap", "mysql_upgrade", "xtrabackup"), _SQL),
        **dict.fromkeys(("mariadb", "mariadb-admin", "mariadb-backup", "mariadb-check", "mariadb-dump"), _SQL),
        **dict.fromkeys(("docker", "nerdctl", "podman", "python", "python3", "scp", "sftp", "ssh", "vllm"), _NONE),
    }
)
"""Those that do nothing of the kind end what the program before them takes (``sshpass -e ssh -p 22``)."""


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
        self.program = _NONE
        self.bare: int | None = None
        self.hiding = self.first = self.several = self.skipping = False

    def shown(self, argument: str) -> str:
        """Return one argument without its secrets; one of several words is looked at word by word."""
        import re

        if self._is_value(argument):
            return HIDDEN
        name, sign, _ = argument.partition("=")
        if sign and is_secret(name):
            return f"{name}={HIDDEN}"
        header = re.match(r"(?:-[A-Za-z](?=\w)|--[\w\-]+=)?([\w\-]+)\s?:\s", argument)
        if header is not None and is_secret(header[1]):
            return f"{header[0]}{HIDDEN}"
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
        if self.bare is not None and word:
            return self._is_bare(word, self.bare)
        if not self.hiding or not word:
            return False
        first, self.first = self.first, False
        option = word.startswith("-") and not (first and not word.startswith("--") and len(word) > _SHORT_FLAG)
        self.hiding = self.several and not option
        return not option

    def _is_bare(self, word: str, left: int) -> bool:
        """Whether this is the secret of a program that takes it without an option; what follows it counts as more."""
        if word in _ENDS_COMMAND:
            self.bare = None
        elif self.skipping:
            self.skipping = False
        elif left > 0 and word.startswith("-"):
            self.bare = left - ("n" in word)
            self.skipping = word.endswith(tuple(self.program.valued))
        elif left > 0:
            self.bare = left - 1
        else:
            return True
        return False

    def _word(self, word: str) -> str:
        program = word.rpartition("/")[2].rpartition("=")[2]
        if program in _OF_PROGRAMS and self.bare is None:  # a user may be called like a program
            self.program = _OF_PROGRAMS[program]
            self.bare = self.program.bare
        spelled = f"-{word[1:].lstrip(self.program.switches)}" if word.startswith("-") else word
        before = word[: len(word) - len(spelled)]
        for option, where in self.program.options.items():
            if spelled == option and where != _JOINED:
                self._expect(several=False)
                return word
            joined = option if where != _NEXT else f"{option}="
            if spelled.startswith(joined) and len(spelled) > len(joined):
                return f"{before}{joined}{HIDDEN}"
        if word.startswith("-") and is_secret(word):
            self._expect(several=True)  # vLLM's --api-key takes as many as there are
        return word

    def _expect(self, *, several: bool) -> None:
        self.hiding = self.first = True
        self.several = several
