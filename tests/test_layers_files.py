"""Who parses, who writes JSON, and who touches files at all: checked with ``ast``, by import and by call.

A new module that opens a file, or joins a path into a site, fails here until it says by which right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.test_layers import PACKAGE, imports, modules

PARSERS = {
    "json.load": "documents",
    "json.loads": "documents",
    "json.JSONDecoder": "documents",
    "json.decoder": "documents",
    "json.scanner": "documents",
    "tomllib": "documents",
    "tomli": "documents",
    "yaml": "documents",
    "ast.parse": "evidence",
    "ast.literal_eval": "target/redirects.py",  # of a tree that evidence made
    "compile": "transaction/compiled.py",  # to write byte code; what is compiled does not run
    "csv.reader": "target/record.py",
    "csv.DictReader": "nobody",
    "pickle": "nobody",
    "shelve": "nobody",
    "marshal.load": "nobody",
    "marshal.loads": "nobody",
    "configparser": "nobody",
    "xml": "nobody",
    "html.parser": "nobody",
    "plistlib": "nobody",
    "email": "nobody",
}
"""What makes values of text -> the room, or the file, that may call it."""

JSON_WRITERS = {
    "advice/conditions.py": "a value of a launch, as its line would have it",
    "launch/config_file.py": "a value of a configuration file, as vLLM makes it",
    "launch/json_text.py": "a value that is set inside a launch",
    "ledger/codec.py": "the ledger",
    "ledger/records.py": "a record of the history",
    "notes.py": "a note for the next reading command",
    "render/escape.py": "the answer",
    "render/pages/openvex.py": "a page",
    "transaction/journal.py": "the journal",
    "transaction/lock.py": "who holds the lock",
}

BELOW_A_ROOT = {
    "caches.py": "removes with the rights of the owner, by descriptor",
    "commands/trusted.py": "whose the files of a registry are",
    "disk/links.py": "the one link that is followed",
    "disk/named.py": "the walk along a path that was read",
    "disk/marks.py": "times and inodes",
    "disk/reading.py": "reads",
    "disk/shadows.py": "names in the directories on the way to a file",
    "disk/walking.py": "the walk itself",
    "disk/way.py": "the walk to a file that the operator named, with the links on it",
    "ledger/history.py": "names of records",
    "notes.py": "the caller's own cache directory",
    "processes/table.py": "one process of /proc",
    "publishing/bounds.py": "what lies in the directories above such a file",
    "publishing/writing.py": "beside the file that the operator named",
    "registry/folder.py": "names in a folder of a registry",
    "registry/marks.py": "times and inodes of a registry",
    "registry/mounted.py": "links in a volume of Kubernetes",
    "target/brought.py": "names in the site, and when RECORD was written",
    "target/candidate.py": "names in a candidate",
    "target/catalogue.py": "names in the site",
    "target/claims.py": "names in the site",
    "target/conda.py": "names in conda-meta",
    "target/distributions.py": "names in the site, and in the tree that an egg-link names",
    "target/ground.py": "modes; byte code beside sources",
    "target/holdings.py": "names in the site, and in the tree that an egg-link names",
    "target/searching.py": "sources in which something may have moved to",
    "target/unlisted.py": "names in the site",
    "transaction/bytecode.py": "byte code of what changes",
    "transaction/compiled.py": "byte code that is made anew",
    "transaction/files.py": "the only writer",
    "transaction/litter.py": "names of our own temporary files",
    "transaction/lock.py": "the lock; /proc",
    "transaction/objects.py": "originals and results",
    "transaction/opening.py": "the state directory",
    "transaction/preflight.py": "whether a directory can be written",
    "transaction/swap.py": "the swap",
    "transaction/trust.py": "whose the state directory is",
    "transaction/unnamed.py": "objects that nothing names",
}
"""Modules that open, look at or change what lies below a directory, each by a descriptor of it."""

BY_NAME = {
    "__main__.py": "os.path.realpath: whether the working directory is on the import path",
    "cli/again.py": "os.stat: the site that was refused, for its group",
    "cli/runner.py": "os.open: /dev/null",
    "commands/author.py": "Path.read_bytes: /proc/self/loginuid",
    "commands/examine_install.py": "os.path.realpath: what kind of site it is",
    "commands/glance.py": "os.walk: patchctl's own package",
    "commands/inspection.py": "os.path.realpath: the site, whose rows are below it",
    "commands/lock_file.py": "os.open os.path.realpath Path.is_relative_to: a file that the operator named",
    "commands/output.py": "os.path.samefile: would the answer take the place of what it is read from?",
    "commands/plainfile.py": "os.open: a file that the operator named",
    "commands/upcoming.py": "os.path.realpath: is the candidate the environment itself?",
    "commands/upgrade_steps.py": "Path.is_file: the interpreter that a printed command would name",
    "disk/around.py": "open: /proc/self/mountinfo",
    "disk/named.py": "os.open: the top of such a walk, and what a descriptor of our own stands for",
    "disk/others.py": "os.getxattr: the access list of what was looked at, when no descriptor of it is at hand",
    "disk/links.py": "os.open: what a descriptor of our own stands for",
    "disk/walking.py": "os.open: the root of a walk, which the caller chose",
    "disk/way.py": "os.open: the root and the working directory, where the way to a named file starts",
    "logs/following.py": "os.stat: a log that the operator named",
    "logs/naming.py": "glob.glob os.listdir os.path.lexists os.stat: logs that the operator named",
    "logs/opening.py": "os.open: a log that the operator named",
    "notes.py": "os.open: the caller's own cache directory",
    "processes/clock.py": "open: /proc",
    "processes/matching.py": "open os.listdir: /proc/self",
    "processes/scanning.py": "os.listdir os.path.exists os.path.realpath os.readlink os.stat: /proc, the site itself",
    "processes/table.py": "os.open: /proc",
    "publishing/bounds.py": "os.stat: a site, to know it again",
    "registry/folder.py": "Path.is_file Path.resolve: where patchctl's own registry is",
    "registry/load.py": "Path.resolve: a registry",
    "registry/marks.py": "os.open: a registry",
    "target/candidate.py": "os.listdir os.path.exists os.path.isdir: what the operator named as candidate",
    "target/conda.py": "os.path.realpath: the prefix of a site",
    "target/finding.py": "os.access os.path.exists os.path.isdir os.path.isfile os.path.realpath: which site is meant",
    "target/ground.py": "open os.path.realpath os.stat os.statvfs: the site itself, /proc/self/status",
    "target/kinds.py": "os.path.exists os.path.isdir os.path.isfile os.path.islink os.path.realpath os.readlink:"
    " what stands around the site in its prefix",
    "target/layout.py": "os.listdir os.path.exists os.path.isdir os.path.isfile os.path.islink os.path.realpath:"
    " interpreters and the sites that they would use",
    "target/oracle.py": "os.path.realpath: the prefix of a site",
    "target/reading.py": "os.path.realpath: the site, for paths that were typed",
    "target/redirects.py": "os.path.exists os.path.isdir os.path.isfile os.path.islink: the source tree of an editable"
    " install; only whether it is there",
    "target/snapshot.py": "os.path.realpath: the site, beside mount points",
    "target/wheel/archive.py": "os.open: the wheel that the operator named",
    "transaction/bytecode.py": "os.path.realpath: how the site is spelled below PYTHONPYCACHEPREFIX",
    "transaction/holder.py": "open: /proc/locks",
    "transaction/lock.py": "os.open: /proc",
    "transaction/preflight.py": "os.path.realpath: the site, beside mount points",
}
"""Modules that give the system a whole path: with which calls, and what for. No path from a diff, a registry, RECORD,
ledger or journal is among them, but those of ``redirects``, which says so, and of ``disk/named``, which is for them."""

OS_CALLS = frozenset(
    """open stat lstat listdir scandir walk fwalk unlink remove rmdir removedirs mkdir makedirs rename renames replace
    link symlink readlink chmod lchmod chown lchown utime access statvfs truncate mkfifo mknod chdir chroot getxattr
    setxattr listxattr removexattr""".split()  # noqa: SIM905  # words on lines
)
PATH_CALLS = frozenset({"exists", "lexists", "isfile", "isdir", "islink", "ismount", "realpath", "getsize", "samefile"})
METHODS = frozenset(
    """read_text read_bytes write_text write_bytes is_file is_dir is_symlink is_relative_to iterdir lstat rglob mkdir
    unlink rmdir touch symlink_to hardlink_to readlink chmod expanduser resolve samefile""".split()  # noqa: SIM905
)
OTHERS = {"glob.glob", "glob.iglob", "glob.glob0", "glob.glob1"}
WITH_A_DESCRIPTOR = frozenset({"dir_fd", "src_dir_fd", "dst_dir_fd"})
OF_A_DESCRIPTOR = frozenset(
    {"os.listdir", "os.scandir", "os.getxattr", "os.setxattr", "os.listxattr", "os.removexattr", "os.utime"}
)
OF_A_DESCRIPTOR_NAMES = frozenset({"fd", "root_fd", "tree_fd", "root", "directory", "parent", "inside", "held"})
"""What a descriptor is called here, in calls that take a path or a descriptor."""
TOUCHING = frozenset(
    """os posix io shutil tempfile glob codecs mmap fileinput linecache tarfile zipfile pathlib ast csv
    marshal""".split()  # noqa: SIM905
)
"""Modules that open, look at or parse something: their calls are found by their own names alone."""
NOT_TOUCHING = {"io.BytesIO", "pathlib.Path", "zipfile.ZipInfo", "zipfile.ZipFile"}
NETWORK = frozenset("socket ssl http ftplib smtplib asyncio socketserver xmlrpc requests httpx aiohttp".split())  # noqa: SIM905
JOINERS = frozenset({"os.path.join", "os.path.normpath", "Path", "PurePath"})


@cache
def parsed() -> tuple[tuple[str, Path, ast.Module], ...]:
    return tuple(modules())


def calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def name_in(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def touches(tree: ast.Module) -> Iterator[tuple[str, ast.Call, bool]]:
    """Every call that touches the file system: name, call, and whether it goes by a descriptor."""
    for name, node in calls(tree):
        module, _, function = name.rpartition(".")
        in_os = (module == "os" and function in OS_CALLS) or (module == "os.path" and function in PATH_CALLS)
        if name == "open" or in_os:
            by_descriptor = bool(WITH_A_DESCRIPTOR & {word.arg for word in node.keywords})
            first = ast.unparse(node.args[0]) if node.args else ""
            yield name, node, by_descriptor or (name in OF_A_DESCRIPTOR and first in OF_A_DESCRIPTOR_NAMES)
        elif name in OTHERS or (module in {"shutil", "tempfile"} and name != "shutil.get_terminal_size"):
            yield name, node, False
        elif isinstance(node.func, ast.Attribute) and node.func.attr in METHODS and module not in {"os", "entry"}:
            yield f"Path.{node.func.attr}", node, False


def found_calls(*, by_descriptor: bool) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for _, path, tree in parsed():
        names = {name for name, _, by_it in touches(tree) if by_it is by_descriptor}
        if names:
            found[name_in(path)] = names
    return found


def test_only_one_room_parses_each_format() -> None:
    wrong = []
    for room, path, tree in parsed():
        for name, node in calls(tree):
            for call, owner in PARSERS.items():
                if (name == call or name.startswith(f"{call}.")) and owner not in {room, name_in(path)}:
                    wrong.append(f"{name_in(path)}:{node.lineno} calls {name}, which is {owner}'s")
    assert wrong == []


def test_no_parser_comes_in_under_another_name() -> None:
    """``from json import loads`` would hide a call: of these modules the whole is imported, or what makes no values."""
    harmless = {"json.JSONDecoder", "yaml.composer.Composer", "yaml.resolver.Resolver", "yaml.events", "yaml.nodes"}
    roots = {name.partition(".")[0] for name in PARSERS} - {"compile", "ast", "csv", "marshal"}
    wrong = []
    for _, path, tree in parsed():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.split(".")[0] in roots:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                inside = {name for name in names if not any(name == it or name.startswith(f"{it}.") for it in harmless)}
                wrong += [f"{name_in(path)}:{node.lineno} imports {name}" for name in sorted(inside)]
            elif isinstance(node, ast.Import):
                renamed = [it.name for it in node.names if it.asname and it.name.split(".")[0] in roots]
                wrong += [
                    f"{name_in(path)}:{node.lineno} renames {name}"
                    for name in renamed
                    if name not in {"tomli", "yaml.events"}
                ]
    assert wrong == []


def hidden_names(tree: ast.Module) -> Iterator[str]:
    """What comes in under a name by which its calls are not found: ``from os import listdir``, ``import os as x``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.split(".")[0] in TOUCHING:
            yield from ({f"{node.module}.{alias.name}" for alias in node.names} - NOT_TOUCHING)
        elif isinstance(node, ast.Import):
            yield from (it.name for it in node.names if it.asname and it.name.split(".")[0] in TOUCHING)


