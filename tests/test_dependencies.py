"""What is imported is declared, what is declared is used and not known to be vulnerable."""

from __future__ import annotations

import ast
import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution, distributions
from typing import Any, NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.audit import EXTRAS, KNOWN_BAD, PROJECT, Finding, ask, declared, first_answer, installed, lowest, project

ROOT = PROJECT.parent
NOT_INSTALLED = {"pynvml": "nvidia-ml-py", "patch_ng": "patch-ng", "whatthepatch": "whatthepatch"}
"""Top-level names of what need not be there, and whose it is."""
ON_THE_SIDE = {"torch", "numpy", "atheris", "pip"}
"""What tests use where it is: CI and the pages say how to get it, and no extra has it."""
OURS = {"patchctl", "tests"}
STANDARD = sys.stdlib_module_names | {"compression", "tomllib"}
"""The standard library, with what newer Pythons have."""


class Import(NamedTuple):
    """A third-party module that a file imports; ``late``: only when a function is called, or for types alone."""

    path: str
    module: str
    late: bool


def imports(folder: str) -> Iterator[Import]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        if "_patches" in path.parts:
            continue
        tree = ast.parse(path.read_bytes())
        late = {id(inner) for outer in ast.walk(tree) if _is_late(outer) for inner in ast.walk(outer)}
        for node in ast.walk(tree):
            for name in _modules(node):
                module = name.partition(".")[0]
                if module not in OURS | STANDARD:
                    yield Import(path.relative_to(ROOT).as_posix(), module, id(node) in late)


def _is_late(node: ast.AST) -> bool:
    types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return types or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def _modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        yield node.module
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "importorskip")):
        yield from (it.value for it in node.args[:1] if isinstance(it, ast.Constant) and isinstance(it.value, str))


def names(*extras: str, core: bool = True) -> set[str]:
    """Canonical names of the distributions that the core and extras declare."""
    table = project()
    some = [
        *(table["dependencies"] if core else ()),
        *(it for name in extras for it in table["optional-dependencies"][name]),
    ]
    return {canonicalize_name(Requirement(text).name) for text in some}


@cache
def packages() -> dict[str, set[str]]:
    """Return import name -> distributions. Python 3.10's own function reads top_level.txt, which few backends write."""
    found: dict[str, set[str]] = {}
    for one in distributions():
        for file in one.files or ():
            if file.suffix in {".py", ".so"}:
                found.setdefault(file.parts[0].partition(".")[0], set()).add(one.metadata["Name"])
    return found


def owners(module: str) -> set[str]:
    found = packages().get(module) or [NOT_INSTALLED[module]]
    return {canonicalize_name(name) for name in found}


def test_the_program_imports_only_what_is_declared_and_an_extra_only_when_it_is_used() -> None:
    core, extras = names(), {extra: names(extra, core=False) for extra in EXTRAS}
    brought = {"packageurl": "cyclonedx-python-lib"}  # part of that library's own interface
    for found in imports("patchctl"):
        whose = {brought[found.module]} if found.module in brought else owners(found.module)
        if whose & core:
            continue
        having = [extra for extra, declared_there in extras.items() if whose & declared_there]
        assert len(having) == 1, found
        assert found.late, f"{found.path} imports {found.module} whenever it is loaded, and {having[0]} is an extra"
    for module, library in brought.items():
        needed = {canonicalize_name(Requirement(text).name) for text in distribution(library).requires or ()}
        assert owners(module) <= needed


def test_the_tests_import_only_what_is_declared() -> None:
    known = names("dev", "bench", *EXTRAS)
    brought = {"packageurl"}
    for found in imports("tests"):
        if found.module not in ON_THE_SIDE | brought:
            assert owners(found.module) & known, found
    told = (ROOT / ".ci/run").read_text() + (ROOT / "docs/contributing.md").read_text()
    assert all(name in told for name in ON_THE_SIDE)


def test_nothing_is_declared_in_the_core_that_is_not_used() -> None:
    used = {name for found in imports("patchctl") for name in owners(found.module)}
    lines = [line for line in PROJECT.read_text().splitlines() if line.startswith('    "')]
    for requirement in declared():
        name = canonicalize_name(requirement.name)
        if name in used:
            continue
        # A bound under what another one brings: it says for which hole.
        bringing = {
            canonicalize_name(Requirement(text).name)
            for other in declared()
            for text in (distribution(other.name).requires or () if canonicalize_name(other.name) in used else ())
        }
        assert name in bringing, name
        (line,) = [line for line in lines if line.startswith(f'    "{requirement.name}>=')]
        assert re.search(r"CVE-\d{4}-\d+", line), line


