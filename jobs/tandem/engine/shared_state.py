"""State that executors keep: they write it into the checkpoint, so all of them and the driver must see the same folder."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from tandem.jobapi.errors import JobError

_STATEFUL: Final = frozenset({"Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark", "GlobalLimit"})
_STATEFUL_PART: Final = "WithState"
"""Part of the names of all operators with a state of the job's own."""
_PROBES: Final = 2
"""For each executor, so that hardly one of them is left out."""


def stateful_operators(frame: DataFrame) -> list[str]:
    """The operators of a streaming plan that keep state, by Spark's names."""
    return sorted(set(_stateful(frame._jdf.queryExecution().analyzed())))


def _stateful(node: Any) -> Iterator[str]:
    children = node.children()
    below = [children.apply(index) for index in range(children.size())]
    name = node.getClass().getSimpleName()
    is_join = name == "Join" and all(child.isStreaming() for child in below)
    if is_join or (node.isStreaming() and (name in _STATEFUL or _STATEFUL_PART in name)):
        yield name
    for child in below:
        yield from _stateful(child)


def check_shared(session: SparkSession, folder: Path, operators: list[str], executors: int) -> None:
    """Raise `JobError` unless the executors can read in `folder` what the driver writes, and the other way round."""
    folder.mkdir(parents=True, exist_ok=True)
    probe, count = folder / f"probe-{uuid.uuid4().hex}", _PROBES * executors
    probe.write_text("seen")
    answers = [Path(f"{probe}.{number}") for number in range(count)]
    try:
        tasks = session.sparkContext.parallelize([str(answer) for answer in answers], count)
        told = [text for text in tasks.map(_answer).collect() if text]
        told += [f"what they wrote is not here: {answer}" for answer in answers if not told and not answer.exists()]
    finally:
        for path in (probe, *answers):
            path.unlink(missing_ok=True)
    if told:
        raise JobError(
            f"the job keeps state ({', '.join(operators)}), which its executors have to share with this replica, but "
            f"{folder.parent} is not one folder for all of them: {told[0]}. Mount a volume with the access mode "
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
