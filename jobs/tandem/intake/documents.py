"""Does a record hold one JSON document, and nothing behind it? Spark's parser reads the first one and stops there."""

import re
from typing import Final

import pydantic_core

_PADDING: Final = b" \t\r\n\0"
"""What may follow a document: the white space of JSON, and the zero that ends a text in C."""
_DEEP: Final = 500
_TOKEN: Final = re.compile(
    rb"""
    "(?:[^"\\]|\\.)*+(?:"|\Z)     # a string
    | '(?:[^'\\]|\\.)*+(?:'|\Z)   # Spark takes these, too
    | [{}\[\]]
    """,
    re.DOTALL | re.VERBOSE,
)


def text_behind(value: bytes) -> int | None:
    """Where the text begins that stands behind the JSON object in `value`; None if there is none.

    Exact for what Spark reads as an object. For anything else the answer does not matter: Spark refuses it.
    """
    text = value.rstrip(_PADDING)
    # An object ends with a brace, and one with a single closing brace ends there, whatever its strings hold.
    if (text.endswith(b"}") and text.count(b"}") == 1) or not text:
        return None
    try:
        pydantic_core.from_json(text)  # refuses text behind the document, in a fraction of the time of what follows
        return None
    except ValueError:
        return _end(text)


def is_deep(text: bytes) -> bool:
    """Whether a JSON text is nested so deeply that Python's parser may give up: when, depends on who calls it."""
    if text.count(b"{") + text.count(b"[") <= _DEEP:
        return False
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in b"{[") - (token[0] in b"}]")
        deepest = max(deepest, depth)
    return deepest > _DEEP


def _end(text: bytes) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
                if depth <= 0:
                    end = token.end()
                    return None if end == len(text) else end + len(text[end:]) - len(text[end:].lstrip(_PADDING))
            case _:
                pass
    return None
