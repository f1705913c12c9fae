"""The names of all fields of a pod's spec, from Kubernetes' own models, for the runtime to find misspelt ones by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kubernetes import client

_ROOT = "V1PodSpec"


def pod_fields() -> str:
    """A line for each type: its name, and its fields, each with the type of what is in it if that has fields, too."""
    found: dict[str, Mapping[str, str]] = {}
    _find(_ROOT, found)
    return "".join(f"{kind} {' '.join(_words(fields, found))}\n" for kind, fields in sorted(found.items()))


def _find(kind: str, found: dict[str, Mapping[str, str]]) -> None:
    model = getattr(client, kind, None)
    if kind in found or model is None or not hasattr(model, "openapi_types"):
        return
    types = {name: model.openapi_types[field] for field, name in model.attribute_map.items()}
    found[kind] = {name: re.sub(r"^list\[(.*)\]$", r"\1", of) for name, of in types.items()}
    for inner in found[kind].values():
        _find(inner, found)


def _words(fields: Mapping[str, str], found: Mapping[str, object]) -> Iterator[str]:
    for name, kind in sorted(fields.items()):
        yield f"{name}={kind}" if kind in found else name
