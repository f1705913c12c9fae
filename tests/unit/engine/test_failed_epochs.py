"""An epoch that fails where no record can be named: between barriers, and with what Java raises again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest
from pyspark.errors import IllegalArgumentException, StreamingQueryException, UnknownException

from tandem.engine.blame import Failed
from tandem.engine.repeated import MOST_TRIES, FailedEpochs, unnamed_fault
from tandem.engine.spark import SparkEngine
from tandem.jobapi.errors import EpochError
from tandem.protocol.values import EpochRange, Offsets, TopicPartition
from unit.shipping.batches import replica

INPUT = TopicPartition("in", 0)
OF_A_VALUE = "[CAST_INVALID_INPUT] The value 'x' cannot be cast. SQLSTATE: 22018\n=== Streaming Query ==="


def of_java(name: str, *causes: str) -> StreamingQueryException:
    """As Spark reports it: `name` was raised first, then what it was wrapped in, if that is said."""
    error: Any = StreamingQueryException(f"[STREAM_FAILED] terminated with exception: {name} SQLSTATE: XXKST")
    inner = error
    for one in (*causes, name):
        inner._cause = UnknownException(one)
        inner = inner._cause
        inner._stackTrace = (
            f"{one}\n\tat java.util.concurrent.ThreadPoolExecutor.run(X.java:1)\n\tat java.io.Y.z(Y.java)"
        )
    return error


NULL = 'java.lang.NullPointerException: Cannot invoke "Rate.of()" because "rates" is null'
OF_THE_JOB = {
    "null": of_java(NULL, "org.apache.spark.SparkException: Job aborted due to stage failure"),
    "without words": of_java("java.lang.NullPointerException"),
    "a library's": of_java("com.acme.ParseException: bad header at 7"),
    "a class is missing": of_java("java.lang.NoClassDefFoundError: com/acme/Rates"),
}
OF_SURROUNDINGS = {
    "a server": of_java("java.net.ConnectException: nothing said"),
    "a server, in other words": of_java("com.acme.ClientException: request timed out"),
    "a server, wrapped": of_java("com.acme.ClientException: HTTP status 503"),
    "a broker": of_java("org.apache.kafka.common.errors.NotLeaderOrFollowerException: x"),
    "ZooKeeper": of_java("org.apache.zookeeper.KeeperException$ConnectionLossException: x"),
    "a disk": of_java("java.io.IOException: Input/output error"),
    "a disk that is behind it": of_java("com.acme.StoreException: cannot write", "java.io.FileNotFoundException: x"),
    "a store": of_java("org.rocksdb.RocksDBException: bad block"),
    "memory": of_java("java.lang.OutOfMemoryError: Java heap space"),
    "an executor": of_java("org.apache.spark.SparkException: ExecutorLostFailure (executor 1 exited)"),
    "an end": of_java("java.lang.IllegalStateException: SparkContext has been shutdown"),
    "a crash": of_java("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"),
    "Tandem's own": RuntimeError("the query has stopped"),
    "nothing behind it": StreamingQueryException("[STREAM_FAILED] terminated. SQLSTATE: XXKST"),
    "an SQLSTATE": of_java("org.apache.spark.SparkRuntimeException: [X] y. SQLSTATE: 58030"),
}


def failed(error: StreamingQueryException, epoch: int = 7) -> Failed:
    columns = {"topic": ["in"] * 3, "partition": [0] * 3, "offset": [5, 6, 7], "key": [b"k"] * 3, "value": [b"v"] * 3}
    range_ = EpochRange(epoch, Offsets({INPUT: 5}), Offsets({INPUT: 8}), 0, 0, 0)
    return Failed(range_, pa.RecordBatch.from_pydict(columns), error)


class Stateful(SparkEngine):
    """Its plan is nobody's, and keeps state."""

    @property
    def keeps_state(self) -> bool:
        return True


def engine(folder: Path, real_time: bool = True) -> SparkEngine:
    """Of a stateful job that was just started: its checkpoint is what `folder` has."""
    job = MagicMock(
        real_time=real_time,
        begins_anywhere=False,
        leaves_letters=False,
        command="tandem run job.yaml",
        topic_tables=["t"],
    )
    made = Stateful(job, folder, MagicMock(), MagicMock())
    made.failed_epochs = FailedEpochs(folder / "failed-epochs" / "job-replica-0.json")
    return made


