"""Refusing plans whose result is not determined by their input: replicas would diverge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from pyspark.sql import DataFrame

from tandem.engine.facts import without_identity
from tandem.engine.interface import JobError
from tandem.engine.plan_tree import Node, tree

_TIME = "use ctx.epoch_time(), which every replica reads from the log, or the record's own time"
_RANDOM = "use ctx.rng(): a streaming query gives each batch another seed, also where the job gives one"
_UNIQUE = "metadata.epoch and metadata.seq together are unique, or derive it from the record, as with F.xxhash64(...)"

_UNDETERMINED = {
    "CurrentTimestamp": ("current_timestamp()", _TIME),
    "CurrentBatchTimestamp": ("current_timestamp()", _TIME),
    "Now": ("now()", _TIME),
    "LocalTimestamp": ("localtimestamp()", _TIME),
    "CurrentDate": ("current_date()", _TIME),
    "CurDateExpressionBuilder": ("curdate()", _TIME),
    "CurrentTime": ("current_time()", _TIME),
    "UnixTimestampNow": ("unix_timestamp()", _TIME),
    "Uuid": ("uuid()", _UNIQUE),
    # Spark's IncrementalExecution calls withNewSeed on these.
    "Rand": ("rand()", _RANDOM),
    "Randn": ("randn()", _RANDOM),
    "RandStr": ("randstr()", _RANDOM),
    "Uniform": ("uniform()", _RANDOM),
    "Shuffle": ("shuffle()", "sort the array instead"),
    "InputFileName": ("input_file_name()", "there are no input files"),
}


def check_determined(frame: DataFrame) -> None:
    """Raise `JobError` naming every undetermined expression of a streaming plan, and what to use instead."""
    found = dict(_findings(json.loads(frame._jdf.queryExecution().analyzed().toJSON())))
    if found:
        what = "; ".join(f"{name}: {remedy}" for name, remedy in found.items())
        raise JobError(f"the job's plan is not determined by its input, so its replicas would differ. Replace {what}")


def check_watermarks(frame: DataFrame) -> None:
    """Raise `JobError` if a stream that has a watermark gets another one.

    Spark fails as soon as the first one has a value; over windows the second one never has one, so no window ever comes out.
    """
    plan = tree(iter(json.loads(frame._jdf.queryExecution().analyzed().toJSON())))
    settings = frame.sparkSession.conf
    if settings.get("spark.sql.streaming.statefulOperator.allowMultiple", "true") == "true" and _twice(plan, 0):
        raise JobError(
            "the job's plan has withWatermark over a stream that has a watermark already, also by way of a join, a union or "
            "windows. Spark fails as soon as the first one has a value, or waits for ever for the second. Give each source "
            "one watermark, before all else; windows pass theirs on"
        )


def _twice(node: Node, above: int) -> bool:
    above += node.name == "EventTimeWatermark"
    return above > 1 or any(_twice(child, above) for child in node.children)


def check_repeatable(first: DataFrame, second: DataFrame) -> None:
    """Raise `JobError` if building the job twice gave plans with other constants: it drew them from a clock or at random.

    That is how `DataFrame.sample` without a seed, `datetime.now()` and `uuid4()` get into a plan.
    """
    for one, other in zip_longest(_constants(first), _constants(second)):
        if one != other:
            where, value = one or other or ("", "")
            raise JobError(
                f"the job's plan has another constant each time it is built, so its replicas would differ: {where} {value}. "
                "Use ctx.rng(), or give sample() a seed; take times from ctx.epoch_time() and the "
                "records, identifiers from the records or ctx.options"
            )


def _constants(frame: DataFrame) -> list[tuple[str, str]]:
    return list(_literals(json.loads(frame._jdf.queryExecution().analyzed().toJSON())))


def _literals(nodes: Any, parent: str = "") -> Iterator[tuple[str, str]]:
    """Every literal and seed of a plan, with the expression it belongs to, in the plan's order."""
    if isinstance(nodes, list):
        for node in nodes:
            name = str(node.get("class", "")).rpartition(".")[2] if isinstance(node, dict) else ""
            yield from _literals(node, parent)
            parent = name if name not in ("", "Literal") else parent
    elif isinstance(nodes, dict):
        name = str(nodes.get("class", "")).rpartition(".")[2]
        if name == "Literal":
            yield parent, without_identity(nodes.get("value"))
        if "seed" in nodes:
            yield name, str(nodes["seed"])
        for value in nodes.values():
            yield from _literals(value, parent)


def _findings(nodes: Any) -> Iterator[tuple[str, str]]:
    """Walk the plan's JSON: lists of nodes, whose fields hold expressions as lists of nodes again."""
    if isinstance(nodes, list):
        for node in nodes:
            yield from _findings(node)
    elif isinstance(nodes, dict):
        yield from _finding(nodes)
        for value in nodes.values():
            yield from _findings(value)


def _finding(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name = str(node.get("class", "")).rpartition(".")[2]
    if name in _UNDETERMINED:
        yield _UNDETERMINED[name]
    elif name == "PythonUDF" and node.get("udfDeterministic") in (False, "false"):
        yield (
            f"the non-deterministic UDF {node.get('name')}",
            "compute it from its arguments alone; ask services with ctx.ask(...)",
        )
