"""What ``vllm serve`` takes, read from a released wheel's own sources without importing them.

Most options are made from fields of vLLM's configuration classes: a field with ``bool`` is a switch, one with a list
takes several words, and so on. Here the same is read off the syntax trees of ``arg_utils.py``, ``cli_args.py`` and
``config/*.py``.
"""

from __future__ import annotations

import ast
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FRONTENDS = {f"vllm/entrypoints/{place}/cli_args.py" for place in ("common", "openai", "launchers")}
SWITCH, ONE, MAYBE, SEVERAL = "switch", "one", "maybe", "several"


class Spelled(NamedTuple):
    """One option: every way to write it, the long one first, and what it takes."""

    names: tuple[str, ...]
    takes: str


class Sources(NamedTuple):
    """The syntax trees that options are made in."""

    engine: ast.Module
    frontend: ast.Module
    classes: dict[str, ast.ClassDef]


def options_of(wheel: Path) -> dict[str, Spelled]:
    """Return long name -> option, of one release."""
    sources = _read(wheel)
    found = [*_engine_options(sources), *_frontend_options(sources)]
    return {option.names[0]: option for option in found}


def _read(wheel: Path) -> Sources:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        trees = {
            name: ast.parse(archive.read(name))
            for name in names
            if name == "vllm/engine/arg_utils.py"
            or name in FRONTENDS
            or (name.startswith("vllm/config/") and name.endswith(".py"))
        }
    frontend = next(tree for name, tree in trees.items() if name.endswith("cli_args.py"))
    classes = {
        node.name: node
        for name, tree in trees.items()
        if name.startswith("vllm/config/") or tree is frontend
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    return Sources(engine=trees["vllm/engine/arg_utils.py"], frontend=frontend, classes=classes)


def _field(classes: dict[str, ast.ClassDef], owner: str, name: str) -> ast.expr | None:
    node = classes[owner]
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == name:
            return statement.annotation
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes:
            found = _field(classes, base.id, name)
            if found is not None:
                return found
    return None


def _types(annotation: ast.expr) -> set[str]:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _types(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.BinOp):
        return _types(annotation.left) | _types(annotation.right)
    if isinstance(annotation, ast.Subscript):
        head = ast.unparse(annotation.value)
        parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if head == "Annotated":
            return _types(parts[0])
        if head == "Optional":
            return _types(parts[0]) | {"None"}
        if head == "Union":
            return set().union(*(_types(part) for part in parts))
        return {head}
    return {ast.unparse(annotation)}


def _takes(annotation: ast.expr, classes: dict[str, ast.ClassDef], *, maybe: bool) -> str:
    types = _types(annotation)
    if any(name in classes for name in types):
        return ONE
    if maybe and types == {"bool", "str", "None"}:
        return MAYBE
    if "bool" in types:
        return SWITCH
    return SEVERAL if types & {"list", "tuple", "set"} and "Literal" not in types else ONE


def _engine_options(sources: Sources) -> Iterator[Spelled]:
    maybe = "Optional-valued flag" in ast.unparse(sources.engine) or any(
        isinstance(node, ast.Set) and ast.unparse(node) == "{bool, str, type(None)}"
        for node in ast.walk(sources.engine)
    )
    for owner in sources.engine.body:
        if isinstance(owner, ast.ClassDef) and owner.name in {"EngineArgs", "AsyncEngineArgs"}:
            for method in owner.body:
                if isinstance(method, ast.FunctionDef) and method.name == "add_cli_args":
                    yield from _added(method, sources.classes, maybe=maybe)
    for method in sources.frontend.body:
        if isinstance(method, ast.FunctionDef) and method.name == "make_arg_parser":
            yield from _added(method, sources.classes, maybe=maybe)


def _added(method: ast.FunctionDef, classes: dict[str, ast.ClassDef], *, maybe: bool) -> Iterator[Spelled]:
    owners: dict[str, str] = {}
    whole: dict[str, ast.expr] = {}
    for node in ast.walk(method):
        if isinstance(node, ast.Assign) and "get_kwargs(" in ast.unparse(node.value) and len(node.targets) == 1:
            target = ast.unparse(node.targets[0])
            value = node.value
            if isinstance(value, ast.Subscript):  # get_kwargs(VllmConfig)["logging_config"]
                whole[target] = value
                value = value.value
            if isinstance(value, ast.Call) and isinstance(value.args[0], ast.Name):
                owners[target] = value.args[0].id
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            names = [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
            long = [name for name in names if name.startswith("--")]
            if long:
                ordered = (*long, *(name for name in names if name not in long))
                yield Spelled(ordered, _of_call(node, owners, whole, classes, maybe=maybe))


def _of_call(
    call: ast.Call,
    owners: dict[str, str],
    whole: dict[str, ast.expr],
    classes: dict[str, ast.ClassDef],
    *,
    maybe: bool,
) -> str:
    given: dict[str, str] = {}
    takes = ONE
    for keyword in call.keywords:
        if keyword.arg is not None:
            given[keyword.arg] = ast.unparse(keyword.value)
            continue
        for node in ast.walk(keyword.value):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant):
                        given[str(key.value)] = ast.unparse(value)
            if isinstance(node, ast.Name) and node.id in whole:
                node = whole[node.id]  # noqa: PLW2901
                owner = ast.unparse(node.value.args[0])  # type: ignore[attr-defined]
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in owners:
                owner = owners[ast.unparse(node.value)]
            else:
                continue
            assert isinstance(node, ast.Subscript)
            assert isinstance(node.slice, ast.Constant)
            annotation = _field(classes, owner, str(node.slice.value))
            assert annotation is not None, (owner, node.slice.value)
            takes = _takes(annotation, classes, maybe=maybe)
    if "store_" in given.get("action", "") or "BooleanOptional" in given.get("action", ""):
        return SWITCH
    nargs = given.get("nargs")
    return takes if nargs is None else MAYBE if nargs == "'?'" else SEVERAL


def _frontend_options(sources: Sources) -> Iterator[Spelled]:
    owners = ("BaseFrontendArgs", "FrontendArgs")
    changed: dict[str, str] = {}
    for owner in owners:
        for node in ast.walk(sources.classes[owner]) if owner in sources.classes else ():
            if isinstance(node, ast.Delete):
                (target,) = node.targets
                assert isinstance(target, ast.Subscript)
                assert isinstance(target.value, ast.Subscript)
                changed[ast.literal_eval(target.value.slice)] = ONE
    for owner in owners:
        for statement in sources.classes[owner].body if owner in sources.classes else ():
            if isinstance(statement, ast.AnnAssign):
                name = ast.unparse(statement.target)
                takes = changed.get(name) or _takes(statement.annotation, sources.classes, maybe=True)
                yield Spelled((f"--{name.replace('_', '-')}",), takes)