def raised(of: SparkEngine, what: Failed) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        of._without_culprits(MagicMock(), what)
    return caught.value


@pytest.mark.parametrize("name", OF_THE_JOB)
def test_what_java_raises_without_an_sqlstate_ends_the_job_when_it_has_come_at_the_same_epoch_three_times(
    tmp_path: Path, name: str
) -> None:
    error = OF_THE_JOB[name]
    ends = [raised(engine(tmp_path), failed(error)) for _ in range(MOST_TRIES)]
    assert all(end is error for end in ends[:-1]), "a restart may help"
    assert isinstance(ends[-1], EpochError)
    assert ends[-1].epoch == 7
    said = str(ends[-1])
    assert said.startswith(
        f"the job raised while it ran: {unnamed_fault(error)}. It was computing epoch 7, in/0 offsets"
    )
    assert "5 to 7, in each of 3 tries (each with a restart behind it; no record was found" in said
    assert "Nothing is lost. Fix the code" in said
    assert "then let the changed job go on with `tandem run job.yaml`" in said
    assert raised(engine(tmp_path), failed(error)) is error, "who starts it again has changed something"


@pytest.mark.parametrize("name", OF_SURROUNDINGS)
def test_what_may_be_the_fault_of_the_surroundings_is_tried_for_ever(tmp_path: Path, name: str) -> None:
    epochs = FailedEpochs(tmp_path / "file.json")
    assert [epochs.is_of_the_job(7, OF_SURROUNDINGS[name]) for _ in range(10)] == [None] * 10


def test_tries_count_if_they_are_of_the_same_epoch_and_error_in_a_row(tmp_path: Path) -> None:
    def ends(epoch: int, said: str) -> bool:
        return FailedEpochs(tmp_path / "file.json").is_of_the_job(epoch, of_java(said)) is not None

    one, other = "com.acme.X: at Rate@{:x} of 20 rows", "com.acme.Y: bad"
    assert not any(ends(epoch, other) for epoch in range(20)), "each epoch once"
    assert not any(ends(7, said) for said in (other, one, other, one, other, other)), "never three times"
    assert ends(7, other)
    assert [ends(8, one.format(number)) for number in (11, 12_345_678, 5)] == [False, False, True]


def test_where_nothing_can_be_written_a_replica_is_restarted_as_before(tmp_path: Path) -> None:
    (tmp_path / "in-the-way").write_text("")
    for epochs in (FailedEpochs(tmp_path / "in-the-way" / "file.json"), FailedEpochs()):
        assert [epochs.is_of_the_job(7, of_java(NULL)) for _ in range(9)] == [None] * 9


def test_the_file_of_something_else_is_no_try(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text('{"epoch": 7, "count": 5, "more": 1}')
    assert FailedEpochs(tmp_path / "file.json").is_of_the_job(7, of_java(NULL)) is None


@pytest.mark.parametrize(
    ("barriers", "state"), [((), "there is no state yet"), ((2, 4), "the newest state is of epoch 4")]
)
def test_between_barriers_the_report_says_that_no_record_was_looked_for_and_what_to_do(
    tmp_path: Path, barriers: tuple[int, ...], state: str
) -> None:
    if barriers:
        replica(tmp_path / "checkpoint", *barriers)
    found = raised(engine(tmp_path), failed(StreamingQueryException(OF_A_VALUE)))
    assert isinstance(found, EpochError)
    said = str(found)
    assert "[CAST_INVALID_INPUT] The value 'x' cannot be cast. It was computing epoch 7, in/0 offsets 5 to 7 (" in said
    assert "the record was not looked for: that takes the state of epoch 6" in said
    assert state in said
    assert "go on with spec.engine: microBatch, where spec.job.onError: deadLetter is possible" in said


def test_an_error_that_has_an_sqlstate_is_the_job_s_at_once(tmp_path: Path) -> None:
    cause = IllegalArgumentException("x")
    error: Any = StreamingQueryException(OF_A_VALUE)
    error._cause = cause
    assert isinstance(raised(engine(tmp_path), failed(error)), EpochError)
