"""Times without a day that are meant as a TIMESTAMP: Spark adds the day of its clock, another one whenever it reads them."""

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType, TimestampType

from tandem.intake.leaves import NotPlainError, has, leaves

_LIKE_ONE: Final = r"""["'][\x00-\x20\x7f]*(?:T?[0-9]{1,2}:|T?[0-9]{0,2}\\|T[0-9])|GMT|\\u00"""
"""A text that begins so, or may be another one than it seems: by escapes, or by `GMT`, which Spark takes out."""
_ONE: Final = re.compile(r"[\x00-\x20\x7f]*(?:T|[0-9]{1,2}:)")
"""Whatever follows, it is no time that has a day (Spark's `SparkDateTimeUtils.parseTimestampString`)."""
_MOST: Final = 60


def has_times(kind: DataType) -> bool:
    """Whether a TIMESTAMP is anywhere in a type. Spark refuses times without a day for a TIMESTAMP_NTZ by itself."""
    return has(kind, TimestampType)


def suspects(values: pa.Array) -> list[int]:
    """The rows of `values` (BINARY) that are worth a closer look."""
    found = pc.match_substring_regex(values, _LIKE_ONE)
    return [int(row) for row in pc.indices_nonzero(found).to_pylist()]


def without_day(value: bytes, schema: DataType) -> str | None:
    """Why a JSON text is refused: it has a text that is meant as a TIMESTAMP and has no day. None: there is no such text."""
    try:
        for text, kind in leaves(value, schema):
            if isinstance(kind, TimestampType) and _ONE.match(text.replace("GMT", "", 1)):
                return f"{text[:_MOST]!r} is a time without a day, and Spark would add the day on which it reads it"
    except NotPlainError as error:
        return f"there may be a time without a day {error}, and Spark would add the day on which it reads it"
    return None
