"""Whether a Delta table that is there takes a job's rows, all of them and as they are.

The library that writes Delta casts what it can: 1.9 becomes 1 in a column of whole numbers, a time becomes a day. A row that
a constraint or NOT NULL refuses would stop the job, and columns that are mapped to other names would lose their values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

_OF_A_COLUMN: Final = {
    "delta.invariants": "has an invariant, which may refuse rows",
    "delta.generationExpression": "is computed by the writer, which only Spark's Delta does",
    "delta.identity.start": "is numbered by the writer, which only Spark's Delta does",
}
_WIDER: Final = {"byte": 1, "short": 2, "integer": 3, "long": 4, "float": 11, "double": 12}
"""A number keeps its value in a type of its kind that is larger here: whole numbers, then others."""
_NULLABLE: Final = frozenset({"nullable", "containsNull", "valueContainsNull", "metadata"})
_ANOTHER: Final = "Give the sink another path, or the table what the job's rows need"


def closed(table: Any) -> str:
    """Why the Delta table does not take rows from here; "": it does."""
    settings = table.metadata().configuration
    if settings.get("delta.columnMapping.mode", "none") != "none":
        return f"its columns are mapped (delta.columnMapping.mode), and values would be lost. {_ANOTHER}"
    constraints = sorted(name.removeprefix("delta.constraints.") for name in settings if "constraints." in name)
    if constraints:
        return (
            f"it has the constraint {constraints[0]}: a row that it refuses would stop the job. Drop it, and filter such "
            "rows in the job; or give the sink another path"
        )
    partitions = table.metadata().partition_columns
    for field in table.schema().fields:
        if field.name in partitions and _plain(field) == "binary":
            return f"it is partitioned by the BINARY column {field.name}, whose values would be changed. {_ANOTHER}"
        for name, what in _OF_A_COLUMN.items():
            if name in (field.metadata or {}):
                return f"its column {field.name} {what}. {_ANOTHER}"
    return ""


def misfits(table: Any, rows: pa.Schema) -> Iterator[str]:
    """Columns of a job's rows that the Delta table would change, or refuse; and those that one of them has not."""
    from deltalake import Schema

    theirs = {field.name: field for field in table.schema().fields}
    for field in Schema.from_arrow(rows).fields:
        there = theirs.pop(field.name, None)
        if there is None:
            yield f"the table has no column {field.name}"
        elif not _holds(its := _plain(there), mine := _plain(field)):
            yield f"column {field.name} is {_shown(mine)} in the job, but {_shown(its)} in the table"
        elif field.nullable and not there.nullable:
            yield f"column {field.name} may be null in the job, but is NOT NULL in the table"
    for name in theirs:
        yield f"column {name} of the table is not selected by the job"


def _holds(its: Any, mine: Any) -> bool:
    if its == mine:
        return True
    wider = _WIDER.get(str(its), 0) - _WIDER.get(str(mine), 99)
    return 0 < wider < 4


def _plain(field: Any) -> Any:
    return _without_nullability(json.loads(field.type.to_json()))


def _without_nullability(kind: Any) -> Any:
    if isinstance(kind, dict):
        return {name: _without_nullability(value) for name, value in kind.items() if name not in _NULLABLE}
    return [_without_nullability(one) for one in kind] if isinstance(kind, list) else kind


def _shown(kind: Any) -> str:
    return kind if isinstance(kind, str) else json.dumps(kind)
