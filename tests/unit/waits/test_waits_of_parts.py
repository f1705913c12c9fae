"""Parts that wait for something beside the job say so, however often they try again."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

from tandem.coordination.zookeeper import Member
from tandem.engine.memory import EpochSize
from tandem.engine.slow_epoch import begun, too_small
from tandem.engine.stacks import place_in
from tandem.protocol.values import EpochRange, Offsets, TopicPartition
from tandem.replica.rows import EpochRows
from tandem.replica.tables import TableSink
from tandem.topics.periodic_check import PeriodicCheck
from tandem.waiting import Deadline, wait_until
from tandem.waits import Waits
from unit.replica.making import MakingTableWriter

PATIENCE_S = 20.0


@pytest.fixture
def waits() -> Waits:
    """Waits that speak of everything at once."""
    return Waits(0.0)


def test_a_zookeeper_that_is_not_there_is_named(waits: Waits) -> None:
    options = {"hosts": "127.0.0.1:1", "timeout": 2.0}
    member = Member(options, "slots", "/x", lambda _: None, lambda: None, task=waits.task(beside=True))
    member.start()
    try:
        words = "ZooKeeper at 127.0.0.1:1 for the slots: no connection"
        assert wait_until(lambda: waits.words_beside.startswith(words), Deadline(PATIENCE_S)), waits.words_beside
    finally:
        member.stop()
    assert waits.words_beside == ""


def test_a_look_that_does_not_return_is_named(waits: Waits) -> None:
    answers = threading.Event()
    looks = PeriodicCheck("retention", lambda: (answers.wait(PATIENCE_S), None)[1], task=waits.task(beside=True))
    looks.start()

    assert wait_until(lambda: waits.words_beside == "a look at the retention, for 0 s", Deadline(PATIENCE_S))
    answers.set()
    assert wait_until(lambda: waits.words_beside == "", Deadline(PATIENCE_S))
    looks.stop()


def test_the_table_that_is_written_is_named(tmp_path: Path) -> None:
    steps: list[str] = []
    schema = pa.schema([("sink", pa.string()), ("table_archive", pa.struct([("n", pa.int64())]))])
    rows = EpochRows.of(0, pa.table({"sink": ["archive"], "table_archive": [{"n": 1}]}, schema), ordered=True)
    MakingTableWriter("job", [TableSink("archive", "parquet", str(tmp_path))], steps.append).write(rows)

    assert steps == [f"the parquet table {tmp_path} of sink archive, which is written"]


def test_an_epoch_is_named_with_its_records_and_where_they_are() -> None:
    starts = Offsets({TopicPartition("in", number): 10 for number in range(5)})
    ends = Offsets({TopicPartition("in", number): 10 + number for number in range(5)})
    epoch = EpochRange(7, starts, ends, 0, 0, 0, 0)

    assert begun(epoch) == (
        "epoch 7 with 10 records",
        "its records in Kafka, in/1 up to 11, in/2 up to 12, in/3 up to 13 and 1 more",
    )


def test_a_heap_that_may_be_too_small_is_named_with_one_that_is_not() -> None:
    large = EpochSize(0, 220, 188 * 2**20)

    assert too_small(large, "512m").startswith("Its 188.0 MiB may not fit into Spark's heap of 512m: if so, raise ")
    assert "driverMemory to 3328m or more" in too_small(large, "512m")
    assert too_small(large, "1g") == ""
    assert too_small(None, "512m") == ""


def test_of_a_stack_the_innermost_line_of_the_jobs_code_is_named(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("")
    stack = f"""Current thread 0x00007f (most recent call first):
  File "{threading.__file__}", line 331 in wait
  File "{job}", line 9 in answer
  File "{job}", line 14 in outer
"""
    assert place_in(stack) == "job.py:9 in answer"
    assert place_in(stack.replace(str(job), threading.__file__)) == ""
