"""Pydantic's JSON schema → the structural OpenAPI v3 schema that Kubernetes accepts.

Kubernetes wants the type of every node, no references, no `null`, and no two ways of saying something
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.crd.bounds import bounded
from tandem_operator.crd.cel import Path
from tandem_operator.crd.rules import RULES
from tandem_operator.status import Status

Schema = dict[str, Any]

LIST_KEYS: Final[Mapping[Path, tuple[str, ...]]] = {
    ("spec", "sources"): ("name",),
    ("spec", "sinks"): ("name",),
    ("spec", "imagePullSecrets"): ("name",),
    ("status", "conditions"): ("type",),
    ("status", "members"): ("name",),
}
"""Lists whose items have a name of their own; of all others, the order is what counts."""
SETS: Final = frozenset({("spec", "sources", "[]", "topics")})
"""Lists in which nothing may be twice."""

_KEPT: Final = (
    *("type", "description", "enum", "pattern", "format", "minimum", "maximum", "minLength", "maxLength", "minItems"),
    *(
        "maxItems",
        "minProperties",
        "maxProperties",
        "x-kubernetes-int-or-string",
        "x-kubernetes-preserve-unknown-fields",
    ),
)
_DROPPED: Final = frozenset(
    {"$defs", "title", "default", "properties", "required", "items", "additionalProperties", "propertyNames"}
)
_API_VERSION: Final = "The version of this schema of an object: tandem.dev/v1alpha1"
_KIND: Final = "What the object is: ReplicatedStreamJob"


def crd_schema() -> Schema:
    """The whole schema of a ReplicatedStreamJob: what it is, spec, status, and the rules."""
    spec = structural(ReplicatedStreamJob, ("spec",), "spec", with_defaults=True)
    status = structural(Status, ("status",), None, with_defaults=False)
    name = {"type": "string", "maxLength": _longest_name()}
    schema: Schema = {
        "type": "object",
        "description": "A PySpark streaming job in active replicas.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": _API_VERSION},
            "kind": {"type": "string", "description": _KIND},
            "metadata": {"type": "object", "properties": {"name": name, "generateName": dict(name)}},
            "spec": spec,
            "status": status,
        },
    }
    for rule in RULES:
        for path in rule.paths:
            at(schema, path).setdefault("x-kubernetes-validations", []).append(rule.as_kubernetes())
    return schema


def structural(model: type[BaseModel], path: Path, field: str | None, with_defaults: bool) -> Schema:
    """The structural schema of a model, or of one of its fields.

    Raises `ValueError`: the model uses something of JSON schema that Kubernetes cannot say.
    """
    whole = model.model_json_schema(by_alias=True)
    definitions: Mapping[str, Any] = whole.get("$defs", {})
    node = whole if field is None else whole["properties"][field]
    return _Converter(definitions, with_defaults).converted(node, path)


def at(schema: Schema, path: Path) -> Schema:
    """The part of a structural schema at `path`; `[]` stands for the items of a list, `{}` for the values of a map."""
    for part in path:
        inside = {"[]": "items", "{}": "additionalProperties"}.get(part)
        schema = schema["properties"][part] if inside is None else schema[inside]
    return schema


class _Converter:
    def __init__(self, definitions: Mapping[str, Any], with_defaults: bool) -> None:
        self._definitions = definitions
        self._with_defaults = with_defaults

    def converted(self, node: Mapping[str, Any], path: Path) -> Schema:
        node = self._resolved(node)
        self._check(node, path)
        schema: Schema = {key: node[key] for key in _KEPT if key in node}
        if "const" in node:
            schema["enum"] = [node["const"]]
        if node.get("x-kubernetes-int-or-string"):
            schema.pop("type", None)
            schema["anyOf"] = node["anyOf"]
            return schema
        if node.get("type") == "object":
            schema |= self._object(node, path)
        elif node.get("type") == "array":
            schema |= self._array(node, path)
        elif node.get("type") == "integer":
            schema["format"] = "int32" if node.get("maximum", 2**31) < 2**31 else "int64"
        if self._with_defaults and (default := _default(node)) is not None:
            # Written out: the API server tries the rules on a default before it has filled in those inside it.
            inside = {
                name: child["default"] for name, child in schema.get("properties", {}).items() if "default" in child
            }
            schema["default"] = inside if default == {} else default
        return bounded(schema, path)

    def _object(self, node: Mapping[str, Any], path: Path) -> Schema:
        if "properties" in node:
            fields = {name: self.converted(child, (*path, name)) for name, child in sorted(node["properties"].items())}
            required = sorted(node.get("required", ()))
            return {"properties": fields, **({"required": required} if required else {})}
        values = node.get("additionalProperties", False)
        if isinstance(values, Mapping):
            return {"additionalProperties": self.converted(values, (*path, "{}"))}
        return {"x-kubernetes-preserve-unknown-fields": True}

    def _array(self, node: Mapping[str, Any], path: Path) -> Schema:
        items = {"items": self.converted(node["items"], (*path, "[]"))}
        if path in LIST_KEYS:
            return {**items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(LIST_KEYS[path])}
        return {**items, "x-kubernetes-list-type": "set" if path in SETS else "atomic"}

    def _resolved(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        """Without references and without `null`; what stands beside them outweighs what they lead to."""
        while True:
            if "$ref" in node:
                target = self._definitions[node["$ref"].removeprefix("#/$defs/")]
            elif "anyOf" in node and not node.get("x-kubernetes-int-or-string"):
                target = _only([option for option in node["anyOf"] if option.get("type") != "null"])
            else:
                return node
            node = {**target, **{key: value for key, value in node.items() if key not in ("$ref", "anyOf")}}

    @staticmethod
    def _check(node: Mapping[str, Any], path: Path) -> None:
        unknown = node.keys() - set(_KEPT) - _DROPPED - {"const", "anyOf"}
        if unknown or ("type" not in node and not node.get("x-kubernetes-int-or-string")):
            what = ", ".join(sorted(unknown)) or "a value of any type"
            raise ValueError(f"{'.'.join(path)}: Kubernetes knows no {what} in a schema. Say it in a rule of rules.py")


def _only(options: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    if len(options) != 1:
        raise ValueError(f"Kubernetes knows no choice of {len(options)} types. Use one type, or a rule of rules.py")
    return options[0]


def _default(node: Mapping[str, Any]) -> Any:
    """What the API server fills in; of a section nothing but the defaults of what is inside."""
    if node.get("type") == "object":
        is_optional = "default" in node and node["default"] is None
        is_required = "default" not in node and "properties" in node
        return None if is_optional or is_required else {}
    return node.get("default")


def _longest_name() -> int:
    name = ReplicatedStreamJob.model_json_schema(by_alias=True)["$defs"]["Metadata"]["properties"]["name"]
    return int(name["maxLength"])
