"""How deeply the records of a schema are nested that refers to itself, as a list whose rest is a field.

fastavro reads and skips them by recursion in C, without a bound: a hundred thousand levels, of two bytes each, end the
process (measured with 1.13). So they are gone through first, without recursion. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tandem.formats.framing import UndecodableError

_MOST: Final = 1_000
_SIZES: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_MOST_VARINT: Final = 10
_END: Final = object()


def refers_to_itself(tree: Any, named: Mapping[str, Any]) -> bool:
    """Whether a parsed schema has a record that may contain one of its own kind. `named`: full name → definition."""
    return _meets_itself(tree, named, (), set())


def check_depth(tree: Any, named: Mapping[str, Any], payload: bytes) -> None:
    """Raise `UndecodableError` if a value is nested too deeply. Where its bytes are wrong, its reader says how."""
    rest = _Bytes(payload)
    parts: list[Iterator[Any]] = [iter((tree,))]
    try:
        while parts:
            if len(parts) > _MOST:
                raise UndecodableError(
                    f"it is nested too deeply: {_MOST:,} records and arrays within each other at most"
                )
            part = next(parts[-1], _END)
            if part is _END:
                parts.pop()
            elif inner := _parts(part, named, rest):
                parts.append(inner)
    except (_WrongBytesError, LookupError):
        return


class _WrongBytesError(ValueError):
    """They end early, or are no value of their schema."""


class _Bytes:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def skip(self, count: int) -> None:
        if not 0 <= count <= len(self._content) - self._at:
            raise _WrongBytesError
        self._at += count

    def number(self) -> int:
        """A varint in zigzag order."""
        value = 0
        for place in range(_MOST_VARINT):
            byte = self._content[self._at]
            self._at += 1
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)
        raise UndecodableError(f"it has a number of more than {_MOST_VARINT} bytes")


def _parts(tree: Any, named: Mapping[str, Any], rest: _Bytes) -> Iterator[Any] | None:
    """Skip a value; or, if it has parts, the schema of each. A part is to be skipped before the next one is taken."""
    while isinstance(tree, list):
        tree = tree[rest.number()]
    kind = tree["type"] if isinstance(tree, Mapping) else tree
    if kind in _SIZES:
        rest.skip(_SIZES[kind])
    elif kind in ("int", "long", "enum"):
        rest.number()
    elif kind in ("bytes", "string"):
        rest.skip(rest.number())
    elif kind == "fixed":
        rest.skip(tree["size"])
    elif kind in ("record", "error"):
        return (field["type"] for field in tree["fields"])
    elif kind == "array":
        return _items(tree["items"], rest, has_keys=False)
    elif kind == "map":
        return _items(tree["values"], rest, has_keys=True)
    else:
        return iter((named[kind] if isinstance(kind, str) else kind,))
    return None


def _items(tree: Any, rest: _Bytes, has_keys: bool) -> Iterator[Any]:
    while count := rest.number():
        if count < 0:
            rest.number()  # the bytes of the block
        for _ in range(abs(count)):
            if has_keys:
                rest.skip(rest.number())
            yield tree


def _meets_itself(tree: Any, named: Mapping[str, Any], above: tuple[str, ...], done: set[str]) -> bool:
    if isinstance(tree, list):
        return any(_meets_itself(one, named, above, done) for one in tree)
    if isinstance(tree, str):
        return tree in above or (tree in named and _meets_itself(named[tree], named, above, done))
    if tree["type"] in ("array", "map"):
        return _meets_itself(tree["items" if tree["type"] == "array" else "values"], named, above, done)
    if tree["type"] not in ("record", "error"):
        return not isinstance(tree["type"], str) and _meets_itself(tree["type"], named, above, done)
    name = tree["name"]
    if name in above or name in done:
        return name in above
    found = any(_meets_itself(field["type"], named, (*above, name), done) for field in tree["fields"])
    done.add(name)
    return found
