"""Configuration files of servers in Java."""

from collections.abc import Mapping
from pathlib import Path


def properties(settings: Mapping[str, object]) -> str:
    """The text of a `.properties` file, in ASCII: Java reads it as ISO 8859-1, so other characters are escaped.

    Backslashes of paths are escaped; in other values they stand for what they mean in such a file.
    """
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(value: object) -> str:
    text = str(value).replace("\\", "\\\\") if isinstance(value, Path) else str(value)
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
