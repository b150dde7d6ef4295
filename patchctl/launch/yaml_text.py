"""YAML text as plain values, by way of PyYAML, which is an optional extra. What the values mean is not here.

PyYAML gives events and nodes; the values are made here, since only so the work can be bounded: an alias costs as much
as what it stands for, and merges (``<<``) multiply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchctl.errors import PatchctlError

if TYPE_CHECKING:
    from yaml.nodes import Node

LARGEST = 1 << 20
"""Characters that are read."""
_DEEPEST = 64
_MOST_NODES = 100_000
_MOST_ALIASES = 1_000
_MERGE = "tag:yaml.org,2002:merge"


class YamlError(PatchctlError):
    """The text cannot be read as YAML, or nothing here can read YAML."""


def read_yaml(text: str, name: str) -> tuple[object, ...]:
    """Return the documents of a YAML text.

    Args:
        text: the text.
        name: what it is called, for messages.

    Raises:
        YamlError: PyYAML is missing, the text is no YAML, or it is too large, too deep or refers to itself too much.
    """
    if len(text) > LARGEST:
        raise YamlError("yaml-too-large", f"{name} is larger than {LARGEST} characters")
    try:
        import yaml
    except ImportError:
        hint = "install patchctl with the extra: pip install 'patchctl[yaml]'"
        raise YamlError("no-yaml", f"{name} is YAML, which needs the library PyYAML", hint=hint) from None
    try:
        _bounded(text, name)
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        return tuple(_Making(name).value(node, 0) for node in documents if node is not None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        what = getattr(error, "problem", None) or "it cannot be read"
        hint = "a template has to be rendered first: helm template, kustomize build, docker compose config"
        raise YamlError("bad-yaml", f"{name}{where}: {what}", hint=hint) from None
    except (RecursionError, ValueError) as error:
        raise YamlError("bad-yaml", f"{name}: {error}") from None


def _bounded(text: str, name: str) -> None:
    """Look at the events first: they come without recursion and without resolving an alias."""
    import yaml

    depth = aliases = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.events.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.events.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.events.AliasEvent):
            aliases += 1
        if depth > _DEEPEST or aliases > _MOST_ALIASES:
            what = "nested too deep" if depth > _DEEPEST else "full of aliases"
            raise YamlError("yaml-too-deep", f"{name} is {what}")


class _Making:
    """Values from nodes; every value that is made counts, those of an alias again."""

    def __init__(self, name: str) -> None:
        import yaml

        self.name, self.made = name, 0
        self.scalars = yaml.constructor.SafeConstructor()

    def value(self, node: Node, depth: int) -> object:
        """Return the value of a node."""
        import yaml

        self._count(depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        return self.scalars.construct_object(node)

    def _mapping(self, node: Node, depth: int) -> dict[object, object]:
        merged: dict[object, object] = {}
        own: dict[object, object] = {}
        for key_node, value_node in node.value:
            value = self.value(value_node, depth + 1)
            if key_node.tag == _MERGE:
                for other in value if isinstance(value, list) else [value]:
                    merged = {**(other if isinstance(other, dict) else {}), **merged}
                continue
            key = self.value(key_node, depth + 1)
            if isinstance(key, list | dict):
                raise YamlError("bad-yaml", f"{self.name}: a key is a list or a mapping")
            own[key] = value
        return {**merged, **own}

    def _count(self, depth: int) -> None:
        self.made += 1
        if self.made > _MOST_NODES or depth > _DEEPEST:
            raise YamlError("yaml-too-large", f"{self.name} comes to too much once its aliases are followed")
