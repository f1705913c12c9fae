"""Spark's output mode of a job: the one that was asked for, or the one that the plan allows.

All sinks are one query, which has one mode. Of a plan with several aggregations Spark's own check asks about one, and the
others would fail with the first epoch, so here each is asked about.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tandem.engine.jvm_plans import children, inlined
from tandem.jobapi.errors import JobError
from tandem.jobapi.job import in_a_line
from tandem.manifest import OutputMode

_AGGREGATIONS: Final = frozenset({"Aggregate", "Distinct"})
"""What gives other rows in one mode than in the other; all else that Spark allows in both gives the same."""


def output_mode(frame: DataFrame, sinks: Mapping[str, DataFrame], given: OutputMode | None = None) -> str:
    """The mode that is given; else `Append` where Spark allows it (windows, joins, processors), else `Update`.

    `frame` : the plan of all sinks together. `sinks` : what each is made of.

    Raises `JobError` if Spark refuses the mode that is given for this plan, or both if none is; and if none is given and a
    sink that is in mode append by itself would be in mode update for the sake of another.
    """
    aggregations = {name: found for name, sink in sinks.items() if (found := list(_aggregations(sink)))}
    errors = {name: _refused_append(frame, found) for name, found in aggregations.items()}
    refused = {name: error for name, error in errors.items() if error is not None}
    if given is not None:
        _check_given(given, frame, sinks, refused)
        return given.capitalize()
    against = next(iter(refused.values()), None) or refusal(frame, "Append")
    if against is None:
        return "Append"
    if (error := refusal(frame, "Update")) is not None:
        said, in_append = in_a_line(error), in_a_line(against)
        also = "" if said == in_append else f"; and in mode append: {in_append}"
        also = next((f"; and {_named([one])}: {in_a_line(why)}" for one, why in refused.items()), also)
        raise JobError(f"Spark refuses the job's plan: {said}{also}") from error
    final = [name for name in aggregations if name not in refused]
    others = [name for name in sinks if name in refused or (name not in final and refusal(sinks[name], "Append"))]
    if final and others:
        raise JobError(_mixed(others, final, against)) from against
    return "Update"


def _check_given(
    given: OutputMode, frame: DataFrame, sinks: Mapping[str, DataFrame], against_append: Mapping[str, PySparkException]
) -> None:
    """Raise `JobError` if Spark refuses the mode, with the sink that it is for if there are several."""
    mode = given.capitalize()
    name, refused = next(iter(against_append.items() if mode == "Append" else ()), ("", None))
    if refused is None and (refused := refusal(frame, mode)) is not None:
        name = next((name for name, sink in sinks.items() if refusal(sink, mode)), "")
    if refused is not None:
        what = f"sink {name}" if name and len(sinks) > 1 else "the job"
        raise JobError(f"spec.job.outputMode: {given} does not suit {what}: {in_a_line(refused)}") from refused


def _mixed(update: list[str], append: list[str], why: PySparkException) -> str:
    return (
        f"the job's sinks have one output mode, but {_named(update)} can be in mode update only ({in_a_line(why)}), and "
        f"{_named(append)} would be in mode append, which reports a row when it is final. Give spec.job.outputMode: update "
        f"({', '.join(append)} reports every change then), or make them two jobs"
    )


def _named(sinks: list[str]) -> str:
    return f"sink{'s' if len(sinks) > 1 else ''} {', '.join(sinks)}"


def refusal(frame: DataFrame, mode: str) -> PySparkException | None:
    """Why Spark refuses a plan in an output mode; None if it does not."""
    return _refused(frame.sparkSession, frame._jdf.queryExecution().analyzed(), mode)


def _refused(spark: SparkSession, plan: Any, mode: str) -> PySparkException | None:
    jvm: Any = spark._jvm
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    try:
        checker.checkForStreaming(plan, getattr(jvm.org.apache.spark.sql.streaming.OutputMode, mode)())
    except PySparkException as error:
        return error
    return None


def _refused_append(frame: DataFrame, aggregations: list[Any]) -> PySparkException | None:
    """Why Spark refuses the first of those that it refuses in mode append."""
    found = (_refused(frame.sparkSession, node, "Append") for node in aggregations)
    return next((error for error in found if error is not None), None)


def _aggregations(frame: DataFrame) -> Iterator[Any]:
    """The nodes of a plan that aggregate a stream, from the sink on; in the JVM."""
    return _below(inlined(frame.sparkSession, frame._jdf.queryExecution().analyzed()))


def _below(node: Any) -> Iterator[Any]:
    if node.getClass().getSimpleName() in _AGGREGATIONS and node.isStreaming():
        yield node
    for child in children(node):
        yield from _below(child)
