"""Reads the state in a checkpoint through Spark's own reader."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from tandem.process.errors import StateError
from tandem.state.errors import SparkError, StatelessJobError, reason
from tandem.state.keys import condition, parse_key
from tandem.state.operators import Operator, Part

_PARTITION = "partition_id"


@dataclass(frozen=True, slots=True)
class Shape:
    """What rows of a part look like: column → its type in Spark's words."""

    part: Part
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a part, each a plain value for each column, and whether there are more."""

    part: Part
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    more: bool


class StateReader:
    """The state in the checkpoint folder `checkpoint`, as it was after Spark's batch `batch`. Nothing there is changed."""

    def __init__(self, spark: SparkSession, checkpoint: Path, batch: int) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self._batch = batch

    @property
    def keeps_any(self) -> bool:
        """Whether there is a stateful operator."""
        return any(self._checkpoint.glob("state/*/_metadata"))

    def operators(self) -> tuple[Operator, ...]:
        """All stateful operators, by id. Raises `StatelessJobError`."""
        if not self.keeps_any:
            raise StatelessJobError("the job keeps no state: none of its operators needs any")
        found: dict[int, Operator] = {}
        for row in self._spark.read.format("state-metadata").load(str(self._checkpoint)).collect():
            known = json.loads(row.operatorProperties or "{}").get("stateVariables", [])
            names = tuple(sorted(variable["stateName"] for variable in known))
            variables = tuple(name for name in names if not name.startswith("$"))
            folder = self._checkpoint / "state" / str(row.operatorId)
            partitions = sum(store.name.isdigit() for store in folder.iterdir())
            found[row.operatorId] = Operator(row.operatorId, row.operatorName, partitions, variables)
        return tuple(found[id_] for id_ in sorted(found))

    def shape(self, operator: Operator, part: Part) -> Shape:
        """The columns of a part and their types; no state is read."""
        fields = self._frame(operator, part).schema.fields
        return Shape(part, tuple((f.name, f.dataType.simpleString()) for f in fields if f.name != _PARTITION))

    def page(self, operator: Operator, part: Part, key: Sequence[str] = (), limit: int = 20) -> Page:
        """Up to `limit` rows of a part, of those with that key (see `parse_key`). Raises `BadKeyError`."""
        frame = self._frame(operator, part)
        with _reading(operator, part):
            return page_of(self._spark, frame, part, key, limit)

    def _frame(self, operator: Operator, part: Part) -> DataFrame:
        reader = self._spark.read.format("statestore").option("operatorId", operator.id).option("batchId", self._batch)
        with _reading(operator, part):
            return reader.options(**part.options).load(str(self._checkpoint))


def page_of(spark: SparkSession, frame: DataFrame, part: Part, key: Sequence[str], limit: int) -> Page:
    """Up to `limit` rows of a frame with a struct `key`, of those with that key (see `parse_key`). Raises `BadKeyError`."""
    keys = frame.schema["key"].dataType
    if key:
        assert isinstance(keys, StructType)  # noqa: S101
        frame = frame.where(condition(spark, parse_key(key, keys), keys))
    rows = frame.limit(limit + 1).collect()
    columns = tuple(name for name in frame.columns if name != _PARTITION)
    types = {field.name: field.dataType for field in frame.schema.fields}
    plain = tuple({name: _plain(row[name], types[name]) for name in columns} for row in rows[:limit])
    return Page(part, columns, plain, len(rows) > limit)


@contextmanager
def _reading(operator: Operator, part: Part) -> Iterator[None]:
    try:
        yield
    except SparkError as error:
        of = f"operator {operator.id} ({operator.kind})" + (f", {part.label}" if part.label else "")
        raise StateError(f"Spark cannot read the state of {of}: {reason(error)}") from error


def _plain(value: Any, kind: DataType) -> Any:
    """What JSON can say. Times are UTC."""
    if value is None:
        return None
    if isinstance(kind, StructType):
        named = zip(_distinct(kind.names), value, kind.fields, strict=True)
        return {name: _plain(one, field.dataType) for name, one, field in named}
    if isinstance(kind, ArrayType):
        return [_plain(one, kind.elementType) for one in value]
    if isinstance(kind, MapType):
        return {str(_plain(k, kind.keyType)): _plain(v, kind.valueType) for k, v in value.items()}
    if isinstance(kind, TimestampType):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")  # Spark gives local time without a zone
    if isinstance(value, bytes | bytearray):
        return _text(bytes(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def _distinct(names: Sequence[str]) -> list[str]:
    """Spark names the parts of an aggregation after their functions: the second `count` becomes `count_2`."""
    return [name if (nth := names[:at].count(name)) == 0 else f"{name}_{nth + 1}" for at, name in enumerate(names)]


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"0x{content.hex()}"
