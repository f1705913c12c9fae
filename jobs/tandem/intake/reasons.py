"""Why a record is none of its source's, in words for a reader of the dead letter: what is true of its bytes, and where in a
JSON document something is not of its column's type, as far as its kind tells. Pure.
"""

import json
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
)

from tandem.intake.documents import is_deep

_BITS: Final[dict[type[DataType], int]] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_NO_NUMBERS: Final = ("NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF")


def misfits(document: Any, kind: DataType, path: str = "") -> Iterator[tuple[str, Any]]:
    """The path and the content of each part that Spark's parser does not take for its type.

    Texts that are to become times, binary or decimal numbers are not looked into: what is named here is wrong, and what
    is not named may be.

    >>> list(misfits({"a": [1, "x"]}, StructType().add("a", ArrayType(IntegerType()))))
    [('a[1]', 'x')]
    """
    if document is None:
        return
    if isinstance(kind, StructType):
        if not isinstance(document, dict):
            yield path, document
            return
        for field in kind.fields:
            inner = f"{path}.{field.name}" if path else field.name
            yield from misfits(document.get(field.name), field.dataType, inner)
    elif isinstance(kind, ArrayType):
        if not isinstance(document, list):
            yield path, document
            return
        for index, element in enumerate(document):
            yield from misfits(element, kind.elementType, f"{path}[{index}]")
    elif isinstance(kind, MapType):
        if not isinstance(document, dict):
            yield path, document
            return
        for key, value in document.items():
            yield from misfits(value, kind.valueType, f"{path}[{key}]")
    elif not _fits(document, kind):
        yield path, document


def is_told_by_kind(kind: DataType) -> bool:
    """Whether `misfits` finds all that is wrong with a value of this type."""
    if isinstance(kind, StructType):
        return all(is_told_by_kind(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return is_told_by_kind(kind.elementType)
    if isinstance(kind, MapType):
        return is_told_by_kind(kind.valueType)
    return isinstance(kind, BooleanType | DoubleType | FloatType | StringType) or type(kind) in _BITS


def _fits(content: Any, kind: DataType) -> bool:
    is_number = isinstance(content, int | float) and not isinstance(content, bool)
    if isinstance(kind, BooleanType):
        return isinstance(content, bool)
    if isinstance(kind, DoubleType | FloatType):
        return is_number or content in _NO_NUMBERS
    bits = _BITS.get(type(kind))
    if bits is not None:
        return is_number and isinstance(content, int) and -(2 ** (bits - 1)) <= content < 2 ** (bits - 1)
    return True


NO_VALUE: Final = "the record has no value"
TEXT_BEHIND: Final = (
    "there is text behind the JSON object, from byte {place} on; a record holds one object: write several as several "
    "records, or read them with format raw"
)

_SCHEMA_ID_BYTES: Final = 5
_MARKS: Final = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"Obj\x01": "an Avro file",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"\xef\xbb\xbf": "a byte order mark, which JSON must not have",
}
_BRIEF: Final = 60


def why_no_object(value: bytes | None, schema_ddl: str, unread: Collection[str], schema: DataType | None = None) -> str:
    """Why Spark reads no object of the schema in `value`.

    `unread`: the columns that are null in what Spark did read. `schema`: `schema_ddl` as Spark reads it, if that is known.
    """
    if value is None:
        return NO_VALUE
    if not value.strip():
        return "the value is empty"
    return f"the value is no JSON of the schema {schema_ddl}: {_trouble(value, unread, schema)}"


def _trouble(value: bytes, unread: Collection[str], schema: DataType | None) -> str:
    if value[0] == 0 and len(value) >= _SCHEMA_ID_BYTES:
        is_json = value[_SCHEMA_ID_BYTES:].lstrip().startswith(b"{")
        remedy = (
            "cut it off in the job, by format raw" if is_json else "use format avro or protobuf, by spec.schemaRegistry"
        )
        return (
            "it begins like a record of a schema registry (a zero byte, then the schema's id "
            f"{int.from_bytes(value[1:_SCHEMA_ID_BYTES])}). To read it, {remedy}; or let the producer write plain JSON"
        )
    for mark, name in _MARKS.items():
        if value.startswith(mark):
            return f"it begins like {name}" if not name.startswith("a byte") else f"it begins with {name}"
    if is_deep(value):
        return "it is nested too deeply"
    try:
        document = json.loads(value.decode(errors="replace"))
    except json.JSONDecodeError as error:
        return f"{error.msg} at character {error.pos}"
    except ValueError as error:  # Python bounds how long a number may be
        return str(error)
    if not isinstance(document, dict):
        return f"it is {_kind(document)}"
    found = list(islice(misfits(document, schema), 5)) if schema is not None else []
    reported = _reported_by_their_kind(schema)
    found += [(name, document[name]) for name in unread if document.get(name) is not None and name not in reported]
    wrong = [f"{path} is {_brief(content)}" for path, content in found]
    if not wrong:
        return (
            "Spark's parser does not take it: a part of it is not of its type, too deep, or too long a name or number"
        )
    return "; ".join(wrong[:5])


def _reported_by_their_kind(schema: DataType | None) -> frozenset[str]:
    """The columns of which `misfits` knows all: null in what Spark did read, they may be, since it read no further."""
    fields = schema.fields if isinstance(schema, StructType) else []
    return frozenset(field.name for field in fields if is_told_by_kind(field.dataType))


def _kind(document: object) -> str:
    if isinstance(document, list):
        return f"an array of {len(document)}, not an object; write a record for each element"
    return "null, not an object" if document is None else f"the plain value {_brief(document)}, not an object"


def _brief(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False).encode(errors="backslashreplace").decode()  # halves of characters
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}…"
