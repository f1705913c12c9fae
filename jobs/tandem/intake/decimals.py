"""Numbers that a DECIMAL cannot hold, and that Spark's parser would write out for minutes: 1e99999999."""

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType, DecimalType

from tandem.intake.leaves import NotPlainError, has, leaves

_LONG_EXPONENT: Final = r"[0-9.][eE][+-]?[0-9]{5,}|\\u00(?:3|45|65|2[bBdDeE])|[eE][+-]?[^\x00-\x7f]"
"""Also as escapes, and with the digits of other scripts, which Java takes in a text."""
_NUMBER: Final = re.compile(r"[+-]?[\d.]+[eE][+-]?\d{5,}")
"""A DECIMAL has 38 digits, and the parser takes 1,000: with such an exponent, no number of them is one."""


def has_decimals(kind: DataType) -> bool:
    """Whether a DECIMAL is anywhere in a type."""
    return has(kind, DecimalType)


def suspects(values: pa.Array) -> list[int]:
    """The rows of `values` (BINARY) that are worth a closer look."""
    found = pc.match_substring_regex(values, _LONG_EXPONENT)
    return [int(row) for row in pc.indices_nonzero(found).to_pylist()]


def oversized(value: bytes, schema: DataType) -> str | None:
    """The first number in a JSON text that is meant as a DECIMAL and has such an exponent; None if there is none."""
    try:
        return next(
            (
                text.strip()
                for text, kind in leaves(value, schema)
                if isinstance(kind, DecimalType) and _NUMBER.fullmatch(text.strip())
            ),
            None,
        )
    except NotPlainError as error:
        return str(error)
