"""State that executors keep: they write it into the checkpoint, so all of them and the driver must see the same folder."""

import uuid
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from tandem.engine.jvm_plans import children, class_of, inlined, walked
from tandem.jobapi.errors import JobError

_STATEFUL: Final = frozenset({"Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark", "GlobalLimit"})
_STATEFUL_PART: Final = "WithState"
"""Part of the names of all operators with a state of the job's own."""
_WATERMARK: Final = "EventTimeWatermark"
_PROBES: Final = 2
"""For each executor, so that hardly one of them is left out."""


def stateful_operators(frame: DataFrame) -> list[str]:
    """The operators of a streaming plan that keep state, by Spark's names."""
    return sorted({class_of(node) for node in walked(frame._jdf.queryExecution().analyzed()) if _is_stateful(node)})


def state_behind_watermark(frame: DataFrame) -> bool:
    """Whether an operator that keeps state has a watermark below it: what it does with a row depends on where that is."""
    plan = inlined(frame.sparkSession, frame._jdf.queryExecution().analyzed())
    stateful = [node for node in walked(plan) if _is_stateful(node)]
    return any(class_of(below) == _WATERMARK for node in stateful for below in walked(node))


def _is_stateful(node: Any) -> bool:
    name = class_of(node)
    if name == "Join" and all(child.isStreaming() for child in children(node)):
        return True
    return bool(node.isStreaming()) and (name in _STATEFUL or _STATEFUL_PART in name)


def check_shared(session: SparkSession, folder: Path, operators: list[str], executors: int) -> None:
    """Raise `JobError` unless the executors can read in `folder` what the driver writes, and the other way round."""
    folder.mkdir(parents=True, exist_ok=True)
    probe, count = folder / f"probe-{uuid.uuid4().hex}", _PROBES * executors
    probe.write_text("seen")
    answers = [Path(f"{probe}.{number}") for number in range(count)]
    try:
        tasks = session.sparkContext.parallelize([str(answer) for answer in answers], count)
        failures = [text for text in tasks.map(_answer).collect() if text]
        failures += [
            f"what they wrote is not here: {answer}" for answer in answers if not failures and not answer.exists()
        ]
    finally:
        for path in (probe, *answers):
            path.unlink(missing_ok=True)
    if failures:
        raise JobError(
            f"the job keeps state ({', '.join(operators)}), which its executors have to share with this replica, but "
            f"{folder.parent} is not one folder for all of them: {failures[0]}. Mount a volume with the access mode "
            "ReadWriteMany in spec.podTemplate (volumes, and volumeMounts of the container `replica`: executors get them, "
            "too), and name a folder on it in spec.checkpoint.directory; or set spec.executors.instances: 0"
        )


def _answer(path: str) -> str:
    """In an executor: read the probe, write an answer beside it. What went wrong; "": nothing."""
    try:
        Path(path).write_text(Path(path.rpartition(".")[0]).read_text())
    except OSError as error:
        return str(error)
    return ""
