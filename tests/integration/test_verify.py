"""`tandem verify` reads real topics: control records and aborted transactions are no anomaly, everything else is found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

from integration.written_job import PATIENCE_S, WrittenJob, headers_of, marker, transactional_producer
from tandem.cli.main import app
from tandem.devservers import KafkaBroker
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import MissingTopicError, ReadTimeoutError
from tandem.kafka.headers import JOB_HEADER, RowId
from tandem.process.info import ExitCode
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Claim, Cut, LagReport
from tandem.verify.read import HistoryReader, verify
from tandem.verify.report import Report, Unseen

pytestmark = pytest.mark.integration


@pytest.fixture
def job(kafka: KafkaBroker, topic_prefix: str) -> WrittenJob:
    return WrittenJob(kafka.bootstrap, topic_prefix)


def verified(job: WrittenJob) -> Report:
    return verify(job.connection, job.history)


def counts(report: Report) -> tuple[int, int, int]:
    return report.lost, report.duplicated, report.reordered


def test_a_right_history_with_aborted_transactions_gives_zero(job: WrittenJob) -> None:
    job.feed(20)
    job.run([0])
    job.propose(Claim(0, 0, "replica-0"), LagReport("replica-1", 0, 12.0))
    job.publish(marker(1, 4, 99), [RowId(1, index) for index in range(4)], commit=False)
    job.run([1])
    job.publish(None, [RowId(2, 0)], commit=False)

    report = verified(job)

    assert report.good, report.findings
    assert (report.epochs, report.rows, report.unseen) == (2, 8, Unseen())


def test_what_is_lost_duplicated_and_reordered_is_found(job: WrittenJob) -> None:
    job.feed(50)
    job.run([0])
    job.publish(marker(1, 4, job.cut(1, 20)), [RowId(1, index) for index in (0, 1, 3)])
    job.publish(marker(2, 4, job.cut(2, 30)), [RowId(2, index) for index in (0, 1, 2, 2, 3)])
    job.publish(marker(3, 4, job.cut(3, 40)), [RowId(3, index) for index in (0, 3, 1, 2)])
    job.run([4])

    report = verified(job)

    assert counts(report) == (1, 1, 1), report.findings
    assert [finding.text.split(" offset")[0] for finding in report.findings] == [
        "epoch 1 has 3 of 4 rows; the first indices not seen: 2",
        f"{job.output}/0",
        f"{job.output}/1",
    ]


def test_a_missing_and_a_repeated_marker_are_found(job: WrittenJob) -> None:
    job.feed(40)
    job.run([0])
    job.cut(1, 20)
    job.publish(None, [RowId(1, index) for index in range(4)])
    job.run([2, 3])
    job.publish(marker(3, 0, 4), [])

    assert counts(verified(job)) == (1, 1, 0)


def test_unread_input_and_unpublished_epochs_are_unseen(job: WrittenJob) -> None:
    job.feed(47)
    job.run([0, 1])
    job.cut(2, 30)

    report = verified(job)

    assert report.good
    assert report.unseen == Unseen(input_records=17, epochs=1, rows=0)


def test_it_waits_until_everything_is_published(job: WrittenJob) -> None:
    job.feed(20)
    job.run([0])
    offset = job.cut(1, 20)
    passes: list[int] = []

    def publish_after_the_first_pass(done: int, total: int) -> None:
        if done == total and not passes:
            passes.append(done)
            job.publish(marker(1, 2, offset), [RowId(1, 0), RowId(1, 1)])

    report = verify(job.connection, job.history, wait_s=PATIENCE_S, progress=publish_after_the_first_pass)

    assert (report.good, report.epochs, report.unseen) == (True, 2, Unseen())


def test_rows_that_are_still_hidden_by_a_transaction_are_waited_for_and_never_called_lost(job: WrittenJob) -> None:
    job.feed(10)
    stranger = transactional_producer(job.bootstrap, f"{job.name}.stranger")
    stranger.begin_transaction()
    stranger.produce(job.output, b"open", partition=1)
    assert stranger.flush(PATIENCE_S) == 0
    job.run([0])

    with HistoryReader(job.connection, job.history, stall_s=1.0) as reader, pytest.raises(ReadTimeoutError) as failure:
        reader.read_to_end()
    stranger.abort_transaction(PATIENCE_S)

    assert f"{job.output}/1 at 0 of " in str(failure.value)
    assert verified(job).good


def test_at_least_once_repeats_are_counted_apart(kafka: KafkaBroker, topic_prefix: str) -> None:
    job = WrittenJob(kafka.bootstrap, topic_prefix, Delivery.AT_LEAST_ONCE)
    job.feed(20)
    job.run([0])
    job.write_rows(RowId(1, 0), RowId(1, 1))
    job.run([1])
    job.write_rows(RowId(0, 2))

    report = verified(job)

    assert report.good, report.findings
    assert (report.dropped, report.rows) == (3, 8)


def test_rows_that_retention_deleted_are_not_called_lost(job: WrittenJob) -> None:
    job.feed(30)
    job.run([0, 1, 2])
    admin = AdminClient({"bootstrap.servers": job.bootstrap})
    for future in admin.delete_records([KafkaTopicPartition(job.output, 0, 3)]).values():
        future.result(timeout=PATIENCE_S)

    report = verified(job)

    assert report.good, report.findings
    assert any("retention has deleted rows" in note for note in report.notes)


def test_pausing_partitions_that_are_ahead_loses_nothing(job: WrittenJob) -> None:
    epochs = 2_000
    job.feed(epochs)
    cuts = [job.log_offset + epoch for epoch in range(epochs)]
    job.propose(*(Cut(epoch, job.positions(epoch + 1), epoch, 0, "orderer-0") for epoch in range(epochs)))
    job.write_markers(*(marker(epoch, 2, cuts[epoch]) for epoch in range(epochs)))
    job.write_rows(*(RowId(epoch, index) for epoch in range(epochs) for index in range(2)))

    with HistoryReader(job.connection, job.history, window=5) as reader:
        reader.read_to_end()
        report = reader.report()

    assert report.good, report.findings
    assert (report.epochs, report.rows, report.unseen) == (epochs, 2 * epochs, Unseen())
    assert reader.checker.under_way == 0


def test_the_command_prints_a_report_and_ends_with_its_verdict(job: WrittenJob, tmp_path: Path) -> None:
    job.feed(20)
    job.run([0])
    path = manifest(job, tmp_path)
    shown = CliRunner().invoke(app, ["verify", str(path)])
    assert shown.exit_code == ExitCode.OK, shown.output
    assert f"{job.name}: 1 epochs (0 to 0) published with 4 rows, exactlyOnce" in shown.output
    assert "unseen yet: 10 input records not in an epoch" in shown.output

    job.publish(marker(1, 4, job.cut(1, 20)), [RowId(1, 0)])
    broken = CliRunner().invoke(app, ["verify", str(path), "--json"])

    assert broken.exit_code == ExitCode.FAILED
    report = json.loads(broken.output)
    assert (report["good"], report["lost"], report["duplicated"], report["reordered"]) == (False, 3, 0, 0)


def test_the_command_says_why_it_could_not_verify(job: WrittenJob, tmp_path: Path) -> None:
    path = manifest(job, tmp_path)
    path.write_text(path.read_text().replace(f"topic: {job.output}", "topic: nowhere"))

    result = CliRunner().invoke(app, ["verify", str(path)])

    assert result.exit_code == ExitCode.REFUSED
    assert "not verified: topic nowhere does not exist" in result.stderr


def test_a_topic_that_is_not_there_is_a_clear_error(kafka: KafkaBroker, topic_prefix: str) -> None:
    history = WrittenJob(kafka.bootstrap, topic_prefix).history

    with pytest.raises(MissingTopicError, match="nowhere"):
        verify(
            KafkaConnection({"bootstrap.servers": kafka.bootstrap}), replace(history, outputs=frozenset({"nowhere"}))
        )


def manifest(job: WrittenJob, folder: Path) -> Path:
    path = folder / "job.yaml"
    path.write_text(
        f"""\
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata:
  name: {job.name}
spec:
  job:
    file: job.py
  kafka:
    bootstrapServers: {job.bootstrap}
  ordering:
    mode: heartbeat
  sources:
    - name: source
      topics: [{job.input}]
  sinks:
    - name: rows
      topic: {job.output}
"""
    )
    return path


def test_rows_of_another_job_in_the_same_topic_are_not_taken_for_repeats(job: WrittenJob) -> None:
    job.feed(20)
    job.run([0, 1])
    for index in range(4):
        headers = [*headers_of(RowId(1, index)), (JOB_HEADER, b"another")]
        job.plain.produce(job.output, b"value", partition=index % 2, headers=headers)
    assert job.plain.flush(PATIENCE_S) == 0

    report = verify(job.connection, replace(job.history, job=job.name))

    assert counts(report) == (0, 0, 0), report.findings
    assert f"4 records of {job.output} are not this job's: not looked at" in report.notes
