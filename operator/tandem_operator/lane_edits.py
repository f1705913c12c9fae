"""What somebody has edited in a lane's job, and the merge patch that takes it back. Pure.

A server-side apply leaves alone what others have added. Not that: the operator alone writes the jobs of lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from tandem_operator.crd.schema import Schema, crd_schema

REQUESTS: Final = ("savepointNonce",)
"""Fields of the spec that are requests: `lane_requests` hands them on."""


def edits(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch of a lane's spec from `there` to `wanted`; {} if they are the same but for defaults and requests."""
    schema = _spec_schema()
    patch: dict[str, Any] = _patch(defaulted(wanted, schema), defaulted(_without_requests(there), schema))
    return patch


def _without_requests(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name not in REQUESTS}


@cache
def _spec_schema() -> Schema:
    schema: Schema = crd_schema()["properties"]["spec"]
    return schema


def defaulted(value: Any, schema: Schema) -> Any:
    """The value with the defaults that the API server fills in, and without nulls, which mean nothing there."""
    if isinstance(value, Mapping):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        given = {name: one for name, one in value.items() if one is not None}
        default = {name: child["default"] for name, child in fields.items() if "default" in child}
        return {name: defaulted(one, fields.get(name, others)) for name, one in {**default, **given}.items()}
    if isinstance(value, list | tuple):
        return [defaulted(one, schema.get("items", {})) for one in value]
    return value


def _patch(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = dict.fromkeys(there.keys() - wanted.keys())
    for name, value in wanted.items():
        old = there.get(name)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if inside := _patch(value, old):
                patch[name] = inside
        elif value != old:
            patch[name] = value
    return patch
