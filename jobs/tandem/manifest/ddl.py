"""Checks a schema in Spark's DDL without a JVM, so that a misspelt type is found before a session has started.

It knows the grammar of column lists (`a STRING, b STRUCT<c: ARRAY<INT>>`); the last word on a schema is Spark's.
"""

import re
from difflib import get_close_matches
from typing import Final

from tandem.manifest.collations import is_collation
from tandem.manifest.ddl_tokens import is_text, name_in, tokens_of

_PLAIN = (
    *("boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "float", "real", "double"),
    *("decimal", "dec", "numeric", "string", "char", "character", "varchar", "binary", "void", "variant"),
    *("date", "time", "timestamp", "timestamp_ntz", "timestamp_ltz"),
)
_ARGUMENTS: Final = {"decimal": (0, 2), "dec": (0, 2), "numeric": (0, 2), "time": (0, 1)} | dict.fromkeys(
    ("char", "character", "varchar"), (1, 1)
)
"""Type → the least and the greatest count of numbers in parentheses; for all others none."""
_MOST_DIGITS: Final = 38
_MOST: Final = 2**31 - 1
_COLLATED: Final = ("string", "char", "character", "varchar")
_UNITS: Final = {
    "year": ("month",),
    "month": (),
    "day": ("hour", "minute", "second"),
    "hour": ("minute", "second"),
    "minute": ("second",),
    "second": (),
}
"""What an interval begins with → what it may go to."""
_NESTED = {"array": 1, "map": 2}
_KNOWN: Final = [*_PLAIN, *_NESTED, "struct", "interval"]
_ALIASES: Final = {"str": "string", "text": "string", "bool": "boolean", "number": "double", "datetime": "timestamp"}


class DdlError(ValueError):
    """A schema that is no list of columns; the text says what and where."""


def column_names(ddl: str) -> tuple[str, ...]:
    """The names of the top-level columns of `ddl`, in their order.

    Raises `DdlError`: not a list of columns, an unknown type, or two columns of one name.
    """
    parser = _Parser(ddl)
    names = parser.columns(end=None)
    return tuple(names)


def columns_alike(ddl: str) -> tuple[str, str] | None:
    """Two columns, or fields of one struct, whose names differ only in case; None: there are none. Raises `DdlError`."""
    parser = _Parser(ddl)
    parser.columns(end=None)
    return parser.alike


class _Parser:
    def __init__(self, ddl: str) -> None:
        try:
            self._tokens = tokens_of(ddl)
        except ValueError as error:
            raise DdlError(str(error)) from error
        self._next = 0
        self.alike: tuple[str, str] | None = None

    def columns(self, end: str | None) -> list[str]:
        names: list[str] = []
        while True:
            name = self._name()
            if name in names:
                raise DdlError(f"two columns are named {name}")
            self.alike = self.alike or next(((known, name) for known in names if known.lower() == name.lower()), None)
            names.append(name)
            if self._skip(":") and end is None:
                raise DdlError(f"there is a ':' after {name}, where a space belongs")
            self._type(name)
            self._modifiers()
            if not self._skip(","):
                self._expect(end)
                return names

    def _name(self) -> str:
        token = self._take()
        if token is None:
            raise DdlError("a column is missing at the end" if self._tokens else "it is empty")
        name = name_in(token)
        if name is None:
            hint = "; put it in backquotes" if re.fullmatch(r"\w+", token) else ""
            raise DdlError(f"a column's name was expected, not {token!r}{hint}")
        return name

    def _type(self, column: str) -> None:
        token = self._take()
        if token is None or not re.fullmatch(r"\w+", token):
            raise DdlError(f"the type of {column} is missing")
        kind = token.lower()
        if kind not in _KNOWN:
            near = _ALIASES.get(kind) or next(iter(get_close_matches(kind, _KNOWN, 1)), None)
            raise DdlError(f"{column} has the unknown type {token}" + (f", perhaps {near.upper()}" if near else ""))
        if kind in _NESTED:
            self._expect("<")
            for position in range(_NESTED[kind]):
                if position:
                    self._expect(",")
                self._type(column)
            self._expect(">")
        elif kind == "struct":
            self._expect("<")
            if not self._skip(">"):
                self.columns(end=">")
        elif kind == "interval":
            self._interval(column)
        else:
            self._arguments(column, kind)
            self._zone(kind)
        if kind in _COLLATED and self._skip("collate"):
            self._collation(column)

    def _interval(self, column: str) -> None:
        begin = self._peek()
        if begin not in _UNITS:
            return
        self._take()
        if not self._skip("to"):
            return
        if self._peek() not in _UNITS[begin]:
            ends = " or ".join(f"{begin} to {end}".upper() for end in _UNITS[begin]) or begin.upper()
            raise DdlError(f"{column} is of no interval that Spark knows; write e.g. INTERVAL {ends}")
        self._take()

    def _zone(self, kind: str) -> None:
        zone = {"timestamp": ("with", "without"), "time": ("without",)}.get(kind, ())
        if (word := self._peek()) in zone:
            self._take()
            for expected in ("local", "time", "zone") if word == "with" else ("time", "zone"):
                self._expect(expected)

    def _collation(self, column: str) -> None:
        token = self._take() or ""
        name = name_in(token)
        if name is None or not is_collation(name):
            raise DdlError(f"{column} has the unknown collation {token}; write e.g. UNICODE_CI or UTF8_LCASE")

    def _arguments(self, column: str, kind: str) -> None:
        least, most = _ARGUMENTS.get(kind, (0, 0))
        numbers: list[int] = []
        if most and self._skip("("):
            while re.fullmatch(r"[0-9]+", token := self._take() or ""):
                numbers.append(min(int(token[:20]), _MOST + 1))
                if not self._skip(","):
                    self._expect(")")
                    break
            else:
                raise DdlError(f"{token!r} in {column}'s type is no whole number")
        if not least <= len(numbers) <= most:
            example = "DECIMAL(10, 2)" if most > 1 else f"{kind.upper()}({'6' if kind == 'time' else '20'})"
            raise DdlError(f"{column}'s type {kind.upper()} has {len(numbers)} numbers; write e.g. {example}")
        if most > 1 and numbers and not max(numbers) == numbers[0] <= _MOST_DIGITS:
            raise DdlError(
                f"{column}'s type {kind.upper()} has at most {_MOST_DIGITS} digits, and no more behind the point than in all"
            )
        if any(number > _MOST for number in numbers):
            raise DdlError(f"{column}'s type {kind.upper()} has a number above {_MOST}")

    def _modifiers(self) -> None:
        if self._skip("not") or self._skip("!"):
            self._expect("null")
        if self._skip("comment"):
            if not is_text(self._peek()):
                raise DdlError("the text behind COMMENT is missing, or is not in quotes")
            while is_text(self._peek()):
                self._take()

    def _peek(self) -> str | None:
        return self._tokens[self._next].lower() if self._next < len(self._tokens) else None

    def _take(self) -> str | None:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        self._next += 1
        return token

    def _skip(self, token: str) -> bool:
        found = self._peek() == token
        self._next += found
        return found

    def _expect(self, token: str | None) -> None:
        if self._peek() != token:
            found = "the end" if self._peek() is None else repr(self._tokens[self._next])
            raise DdlError(f"{'a comma or the end' if token is None else repr(token)} was expected, not {found}")
        self._next += 1
