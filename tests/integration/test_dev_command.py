"""`tandem dev` and `tandem new`: topics of a job with lanes, a new job's test, records to and from any Kafka."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from integration.command import completed
from integration.terminals import Terminals, opened
from integration.written_job import create_topics, transactional_producer
from tandem.cli.main import app
from tandem.devservers import KafkaBroker
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import Topics
from tandem.process.info import ExitCode

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture
def terminals(tmp_path: Path, topic_prefix: str) -> Iterator[Terminals]:
    with opened(tmp_path, topic_prefix, "first-job") as made:
        yield made


def test_the_topics_of_a_job_with_lanes_have_a_multiple_of_partitions(terminals: Terminals) -> None:
    terminals.make_job()
    manifest = terminals.folder / "job.yaml"
    manifest.write_text(manifest.read_text().replace("spec:\n", "spec:\n  lanes: 4\n", 1))
    dev = terminals.dev()
    assert "with 4 partitions, not 2: a multiple of spec.lanes, 4" in dev.output
    topics = Topics(KafkaConnection({"bootstrap.servers": f"127.0.0.1:{terminals.ports[0]}"}))
    assert topics.partitions([f"{terminals.job}-orders"]) == {f"{terminals.job}-orders": 4}
    terminals.interrupt(dev)


@pytest.mark.thorough
def test_the_test_of_a_new_job_passes_and_sees_a_job_that_is_wrong(terminals: Terminals) -> None:
    terminals.type("tandem new shop", at=terminals.parent)
    command = [sys.executable, "-m", "pytest", "-q"]
    assert "\n    pytest\n" in terminals.page

    right = completed(command, cwd=terminals.folder)
    code = (terminals.folder / "job.py").read_text()
    (terminals.folder / "job.py").write_text(code.replace("quantity > 0", "quantity > 1"))
    wrong = completed(command, cwd=terminals.folder)

    assert (right.returncode, wrong.returncode) == (0, 1), right.stdout + wrong.stdout
    assert "3 passed" in right.stdout
    assert "1 failed, 2 passed" in wrong.stdout


SECURED = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: secured}
spec:
  job: {file: job.py}
  kafka:
    bootstrapServers: KAFKA
    properties: {security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN, sasl.username: alice}
    secretProperties: {sasl.password: {env: A_PASSWORD_OF_THE_TESTS}}
  ordering: {mode: heartbeat}
  sources: [{name: source, topics: [INPUT]}]
  sinks: [{name: sink, topic: OUTPUT}]
"""


def test_records_go_to_and_come_from_whichever_kafka_the_manifest_names(tmp_path: Path) -> None:
    secret = {"A_PASSWORD_OF_THE_TESTS": "right-password"}
    job, next_job = tmp_path / "job.yaml", tmp_path / "next.yaml"

    def dev(command: str, manifest: Path, *words: str, given: str = "", env: dict[str, str] = secret) -> Result:
        return CliRunner(env=env).invoke(app, ["dev", command, str(manifest), *words], input=given)

    with KafkaBroker(tmp_path / "kafka", sasl_users={"alice": "right-password"}) as kafka:
        create_topics(kafka.bootstrap, {"orders": 1, "rows": 1})
        for path, reads, writes in ((job, "orders", "rows"), (next_job, "other", "orders")):
            text = SECURED.replace("KAFKA", kafka.sasl_bootstrap)
            path.write_text(text.replace("INPUT", reads).replace("OUTPUT", writes))

        fed = dev("produce", job, "source", "--key", "k", "--rate", "100", given='{"a": 1}\n\ntwo\n')
        assert (fed.exit_code, fed.stdout) == (0, "2 records to orders\n"), fed.output
        echo = dev("consume", next_job, "sink", "--from-beginning", "--count", "2", "--timeout", "30")
        assert (echo.exit_code, echo.stdout) == (0, '{"a": 1}\ntwo\n'), echo.output

        publish(kafka, b"aborted", epoch=6, commit=False)
        publish(kafka, b"committed", epoch=7, commit=True)
        rows = dev("consume", job, "sink", "--from-beginning", "--epochs", "--count", "1", "--timeout", "30")
        assert (rows.exit_code, rows.stdout) == (0, "7\tcommitted\n"), rows.output
        fewer = dev("consume", job, "sink", "--count", "1", "--timeout", "1")
        assert (fewer.exit_code, fewer.stdout) == (1, "")
        assert "0 of 1 rows came" in fewer.stderr

        letters = dev("consume", job, "dead-letter")
        assert (letters.exit_code, letters.stdout) == (ExitCode.REFUSED, "")
        assert "secured.dead-letter is not there yet: the job makes it when it first runs" in letters.stderr
        refused = dev("produce", job, "source", given="one\n", env={"A_PASSWORD_OF_THE_TESTS": "wrong"})
        assert refused.exit_code == ExitCode.REFUSED
        assert "refused the connection" in refused.stderr


def publish(kafka: KafkaBroker, value: bytes, epoch: int, commit: bool) -> None:
    producer = transactional_producer(kafka.bootstrap, "secured")
    producer.begin_transaction()
    producer.produce("rows", value, headers={"tandem.epoch": str(epoch), "tandem.index": "0"})
    producer.flush(30)
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
