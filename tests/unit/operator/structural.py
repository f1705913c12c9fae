"""What Kubernetes demands of a structural schema, and what a schema demands of an object, as far as the CRD uses it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

_TYPES: Final = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
_KEYWORDS: Final = frozenset(
    (
        *(
            "type",
            "description",
            "properties",
            "additionalProperties",
            "items",
            "required",
            "default",
            "enum",
            "pattern",
        ),
        *(
            "format",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
        ),
        *("anyOf", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    )
)
_NOT_IN_RE2: Final = re.compile(r"\(\?[=!<]|\\[1-9]")


def flaws(schema: Schema, path: str = "") -> Iterator[str]:
    """Why the API server would refuse the schema."""
    for keyword in schema.keys() - _KEYWORDS:
        yield f"{path}: {keyword} is not allowed"
    either_type = schema.get("x-kubernetes-int-or-string", False)
    if either_type and (schema["anyOf"] != [{"type": "integer"}, {"type": "string"}] or "type" in schema):
        yield f"{path}: int-or-string has a shape of its own"
    if not either_type and ("anyOf" in schema or schema.get("type") not in _TYPES):
        yield f"{path}: needs one type"
    if _NOT_IN_RE2.search(schema.get("pattern", "")):
        yield f"{path}: the pattern is none of RE2's"
    if "default" in schema and list(errors(schema, schema["default"], path)):
        yield f"{path}: the default does not fit"
    if schema.get("type") == "object":
        yield from _flaws_of_object(schema, path)
    if schema.get("type") == "array":
        yield from _flaws_of_array(schema, path)


def _flaws_of_object(schema: Schema, path: str) -> Iterator[str]:
    ways = [
        key for key in ("properties", "additionalProperties", "x-kubernetes-preserve-unknown-fields") if key in schema
    ]
    if len(ways) != 1:
        yield f"{path}: says in {len(ways)} ways what is in it"
    if not set(schema.get("required", ())) <= schema.get("properties", {}).keys():
        yield f"{path}: requires what it does not know"
    for name, child in schema.get("properties", {}).items():
        if (path, name) == ("", "metadata"):
            if child.keys() != {"type", "properties"} or not child["properties"].keys() <= {"name", "generateName"}:
                yield "metadata: only name and generateName can be restricted"
            continue
        yield from flaws(child, f"{path}.{name}" if path else name)
    if "additionalProperties" in schema:
        yield from flaws(schema["additionalProperties"], f"{path}{{}}")


def _flaws_of_array(schema: Schema, path: str) -> Iterator[str]:
    if "items" not in schema:
        yield f"{path}: has no items"
        return
    items, kind = schema["items"], schema.get("x-kubernetes-list-type")
    if kind == "set" and items["type"] in ("object", "array"):
        yield f"{path}: only simple values make a set"
    for key in schema.get("x-kubernetes-list-map-keys", ()):
        if key not in items.get("required", ()) or items["properties"][key]["type"] in ("object", "array"):
            yield f"{path}: {key} is no key"
    if (kind == "map") != ("x-kubernetes-list-map-keys" in schema):
        yield f"{path}: a map has keys, and nothing else has"
    yield from flaws(items, f"{path}[]")


def errors(schema: Schema, value: Any, path: str = "") -> Iterator[str]:
    """What is wrong with a value, defaults filled in, as the API server would say it; rules are left out."""
    yield from _errors(schema, defaulted(schema, value), path)


def defaulted(schema: Schema, value: Any) -> Any:
    """The value as it is once the API server has filled in the defaults."""
    if isinstance(value, dict):
        given = dict(value)
        for name, child in schema.get("properties", {}).items():
            if name not in given and "default" in child:
                given[name] = copy.deepcopy(child["default"])
        children = schema.get("properties", {})
        others = schema.get("additionalProperties", {})
        return {name: defaulted(children.get(name, others), child) for name, child in given.items()}
    return [defaulted(schema.get("items", {}), item) for item in value] if isinstance(value, list) else value


def _errors(schema: Schema, value: Any, path: str) -> Iterator[str]:
    expected: Any = (int, str) if schema.get("x-kubernetes-int-or-string") else _TYPES[schema["type"]]
    if not isinstance(value, expected) or (isinstance(value, bool) and schema.get("type") != "boolean"):
        yield f"{path} must be of type {schema.get('type', 'integer or string')}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: Unsupported value: supported values: {schema['enum']}"
    if isinstance(value, str) and "pattern" in schema and re.search(schema["pattern"], value) is None:
        yield f"{path} should match {schema['pattern']}"
    if isinstance(value, int | float) and value < schema.get("minimum", value):
        yield f"{path} should be greater than or equal to {schema['minimum']}"
    if isinstance(value, int | float) and value > schema.get("maximum", value):
        yield f"{path} should be less than or equal to {schema['maximum']}"
    if isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        yield f"{path}: Too long"
    if isinstance(value, list):
        yield from _errors_of_list(schema, value, path)
    if isinstance(value, dict):
        yield from _errors_of_object(schema, value, path)


def _errors_of_list(schema: Schema, value: list[Any], path: str) -> Iterator[str]:
    if len(value) < schema.get("minItems", 0):
        yield f"{path} should have at least {schema['minItems']} items"
    if len(value) > schema.get("maxItems", len(value)):
        yield f"{path}: Too many"
    for index, item in enumerate(value):
        yield from _errors(schema["items"], item, f"{path}[{index}]")
    keys = schema.get("x-kubernetes-list-map-keys", ())
    if keys or schema.get("x-kubernetes-list-type") == "set":
        seen = [tuple(item.get(key) for key in keys) if keys and isinstance(item, dict) else item for item in value]
        if any(item in seen[:index] for index, item in enumerate(seen)):
            yield f"{path}: Duplicate value"


def _errors_of_object(schema: Schema, value: dict[str, Any], path: str) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name}: Required value"
    if len(value) > schema.get("maxProperties", len(value)):
        yield f"{path}: Too many"
    for name, child in value.items():
        if name in schema.get("properties", {}):
            yield from _errors(schema["properties"][name], child, f"{path}.{name}")
        elif "additionalProperties" in schema:
            yield from _errors(schema["additionalProperties"], child, f"{path}.{name}")
        elif not schema.get("x-kubernetes-preserve-unknown-fields") and path != ".metadata":
            yield f'unknown field "{path}.{name}"'