def test_nothing_that_touches_files_comes_in_under_another_name() -> None:
    found = {name_in(path): names for _, path, tree in parsed() if (names := set(hidden_names(tree)))}
    assert found == {}


@pytest.mark.parametrize("code", ["from os import listdir", "import os as system", "from shutil import copy"])
def test_another_name_would_be_seen(code: str) -> None:
    assert list(hidden_names(ast.parse(code)))


def test_nothing_imports_what_opens_connections() -> None:
    """``urllib.parse`` makes texts; the optional library for GPUs (``commands/hardware.py``) asks the driver."""
    wrong = []
    for _, path, tree in parsed():
        for name, line in imports(tree):
            if name.split(".")[0] in NETWORK or (name.split(".")[0] == "urllib" and name != "urllib.parse"):
                wrong.append(f"{name_in(path)}:{line} imports {name}")
    assert wrong == []


def test_json_is_written_where_it_is_known_to_be() -> None:
    found = {
        name_in(path)
        for _, path, tree in parsed()
        for name, _ in calls(tree)
        if name.startswith("json.") and name.rpartition(".")[2] in {"dumps", "dump", "JSONEncoder"}
    }
    assert found == set(JSON_WRITERS)


def test_every_module_that_goes_by_a_descriptor_is_known() -> None:
    assert set(found_calls(by_descriptor=True)) == set(BELOW_A_ROOT)


