"""Imports modules of a vLLM release without torch, msgspec or any other of its dependencies.

The modules named are executed from the bytes given; every other import below ``vllm`` and of vLLM's dependencies
yields a stub: a module all of whose attributes are falsy classes that take any arguments. What a test needs to behave
is handed in as ``extra``. Nothing of a release is judged here.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

DEPENDENCIES = (
    "fastapi", "msgspec", "numpy", "openai", "openai_harmony", "partial_json_parser", "pybase64", "pydantic",
    "regex", "starlette", "torch", "vllm", "zmq",
)  # fmt: skip
"""Top-level packages that are never taken from the interpreter the tests run in."""


class _AnyClass(type):
    """Class of the stub classes: any attribute is a further stub class, and all of them are falsy."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return stub_class(name)

    def __bool__(cls) -> bool:
        return False


class Stub(metaclass=_AnyClass):
    """Takes any arguments, keeps the named ones, passes a decorated function through."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.__dict__.update(kwargs)

    def __class_getitem__(cls, item: object) -> type:
        return cls

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        return args[0] if args and callable(args[0]) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub()

    def __bool__(self) -> bool:
        return False


def stub_class(name: str) -> type:
    """Return a new stub class."""
    return _AnyClass(name, (Stub,), {})


class _StubLoader(Loader):
    def __init__(self, members: Mapping[str, object]) -> None:
        self._members = members

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []
        module.__dict__.update(self._members)


class _StubModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return stub_class(name)


class _SourceLoader(InspectLoader):
    """Executes bytes of a release; see importlib.abc for the methods."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        self._data = data

    def get_source(self, fullname: str) -> str:
        return self._data.decode()

    def get_code(self, fullname: str) -> Any:
        return compile(self._data, self._path, "exec", dont_inherit=True)

    def is_package(self, fullname: str) -> bool:
        return self._path.endswith("/__init__.py")


class _Finder(MetaPathFinder):
    def __init__(self, sources: Mapping[str, tuple[str, bytes]], extra: Mapping[str, Mapping[str, object]]) -> None:
        self._sources = sources
        self._extra = extra

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in DEPENDENCIES:
            return None
        if fullname in self._sources:
            return spec_from_loader(fullname, _SourceLoader(*self._sources[fullname]))
        return spec_from_loader(fullname, _StubLoader(self._extra.get(fullname, {})), is_package=True)


@contextlib.contextmanager
def imported(
    files: Mapping[str, bytes], real: Sequence[str], extra: Mapping[str, Mapping[str, object]]
) -> Iterator[Callable[[str], ModuleType]]:
    """While the context is open, ``import vllm...`` sees one release; yields ``importlib.import_module``.

    Args:
        files: POSIX path in the release -> bytes; those of ``real`` must be there.
        real: paths of the modules to execute.
        extra: module name -> attributes that its stub has instead of falsy classes.
    """
    from importlib import import_module

    sources = {_module_name(path): (path, files[path]) for path in real}
    finder = _Finder(sources, extra)
    hidden = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in DEPENDENCIES}
    for name in hidden:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield import_module
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in DEPENDENCIES]:
            del sys.modules[name]
        sys.modules.update(hidden)


def _module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
