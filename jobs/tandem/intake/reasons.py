"""Why a record is none of its source's: what is true of its bytes, in words for whoever reads the dead letter."""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import islice
from typing import Any, Final

from pyspark.sql.types import DataType, StructType

from tandem.intake.documents import is_deep
from tandem.intake.misfits import is_told_by_kind, misfits

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
        return (
            "it begins like a record of a schema registry (a zero byte, then the schema's id "
            f"{int.from_bytes(value[1:5])}). Read the topic with format raw and decode it in the job, or let the producer "
            "write plain JSON"
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
    told = _told_by_their_kind(schema)
    found += [(name, document[name]) for name in unread if document.get(name) is not None and name not in told]
    wrong = [f"{path} is {_brief(content)}" for path, content in found]
    if not wrong:
        return (
            "Spark's parser does not take it: a part of it is not of its type, too deep, or too long a name or number"
        )
    return "; ".join(wrong[:5])


def _told_by_their_kind(schema: DataType | None) -> frozenset[str]:
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
