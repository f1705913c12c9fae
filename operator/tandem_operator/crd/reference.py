"""The reference page of the CRD, made from the schema and the rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tandem.manifest import API_VERSION, KIND
from tandem.manifest.kubernetes import KubernetesSpec
from tandem_operator.crd.cel import Path, Rule
from tandem_operator.crd.rules import RULES
from tandem_operator.crd.schema import crd_schema

_HEAD: Final = f"""\
# {KIND}

`apiVersion: {API_VERSION}`, `kind: {KIND}`, short name `rsj`. This page is made from the models that the runtime, the
operator and the CRD share: `python -m tandem_operator.crd` writes it.

`tandem run` and `tandem validate` read the same manifest. What is marked *Kubernetes only* they check, and do without.
Durations are a number and one of `ms`, `s`, `m`, `h`: `10ms`, `1.5s`. A field without a default may be left out unless it is
marked *required*. In paths, `[]` stands for every item of a list and `{{}}` for every value of a map.
"""
_RULES: Final = """\
## Rules

What the API server checks beyond the shape of each value. A manifest that breaks a rule is refused with its message.
"""
_CHANGES: Final = """\
## What may not change

These are checked when a job is updated. All other fields may change while it runs:
[Upgrade a job](../how-to/upgrade-a-job.md).
"""
_STATUS: Final = "## status\n\nWritten by the operator.\n"
_KUBERNETES_ONLY: Final = frozenset(
    {("spec", info.alias or name) for name, info in KubernetesSpec.model_fields.items()}
    | {("spec", "job", "configMap")}
)


def reference() -> str:
    """The page, in Markdown."""
    properties = crd_schema()["properties"]
    parts = [
        _HEAD,
        *_section(("spec",), properties["spec"]),
        _RULES,
        _table(rule for rule in RULES if not rule.is_about_changes),
        _CHANGES,
        _table(rule for rule in RULES if rule.is_about_changes),
        _STATUS,
        *_fields_and_below(("status",), properties["status"]),
    ]
    return "\n".join(parts)


def _section(path: Path, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {dotted(path)}\n\n{_cell(schema.get('description', ''))}\n"
    yield from _fields_and_below(path, schema)


def _fields_and_below(path: Path, schema: Mapping[str, Any]) -> Iterator[str]:
    """The table of a section's fields, and after it the sections inside."""
    rows = ["| field | type | default | |", "|---|---|---|---|"]
    inside: list[tuple[Path, Mapping[str, Any]]] = []
    own_first = sorted(schema["properties"].items(), key=lambda item: ((*path, item[0]) in _KUBERNETES_ONLY, item[0]))
    for name, child in own_first:
        at = (*path, name)
        marks = ["*required*"] if name in schema.get("required", ()) else []
        marks += ["*Kubernetes only*"] if at in _KUBERNETES_ONLY else []
        about = ". ".join(part for part in (_cell(child.get("description", "")), *marks) if part)
        rows.append(f"| `{name}` | {_type(child)} | {_default(child)} | {about} |")
        section = _innermost(at, child)
        if section is not None:
            inside.append(section)
    yield "\n".join(rows) + "\n"
    for at, child in inside:
        yield f"### {dotted(at)}\n"
        yield from _fields_and_below(at, child)


def _innermost(path: Path, schema: Mapping[str, Any]) -> tuple[Path, Mapping[str, Any]] | None:
    """The section inside lists and maps, if there is one."""
    if "properties" in schema:
        return path, schema
    if "items" in schema:
        return _innermost((*path, "[]"), schema["items"])
    return _innermost((*path, "{}"), schema["additionalProperties"]) if "additionalProperties" in schema else None


def _type(schema: Mapping[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity"
    if "enum" in schema:
        return " \\| ".join(f"`{value}`" for value in schema["enum"])
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        return f"map of {_type(schema['additionalProperties'])}"
    return f"{schema['type']}{_bounds(schema)}"


def _bounds(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None:
        return ""
    return f" ≥ {least}" if most is None else f" {least} … {most}"


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return "" if default in (None, {}, []) else f"`{json.dumps(default).strip(chr(34))}`"


def _table(rules: Iterator[Rule]) -> str:
    rows = ["| where | | rule |", "|---|---|---|"]
    for rule in rules:
        where = ", ".join(f"`{dotted(path) or 'the whole'}`" for path in rule.paths)
        rows.append(f"| {where} | {_cell(rule.message)} | `{rule.id}` |")
    return "\n".join(rows) + "\n"


def dotted(path: Path) -> str:
    """`spec.sources[].topics[]`."""
    return ".".join(path).replace(".[]", "[]").replace(".{}", "{}")


def _cell(text: str) -> str:
    """A description in one line of a table."""
    return " ".join(text.split()).rstrip(".").replace("|", "\\|").replace("<", "&lt;")
