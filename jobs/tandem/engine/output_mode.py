"""Spark's output mode of a job: the one that was asked for, or the one that the plan allows."""

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from tandem.jobapi.errors import JobError
from tandem.jobapi.job import in_a_line
from tandem.manifest import OutputMode


def output_mode(frame: DataFrame, given: OutputMode | None = None) -> str:
    """The mode that is given; else `Append` where Spark allows it (windows, joins, processors), else `Update`.

    Raises `JobError` if Spark refuses the mode that is given for this plan, or both if none is.
    """
    if given is None:
        if not refusal(frame, "Append"):
            return "Append"
        if (refused := refusal(frame, "Update")) is not None:
            raise JobError(f"Spark refuses the job's plan: {in_a_line(refused)}") from refused
        return "Update"
    mode = given.capitalize()
    refused = refusal(frame, mode)
    if refused is not None:
        raise JobError(f"spec.job.outputMode: {given} does not suit the job: {in_a_line(refused)}") from refused
    return mode


def refusal(frame: DataFrame, mode: str) -> PySparkException | None:
    """Why Spark refuses a plan in an output mode; None if it does not."""
    jvm: Any = frame.sparkSession._jvm
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    try:
        checker.checkForStreaming(
            frame._jdf.queryExecution().analyzed(), getattr(jvm.org.apache.spark.sql.streaming.OutputMode, mode)()
        )
    except PySparkException as error:
        return error
    return None
