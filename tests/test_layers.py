"""The house's floor plan, checked with ``ast``: a room imports only from rooms on lower lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import patchctl

PACKAGE = Path(patchctl.__file__).parent

LINES = {
    "errors": 0,
    "documents": 0,
    "model": 0,
    "diff": 1,
    "launch": 1,
    "match": 2,
    "build": 2,
    "patch": 3,
    "signals": 3,
    "evidence": 3,
    "verdict": 4,
    "plan": 5,
    "advice": 5,
    "pins": 5,
    "lint": 5,
    "disk": 6,
    "registry": 7,
    "target": 7,
    "ledger": 7,
    "transaction": 7,
    "processes": 7,
    "notes": 7,
    "caches": 7,
    "publishing": 7,
    "logs": 7,
    "commands": 8,
    "render": 9,
    "cli": 10,
    "__main__": 11,
    "__init__": 0,
}
CORE = {room for room, line in LINES.items() if line <= 5 and not room.startswith("__")}
SAME_LINE_ALLOWED = {("model", "errors"), ("documents", "errors")}
OWNERS = {
    "unidiff": set(),  # the tests' second opinion
    "packaging": {"build"},
    "rich": {"render"},
    "cyclonedx": {"render"},
    "packageurl": {"render"},
    "json": {"documents", "launch", "advice", "render", "ledger", "transaction", "notes"},  # the others write it
    "typer": {"cli"},
    "yaml": {"documents"},
    "pynvml": {"commands"},
    "tomllib": {"documents"},
    "tomli": {"documents"},
}
IO_MODULES = {"os", "pathlib", "shutil", "tempfile", "subprocess", "socket", "io", "glob", "time", "datetime", "signal"}
IN_MEMORY = {"io.BytesIO"}
"""Bytes read line by line, which takes a third of the time that splitting and joining takes; no file."""
IO_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}


def modules() -> Iterator[tuple[str, Path, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        room = relative.parts[0].removesuffix(".py")
        if room != "_patches":
            yield room, path, ast.parse(path.read_bytes())


def imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every imported dotted name, imports inside functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import on line {node.lineno}"
            assert node.module is not None
            if node.module in {"patchctl", "io"}:
                for alias in node.names:
                    yield f"{node.module}.{alias.name}", node.lineno
            else:
                yield node.module, node.lineno


def test_every_module_has_a_line() -> None:
    assert {room for room, _, _ in modules()} <= set(LINES)


def test_a_room_imports_only_from_lower_lines() -> None:
    wrong = []
    for room, path, tree in modules():
        for name, line in imports(tree):
            parts = name.split(".")
            if parts[0] != "patchctl" or len(parts) == 1:
                continue
            other = parts[1]
            if other in {room, "__version__"} or (room, other) in SAME_LINE_ALLOWED:
                continue
            if LINES[other] >= LINES[room]:
                wrong.append(f"{path.relative_to(PACKAGE)}:{line} imports {name}")
    assert wrong == []


def test_only_its_owner_knows_a_library() -> None:
    wrong = []
    for room, path, tree in modules():
        for name, line in imports(tree):
            owners = OWNERS.get(name.split(".")[0])
            if owners is not None and room not in owners:
                wrong.append(f"{path.relative_to(PACKAGE)}:{line} imports {name}")
    assert wrong == []


def test_core_rooms_do_no_io() -> None:
    wrong = []
    for room, path, tree in modules():
        if room not in CORE:
            continue
        for name, line in imports(tree):
            if name.split(".")[0] in IO_MODULES and name not in IN_MEMORY:
                wrong.append(f"{path.relative_to(PACKAGE)}:{line} imports {name}")
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IO_CALLS:
                wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno} calls {node.func.id}")
    assert wrong == []


def test_nothing_below_the_edges_prints_or_exits() -> None:
    wrong = []
    for room, path, tree in modules():
        if room in {"cli", "__main__"}:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"print", "exit"}:
                wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno} calls {node.func.id}")
            if isinstance(node, ast.Attribute) and ast.unparse(node) in {"sys.exit", "sys.stdout", "sys.stderr"}:
                wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno} uses {ast.unparse(node)}")
    assert wrong == []


def test_no_dry_run_flag_below_commands() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for room, path, tree in modules()
        if LINES[room] < LINES["commands"]
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.arg == "dry_run"
    ]
    assert wrong == []


def test_no_module_level_mutable_state() -> None:
    """Module-level names hold constants: no list, dict or set display that is not annotated Final or upper-case."""
    wrong = []
    for _, path, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                mutable = isinstance(node.value, ast.List | ast.Dict | ast.Set)
                if mutable and any(not name.isupper() and name != "__all__" for name in names):
                    wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
        for inner in ast.walk(tree):
            if isinstance(inner, ast.Global):
                wrong.append(f"{path.relative_to(PACKAGE)}:{inner.lineno} global")
    assert wrong == []


def test_no_module_grows_past_its_room() -> None:
    """A file past about 300 lines wants to become a folder."""
    long = {
        str(path.relative_to(PACKAGE)): count
        for _, path, _ in modules()
        if (count := path.read_bytes().count(b"\n")) > 320
    }
    assert long == {}
