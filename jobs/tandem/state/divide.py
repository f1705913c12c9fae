"""Dividing the states of a job's lanes among another number of lanes, by Spark's own rewriting of state.

Spark reads the state of every store with the key by which it divides it, so rows can be given to the lane that their key
belongs to, whatever kind of operator they are of. What Spark does not read so is refused.
"""

import json
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, StringType, StructType

from tandem.checkpoint.folders import STATE, WATERMARKS, Checkpoint, files_of
from tandem.checkpoint.position import EnginePosition
from tandem.checkpoint.relocation import relocate
from tandem.engine.kept_state import OPERATORS
from tandem.kafka.partitioners import Partitioner
from tandem.state.errors import DivideError, SparkError, reason
from tandem.state.operators import Operator
from tandem.state.reader import StateReader
from tandem.state.watermarks import latest_commit, latest_times, latest_watermarks

_KEY: Final = "partition_key"
_SCHEMAS: Final = frozenset({"_metadata", "_stateSchema"})
Fields = Mapping[int, int]
"""Operator → which part of its key, from 0 on, the partitions follow."""


@dataclass(frozen=True, slots=True)
class Belongs:
    """Keys belong to lane `lane` of `lanes` by `partitioner`; `fields`: by which of their parts."""

    partitioner: Partitioner
    fields: Fields
    lane: int
    lanes: int


def operators_of(spark: SparkSession, checkpoint: Checkpoint) -> tuple[Operator, ...]:
    """The stateful operators of a state; none if the job keeps none."""
    reader = StateReader(spark, checkpoint.folder, checkpoint.batch)
    return reader.operators() if reader.keeps_any else ()


def key_width(spark: SparkSession, checkpoint: Checkpoint, operator: Operator) -> int:
    """Of how many parts the keys of an operator are."""
    return len(_key_type(_state(spark, checkpoint, operator.id, _stores(spark, checkpoint, operator.id)[0])).fields)


def misplaced(spark: SparkSession, checkpoint: Checkpoint, belongs: Belongs) -> str | None:
    """A key in the state, in words, that does not belong to the lane whose state it is; None if there is none."""
    _tool(spark).register(spark._jsparkSession)
    for operator in operators_of(spark, checkpoint):
        for store in _stores(spark, checkpoint, operator.id):
            state = _state(spark, checkpoint, operator.id, store)
            elsewhere = f"NOT coalesce({_condition(state, operator.id, belongs)}, false)"
            for row in state.where(elsewhere).select(F.to_json(_KEY).alias("key")).limit(1).collect():
                return f"{row.key} of operator {operator.id} ({operator.kind})"
    return None


def divide(
    spark: SparkSession,
    sources: Sequence[Checkpoint],
    target: Path,
    after: EnginePosition,
    belongs: Belongs | None,
    empty: bool = False,
) -> None:
    """Make the checkpoint folder `target`, which stands at `after`, of the states of `sources`.

    `belongs` : which of their keys it gets; None: all. `empty`: it gets none, and has seen no time. Its last batch has the
    number of its last epoch, which is later than those of the sources. Raises `DivideError` if Spark cannot do it.
    """
    first = sources[0]
    begin(sources, target, after, empty)
    operators = operators_of(spark, first)
    if not operators:
        return
    relocate(target)
    _tool(spark).register(spark._jsparkSession)
    counts = {operator.partitions for operator in operators}
    if len(counts) != 1:
        raise DivideError(f"the operators of the job have different numbers of partitions of state: {sorted(counts)}")
    tool = _tool(spark)(spark._jsparkSession, counts.pop())
    for source in sources[1:]:
        tool.add(f"file:{source.folder}", source.batch)
    if empty:
        for operator in operators:
            tool.where(operator.id, "false")
    elif belongs is not None:
        for operator in operators:
            state = _state(spark, first, operator.id, _stores(spark, first, operator.id)[0])
            tool.where(operator.id, _condition(state, operator.id, belongs))
    try:
        tool.rewrite(f"file:{first.folder}", first.batch, f"file:{target}", after.epoch)
    except SparkError as error:
        kinds = ", ".join(f"{operator.id} ({operator.kind})" for operator in operators)
        raise DivideError(f"Spark cannot divide the state of the operators {kinds}: {reason(error)}") from error
    _check(target, after.epoch, operators)


def watermark_ms(checkpoint: Checkpoint) -> int | None:
    """Of a state (event time, Unix, ms); 0: no time was seen, or the job has none; None: the job has several watermarks."""
    if (checkpoint.folder / WATERMARKS / str(checkpoint.batch)).exists():
        return None
    return int(json.loads(_line(checkpoint, "commits", 1)).get("nextBatchWatermarkMs", 0))


def without_any(spark: SparkSession, checkpoint: Checkpoint, fields: Fields, keys: Sequence[bytes]) -> str | None:
    """An operator, in words, that has keys, and none of `keys` as such a part of one; None: there is none."""
    for operator in operators_of(spark, checkpoint):
        stores = [_state(spark, checkpoint, operator.id, store) for store in _stores(spark, checkpoint, operator.id)]
        wanted = [bytearray(key) for key in keys]
        known = (state.where(F.expr(_bytes(state, fields[operator.id])).isin(wanted)) for state in stores)
        if not all(state.isEmpty() for state in stores) and all(state.isEmpty() for state in known):
            return f"operator {operator.id} ({operator.kind})"
    return None


