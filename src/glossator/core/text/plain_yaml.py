"""Reads YAML from books as plain values; a few lines that would become billions of them are refused."""

from __future__ import annotations

from typing import Any

import yaml

MAX_NODES = 100_000
"""Values that a file may have, with each alias counted as all that it stands for."""


class EndlessYaml(yaml.YAMLError):
    """A document that refers to itself, or has too many values."""


def load_yaml(text: str, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> Any:
    """The value of a document; raises YAMLError if it is invalid, and EndlessYaml if it expands without end."""
    reader = loader(text)
    try:
        node = reader.get_single_node()
        if node is None:
            return None
        _count(node, {})
        return reader.construct_document(node)
    except (ValueError, OverflowError, RecursionError) as error:
        raise yaml.YAMLError(f"a value cannot be read ({error})") from None
    finally:
        reader.dispose()


def _count(node: yaml.Node, counts: dict[int, int]) -> int:
    """The nodes of a document; `counts` has those of each node that was seen, and zero while it is counted."""
    known = counts.get(id(node))
    if known == 0:
        raise EndlessYaml("a value contains itself")
    if known is None:
        counts[id(node)] = 0
        known = 1 + sum(_count(child, counts) for child in _children(node))
        counts[id(node)] = known
    if known > MAX_NODES:
        raise EndlessYaml("there are too many values")
    return known


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