def test_every_module_that_gives_the_system_a_whole_path_says_what_for() -> None:
    told: Mapping[str, set[str]] = {name: set(text.partition(":")[0].split()) for name, text in BY_NAME.items()}
    assert found_calls(by_descriptor=False) == told


def test_no_path_is_joined_into_a_site_where_the_system_gets_it() -> None:
    """A site's descriptor is walked; a text that begins with a site would be followed through any link."""
    wrong = []
    for _, path, tree in parsed():
        for name, node, by_descriptor in touches(tree):
            receiver = node.func.value if isinstance(node.func, ast.Attribute) and name.startswith("Path.") else None
            arguments = [*node.args, *([receiver] if receiver is not None else [])]
            if not by_descriptor and any(_begins_with_a_site(argument) for argument in arguments):
                wrong.append(f"{name_in(path)}:{node.lineno} {ast.unparse(node)}")
    assert wrong == []


def _begins_with_a_site(argument: ast.expr) -> bool:
    if isinstance(argument, ast.JoinedStr):
        first = argument.values[0] if argument.values else None
        return isinstance(first, ast.FormattedValue) and _is_a_site(first.value)
    if isinstance(argument, ast.BinOp):
        return _is_a_site(argument.left) or _begins_with_a_site(argument.left)
    if isinstance(argument, ast.Call) and ast.unparse(argument.func) in JOINERS:
        joined = len(argument.args) > 1 and _is_a_site(argument.args[0])
        return joined or any(_begins_with_a_site(it) for it in argument.args)
    return False


def _is_a_site(expression: ast.expr) -> bool:
    return ast.unparse(expression).rpartition(".")[2] in {"site", "base", "site_path"}


@pytest.mark.parametrize(
    "code",
    [
        "os.stat(f'{site}/{path}')",
        "open(f'{target.site}/x')",
        "os.path.lexists(os.path.join(site, path))",
        "Path(site, path).read_bytes()",
        "(site / path).read_text()",
        "os.listdir(site + '/x')",
    ],
)
def test_a_joined_path_would_be_seen(code: str) -> None:
    ((name, node, by_descriptor),) = touches(ast.parse(code))
    receiver = [node.func.value] if isinstance(node.func, ast.Attribute) and name.startswith("Path.") else []
    assert not by_descriptor
    assert any(_begins_with_a_site(it) for it in [*node.args, *receiver])
