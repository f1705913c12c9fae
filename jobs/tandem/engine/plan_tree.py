"""A plan's JSON as a tree, and whether a column in it is an input's, passed on, or computed by the job. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def is_computed(attribute: int, name: str, plan: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the column `attribute` of an analysed plan (as Spark's `toJSON` gives it) is more than a column, or a field of
    one, that was called `name` before.

    What a Python function gives back beside all columns of its input counts as passed on.
    """
    nodes = list(_all(tree(iter(plan))))
    aliases = {expression_id(one): one.children[0] for node in nodes for one in _aliases(node)}
    made = {expression_id(one): node for node in nodes if node.children for one in _made(node)}
    seen: set[int] = set()
    while attribute in aliases and attribute not in seen:
        seen.add(attribute)
        source = aliases[attribute]
        if source.name == "GetStructField":
            return str(source.fields.get("name") or name).lower() != name
        if source.name != "AttributeReference" or str(source.fields["name"]).lower() != name:
            return True
        attribute = expression_id(source)
    maker = made.get(attribute)
    return maker is not None and not _gives_all_back(maker, name)


def _gives_all_back(maker: Node, name: str) -> bool:
    given = {str(one.fields["name"]).lower() for one in _made(maker)}
    function = next(iter(expressions(maker.fields.get("functionExpr"))), None)
    taken = {
        str(one.fields["name"]).lower()
        for one in (function.children if function is not None else [])
        if one.name == "AttributeReference"
    }
    return name in taken <= given


def _aliases(node: Node) -> Iterator[Node]:
    for key in ("projectList", "aggregateExpressions"):
        yield from (one for one in expressions(node.fields.get(key)) if one.name == "Alias")


def _made(node: Node) -> Iterator[Node]:
    for key in ("output", "outputAttrs", "generatorOutput"):
        yield from expressions(node.fields.get(key))


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _all(child)


def expression_id(expression: Node) -> int:
    """Spark's number of a named column in its plan; -1: the expression has none."""
    return int(expression.fields.get("exprId", {}).get("id", -1))
