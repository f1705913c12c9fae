"""Defaults of an Avro schema as values. In the schema's JSON, those of bytes, fixed and decimals are texts, a character for
each byte, and fastavro takes them as they are. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Context, Decimal
from typing import Any

from tandem.formats.avro_types import branches, is_decimal


def convert_defaults(schema: Any, named: Mapping[str, Any]) -> None:
    """Change the defaults of a parsed schema, and of the types in `named`, into what its reader and writer take. One that is
    none of its type stays as it is: it may never be needed."""
    for tree in (schema, *named.values()):
        for field in _fields(tree):
            if "default" in field:
                with suppress(ValueError, TypeError, AttributeError, LookupError):
                    field["default"] = _value(field["default"], field["type"], named)


def _fields(tree: Any) -> Iterator[dict[str, Any]]:
    """All fields of records, however deep they lie."""
    if isinstance(tree, list):
        for one in tree:
            yield from _fields(one)
    elif isinstance(tree, dict):
        yield from tree.get("fields", ())
        for part in ("items", "values", "type"):
            yield from _fields(tree.get(part))
        for field in tree.get("fields", ()):
            yield from _fields(field["type"])


def _value(default: Any, schema: Any, named: Mapping[str, Any]) -> Any:
    if default is None:
        return None
    if isinstance(schema, list):
        return _value(default, branches(schema)[0], named)
    tree = named.get(schema, {"type": schema}) if isinstance(schema, str) else schema
    kind = tree["type"]
    if kind in ("bytes", "fixed") and isinstance(default, str):
        content = default.encode("latin-1")
        return _decimal(content, tree.get("scale", 0)) if is_decimal(tree) else content
    if kind == "array":
        return [_value(one, tree["items"], named) for one in default]
    if kind == "map":
        return {key: _value(one, tree["values"], named) for key, one in default.items()}
    if kind in ("record", "error"):
        types = {field["name"]: field["type"] for field in tree["fields"]}
        return {name: _value(one, types[name], named) if name in types else one for name, one in default.items()}
    return default


def _decimal(content: bytes, scale: int) -> Decimal:
    number = int.from_bytes(content, "big", signed=True)
    return Decimal(number).scaleb(-scale, Context(prec=max(1, len(str(abs(number))))))
