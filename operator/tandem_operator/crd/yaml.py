"""Writes plain values as YAML, always the same bytes for the same values, whatever the version of a library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""Texts that YAML would take for something else."""


def dumped(value: dict[str, Any]) -> str:
    """A mapping as a YAML document in block style."""
    return "\n".join(_mapping(value, "")) + "\n"


def _mapping(value: dict[str, Any], indent: str) -> Iterator[str]:
    for key, child in value.items():
        yield from _entry(f"{indent}{_scalar(key)}:", child, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        yield head
        yield from _mapping(value, f"{indent}  ")
    elif isinstance(value, list) and value:
        yield head
        yield from _list(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _list(values: list[Any], indent: str) -> Iterator[str]:
    for value in values:
        if isinstance(value, dict) and value:
            first, *rest = _mapping(value, f"{indent}  ")
            yield f"{indent}- {first.strip()}"
            yield from rest
        else:
            yield f"{indent}- {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