def test_every_requirement_has_a_lower_bound_and_is_the_same_wherever_it_stands() -> None:
    table = project()
    specifiers: dict[str, set[str]] = {}
    for extra in ("dev", "bench", *EXTRAS):
        for text in table["optional-dependencies"][extra]:
            requirement = Requirement(text)
            bound = [it.version for it in requirement.specifier if it.operator == ">="]
            assert len(bound) == 1 or requirement.name.startswith("types-"), text
            specifiers.setdefault(canonicalize_name(requirement.name), set()).add(str(requirement.specifier))
    for requirement in declared():
        if canonicalize_name(requirement.name) != "tomli":  # the tests take it whatever Python they run on
            specifiers.setdefault(canonicalize_name(requirement.name), set()).add(str(requirement.specifier))
    assert {name: found for name, found in specifiers.items() if len(found) > 1} == {}
    assert set(table["optional-dependencies"]) == {"dev", "bench", *EXTRAS}


class TestTheAudit:
    """Whether what is needed is known to be vulnerable, and whether that can be told at all."""

    @pytest.mark.parametrize("what", ["lowest", "installed"])
    def test_finds_nothing_known_to_be_vulnerable(self, what: str) -> None:
        pins = lowest(declared(*EXTRAS)) if what == "lowest" else installed(declared(*EXTRAS))
        assert {"rich", "typer", "packaging", "pygments"} <= set(pins)
        answer = first_answer(pins)
        if answer.silent is not None:
            pytest.skip(f"no vulnerability service answers here: {answer.silent}")
        assert answer.findings == ()
        assert answer.unknown == ()

    def test_asks_about_the_lowest_versions_and_about_all_that_is_brought(self) -> None:
        pins = lowest(declared(*EXTRAS))
        assert pins["pyyaml"] == "6.0.1"
        assert pins["nvidia-ml-py"] == "12.535.77"
        assert {"mdurl", "shellingham", "py-serializable"} <= set(installed(declared(*EXTRAS)))

    def test_reports_what_the_service_reports(self) -> None:
        with service({("rich", "13.8.0"): "CVE-2099-1", KNOWN_BAD: "CVE-2018-18074"}) as url:
            answer = ask({"rich": "13.8.0", "typer": "0.26.0"}, ("osv", "--osv-url", url))
            assert answer.silent is None
            assert answer.findings == (Finding("rich", "13.8.0", ("CVE-2099-1", "TEST-1")),)
            assert ask({"rich": "15.0.0"}, ("osv", "--osv-url", url)) == answer._replace(findings=())

    @pytest.mark.parametrize(
        ("status", "body"),
        [(200, "{}"), (500, ""), (200, "<html>")],
        ids=["it knows nothing", "it fails", "it is something else"],
    )
    def test_is_silent_where_the_service_does_not_answer(self, status: int, body: str) -> None:
        with service({}, status=status, body=body) as url:
            answer = ask({"rich": "13.8.0"}, ("osv", "--osv-url", url))
        assert answer.silent
        assert (answer.findings, answer.unknown) == ((), ())

    def test_is_silent_where_nobody_listens(self) -> None:
        with service({}) as url:
            pass
        assert ask({"rich": "13.8.0"}, ("osv", "--osv-url", url)).silent

    def test_names_of_which_nothing_is_known_are_no_clean_answer(self) -> None:
        from tests.audit import _read

        rows = [{"name": "Rich", "skip_reason": "not found"}, {"name": "x", "version": "1", "vulns": []}]
        assert _read("pypi", {"dependencies": rows}).unknown == ("rich",)


@contextmanager
def service(bad: Mapping[tuple[str, str], str], *, status: int = 200, body: str | None = None) -> Iterator[str]:
    """A vulnerability service on this machine that speaks OSV's protocol; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = body if body is not None else json.dumps(_advisory(bad, query))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/query"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _advisory(bad: Mapping[tuple[str, str], str], query: dict[str, Any]) -> dict[str, Any]:
    name, version = query["package"]["name"], query["version"]
    cve = bad.get((name, version))
    if cve is None:
        return {}
    affected = [{"package": {"name": name, "ecosystem": "PyPI"}, "ranges": []}]
    return {"vulns": [{"id": "TEST-1", "aliases": [cve], "summary": "a hole", "affected": affected}]}
