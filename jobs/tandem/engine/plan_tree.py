"""Plans and expressions of Spark as trees, read from what `toJSON` writes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Node:
    """A node of a plan, or an expression: the name of its class, its fields and its children."""

    name: str
    fields: Mapping[str, Any]
    children: list[Node] = field(default_factory=list)


def tree(nodes: Iterator[Mapping[str, Any]]) -> Node:
    """Spark writes a tree as a list, each node before its children."""
    fields = next(nodes)
    node = Node(str(fields["class"]).rpartition(".")[2], fields)
    node.children = [tree(nodes) for _ in range(fields["num-children"])]
    return node


def expressions(written: object) -> list[Node]:
    """A field's expression, or its list of expressions."""
    if not isinstance(written, list) or not written:
        return []
    return [tree(iter(one)) for one in (written if isinstance(written[0], list) else [written])]