def written_otherwise(spark: SparkSession, checkpoint: Checkpoint, fields: Fields, keys: Sequence[bytes]) -> str | None:
    """One of `keys` that the state has as another text, in words, as `007` where keys are numbers; None: there is none.

    Records of such a key are where a partitioner puts their own text, and not that of the state.
    """
    records = spark.createDataFrame([(bytearray(key),) for key in keys], "record BINARY")
    for operator in operators_of(spark, checkpoint):
        state = _state(spark, checkpoint, operator.id, _stores(spark, checkpoint, operator.id)[0])
        part = _key_type(state).fields[fields[operator.id]]
        if isinstance(part.dataType, StringType | BinaryType):
            continue
        typed = F.expr(f"try_cast(CAST(record AS STRING) AS {part.dataType.simpleString()})")
        text = typed.cast("string").cast("binary")
        for row in records.where(typed.isNotNull() & (text != F.col("record"))).limit(1).collect():
            return f"{bytes(row.record)!r} is not how operator {operator.id} ({operator.kind}) writes that key"
    return None


def shared_key(spark: SparkSession, sources: Sequence[Checkpoint]) -> str | None:
    """A key that is in several of the states, in words; None: there is none. As one state they would have it once."""
    for operator in operators_of(spark, sources[0]):
        for store in _stores(spark, sources[0], operator.id):
            keys = [_state(spark, source, operator.id, store).select(_KEY).distinct() for source in sources]
            both = reduce(DataFrame.unionAll, keys).groupBy(_KEY).count().where("count > 1")
            for row in both.select(F.to_json(_KEY).alias("key")).limit(1).collect():
                return f"{row.key} of operator {operator.id} ({operator.kind})"
    return None


def begin(sources: Sequence[Checkpoint], target: Path, after: EnginePosition, empty: bool) -> None:
    """All of a checkpoint but its state: what Spark asks of the last batch, and the one before it."""
    first = sources[0]
    for path in files_of(first.folder):
        relative = path.relative_to(first.folder)
        is_schema = relative.parts[0] == STATE and bool(_SCHEMAS & {*relative.parts})
        if (is_schema or relative.as_posix() == OPERATORS) and path.suffix != ".crc":
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / relative)
    _write(target / "metadata", json.dumps({"id": str(uuid.uuid4())}))  # each lane is a query of its own
    times = latest_times([_line(source, "offsets", 1) for source in sources], empty)
    commit = latest_commit([_line(source, "commits", 1) for source in sources], empty)
    scans = len((first.folder / "offsets" / str(first.batch)).read_text().splitlines()) - 2  # each has its position
    for batch in (max(0, after.epoch - 1), after.epoch):
        positions = [EnginePosition(batch, after.log_offset).text] * scans
        _write(target / "offsets" / str(batch), "v1", times, *positions)
        _write(target / "commits" / str(batch), "v1", commit)
    notes = [source.folder / WATERMARKS / str(source.batch) for source in sources if not empty]
    if known := [note.read_text() for note in notes if note.exists()]:
        _write(target / WATERMARKS / str(after.epoch), latest_watermarks(known))


def _tool(spark: SparkSession) -> Any:
    assert spark._jvm is not None  # noqa: S101
    return spark._jvm.tandem.StateFilter


def _line(checkpoint: Checkpoint, log: str, number: int) -> str:
    lines = (checkpoint.folder / log / str(checkpoint.batch)).read_text().splitlines()
    if lines[0] != "v1":
        raise DivideError(f"Spark wrote {log}/{checkpoint.batch} in a form that is not known here: {lines[0]}")
    return lines[number]


def _write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))


def _stores(spark: SparkSession, checkpoint: Checkpoint, operator: int) -> list[str]:
    rows = spark.read.format("state-metadata").load(str(checkpoint.folder)).collect()
    return sorted(row.stateStoreName for row in rows if row.operatorId == operator)


def _state(spark: SparkSession, checkpoint: Checkpoint, operator: int, store: str) -> DataFrame:
    options = {"operatorId": operator, "batchId": checkpoint.batch, "storeName": store, _ALL: "true"}
    try:
        return spark.read.format("statestore").options(**options).load(str(checkpoint.folder))  # type: ignore[arg-type]
    except SparkError as error:
        raise DivideError(f"Spark cannot read the state of operator {operator} row by row: {reason(error)}") from error


_ALL: Final = "_readAllColumnFamilies"


def _key_type(state: DataFrame) -> StructType:
    kind = state.schema[_KEY].dataType
    assert isinstance(kind, StructType)  # noqa: S101
    return kind


def _condition(state: DataFrame, operator: int, belongs: Belongs) -> str:
    """Whether a row of the state belongs to a lane, in SQL; NULL where nobody can say."""
    value = _bytes(state, belongs.fields[operator])
    return f"({value} IS NOT NULL AND {belongs.partitioner.sql.format(value)} % {belongs.lanes} = {belongs.lane})"


def _bytes(state: DataFrame, part: int) -> str:
    """A part of a key as a record's key, in SQL: numbers and times as text."""
    field = _key_type(state).fields[part]
    name = field.name.replace("`", "``")
    value = f"{_KEY}.`{name}`"
    is_text = isinstance(field.dataType, StringType | BinaryType)
    return f"CAST({value if is_text else f'CAST({value} AS STRING)'} AS BINARY)"


def _check(target: Path, batch: int, operators: Sequence[Operator]) -> None:
    """That Spark's files are what this module takes them for: it belongs to one version of Spark."""
    for operator in operators:
        for store in range(operator.partitions):
            folder = target / STATE / str(operator.id) / str(store)
            if not any(folder.rglob(f"{batch + 1}.*")):
                raise DivideError(f"state/{operator.id}/{store} holds nothing after Spark divided the state")
    entry = json.loads((target / "offsets" / str(batch)).read_text().splitlines()[-1])
    if entry["epoch"] != batch:
        raise DivideError(f"offsets/{batch} is of epoch {entry['epoch']}")
