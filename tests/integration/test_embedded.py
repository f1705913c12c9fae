"""The embedded Kafka and ZooKeeper are real: they serve, stop, die, come back, freeze, and never outlive their owner."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient, KazooState

from tandem.embedded import (
    BrokerSettings,
    EmbeddedError,
    Jars,
    JarsError,
    JavaMissingError,
    KafkaBroker,
    ServerError,
    ZooKeeperServer,
    spark_classpath,
)
from tandem.embedded.java import java_executable, parse_major_version
from tandem.embedded.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration

PATIENCE_S = 30.0
USERS = {"alice": "right-password"}


def eventually(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
    return wait_until(condition, Deadline(within_s))


def gone(pid: int) -> bool:
    """Whether nothing of the process is left that could hold a port or a file (a zombie is only an entry in a table)."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def create_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, num_partitions=1)])[topic].result(timeout=PATIENCE_S)


def produce(bootstrap: str, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(PATIENCE_S) == 0


def consume(bootstrap: str, topic: str, until: bytes, isolation: str = "read_committed") -> list[bytes]:
    """All values from the start up to the first `until`."""
    config = {"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": isolation}
    consumer = Consumer({**config, "enable.auto.commit": False, "allow.auto.create.topics": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    seen: list[bytes] = []
    deadline = Deadline(PATIENCE_S)
    try:
        while until not in seen:
            assert not deadline.passed, f"{until!r} did not come; seen so far: {seen}"
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None, message.error()
                seen.append(message.value() or b"")
        return seen
    finally:
        consumer.close()


def transactional_producer(bootstrap: str, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 0})
    producer.init_transactions(PATIENCE_S)
    return producer


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker for the tests of this file to maltreat, with a second listener that wants a password."""
    with KafkaBroker(tmp_path_factory.mktemp("mortal"), sasl_users=USERS) as broker:
        yield broker


@pytest.fixture
def mortal_kafka(mortal: KafkaBroker) -> KafkaBroker:
    """The same, running whatever the test before did to it."""
    if not mortal.running:
        mortal.start()
    mortal.resume()
    return mortal


def test_a_produced_record_is_consumed(kafka: KafkaBroker, topic_prefix: str) -> None:
    create_topic(kafka.bootstrap, topic_prefix)
    produce(kafka.bootstrap, topic_prefix, b"one", b"two")
    assert consume(kafka.bootstrap, topic_prefix, until=b"two") == [b"one", b"two"]


def test_only_committed_transactions_are_visible(kafka: KafkaBroker, topic_prefix: str) -> None:
    create_topic(kafka.bootstrap, topic_prefix)
    producer = transactional_producer(kafka.bootstrap, topic_prefix)

    producer.begin_transaction()
    producer.produce(topic_prefix, b"aborted")
    producer.flush(PATIENCE_S)
    assert consume(kafka.bootstrap, topic_prefix, until=b"aborted", isolation="read_uncommitted") == [b"aborted"]
    producer.abort_transaction(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic_prefix, b"committed")
    producer.commit_transaction(PATIENCE_S)

    assert consume(kafka.bootstrap, topic_prefix, until=b"committed") == [b"committed"]


def test_a_second_producer_of_a_transactional_id_fences_the_first(kafka: KafkaBroker, topic_prefix: str) -> None:
    create_topic(kafka.bootstrap, topic_prefix)
    zombie = transactional_producer(kafka.bootstrap, topic_prefix)
    transactional_producer(kafka.bootstrap, topic_prefix)

    zombie.begin_transaction()
    zombie.produce(topic_prefix, b"late")
    with pytest.raises(KafkaException) as failure:
        zombie.commit_transaction(PATIENCE_S)

    assert failure.value.args[0].code() == KafkaError._FENCED
    zombie.purge()
    assert zombie.flush(PATIENCE_S) == 0


def test_topics_are_never_created_by_themselves(kafka: KafkaBroker, topic_prefix: str) -> None:
    outcomes: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "topic.metadata.propagation.max.ms": 300})
    producer.produce(topic_prefix, b"lost", on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(PATIENCE_S) == 0
    assert [error and error.code() for error in outcomes] == [KafkaError.UNKNOWN_TOPIC_OR_PART]


def test_a_restarted_broker_keeps_its_address_and_its_data(mortal_kafka: KafkaBroker, topic_prefix: str) -> None:
    address, pid = mortal_kafka.bootstrap, mortal_kafka.pid
    create_topic(address, topic_prefix)
    produce(address, topic_prefix, b"before")

    mortal_kafka.restart()

    assert mortal_kafka.bootstrap == address
    assert gone(pid)
    produce(address, topic_prefix, b"after")
    assert consume(address, topic_prefix, until=b"after") == [b"before", b"after"]


def test_a_paused_broker_accepts_a_request_and_answers_it_after_its_resume(
    mortal_kafka: KafkaBroker, topic_prefix: str
) -> None:
    create_topic(mortal_kafka.bootstrap, topic_prefix)
    producer = Producer({"bootstrap.servers": mortal_kafka.bootstrap, "linger.ms": 0})
    producer.produce(topic_prefix, b"warm-up")
    assert producer.flush(PATIENCE_S) == 0

    mortal_kafka.pause()
    producer.produce(topic_prefix, b"meanwhile")
    unanswered_while_paused = producer.flush(1.0)
    mortal_kafka.resume()

    assert unanswered_while_paused == 1
    assert producer.flush(PATIENCE_S) == 0
    assert consume(mortal_kafka.bootstrap, topic_prefix, until=b"meanwhile") == [b"warm-up", b"meanwhile"]


@pytest.mark.parametrize(("password", "outcome"), [("right-password", "let in"), ("wrong-password", "refused")])
def test_sasl_lets_in_only_the_right_password(mortal_kafka: KafkaBroker, password: str, outcome: str) -> None:
    errors: list[int] = []
    config: dict[str, Any] = {
        "bootstrap.servers": mortal_kafka.sasl_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": password,
        "error_cb": lambda error: errors.append(error.code()),
    }
    client = AdminClient(config)
    answer = client.describe_cluster(request_timeout=10)
    eventually(lambda: client.poll(0.05) >= 0 and (answer.done() or KafkaError._AUTHENTICATION in errors))
    if KafkaError._AUTHENTICATION in errors:
        assert outcome == "refused"
    else:
        assert len(answer.result(timeout=0).nodes) == 1
        assert outcome == "let in"


def test_a_killed_broker_is_gone_at_once_and_comes_back_with_its_data(
    mortal_kafka: KafkaBroker, topic_prefix: str
) -> None:
    create_topic(mortal_kafka.bootstrap, topic_prefix)
    produce(mortal_kafka.bootstrap, topic_prefix, b"before")
    pid = mortal_kafka.pid

    mortal_kafka.kill()

    assert gone(pid)
    assert not mortal_kafka.running
    mortal_kafka.start()
    assert consume(mortal_kafka.bootstrap, topic_prefix, until=b"before") == [b"before"]


def test_a_stopped_broker_leaves_no_process_and_frees_its_port(mortal_kafka: KafkaBroker) -> None:
    pid = mortal_kafka.pid
    mortal_kafka.stop()
    assert gone(pid)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((mortal_kafka.settings.host, mortal_kafka.settings.port), timeout=1)


def test_a_password_that_would_break_out_of_the_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match="may only hold letters"):
        BrokerSettings(tmp_path, 1, 2, sasl_port=3, sasl_users={"mallory": 'x" user_admin="y'})


def test_a_wrong_broker_setting_is_told_with_the_end_of_the_log(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, extra={"num.io.threads": "many"})
    with pytest.raises(ServerError, match=r"(?s)cannot format .*num\.io\.threads"):
        broker.start()
    assert not broker.running


def test_a_broker_that_dies_early_tells_why_from_its_log(tmp_path: Path) -> None:
    formatted_by_a_stranger = tmp_path / "data" / "meta.properties"
    formatted_by_a_stranger.parent.mkdir()
    formatted_by_a_stranger.write_text("version=7\n")
    with pytest.raises(ServerError, match=r"(?s)kafka ended before it answered.*kafka\.log:.*meta\.properties"):
        KafkaBroker(tmp_path).start()


def test_zookeeper_keeps_its_data_over_a_restart_and_a_kill(own_zookeeper: ZooKeeperServer) -> None:
    client = KazooClient(own_zookeeper.connect, timeout=2)
    client.start(PATIENCE_S)
    try:
        client.create("/kept", b"value")
        own_zookeeper.restart()
        assert eventually(lambda: client.connected)
        client.create("/kept/too")
        own_zookeeper.kill()
        own_zookeeper.start()
        assert eventually(lambda: client.connected)
        assert client.get("/kept")[0] == b"value"
        assert client.get_children("/kept") == ["too"]
    finally:
        client.stop()
        client.close()


def test_clients_of_a_paused_zookeeper_are_suspended_until_its_resume(own_zookeeper: ZooKeeperServer) -> None:
    client = KazooClient(own_zookeeper.connect, timeout=2)
    client.start(PATIENCE_S)
    try:
        own_zookeeper.pause()
        assert eventually(lambda: client.state == KazooState.SUSPENDED)
        own_zookeeper.resume()
        assert eventually(lambda: client.state == KazooState.CONNECTED)
    finally:
        client.stop()
        client.close()


def test_a_paused_server_can_be_stopped(own_zookeeper: ZooKeeperServer) -> None:
    pid = own_zookeeper.pid
    own_zookeeper.pause()
    started = time.monotonic()
    own_zookeeper.stop(deadline_s=20)
    assert gone(pid)
    assert time.monotonic() - started < 10, "it was killed at the deadline instead of being stopped"


def test_a_server_that_ignores_sigterm_is_killed_at_the_deadline(own_zookeeper: ZooKeeperServer) -> None:
    pid = own_zookeeper.pid
    own_zookeeper.stop(deadline_s=0)  # no JVM ends in no time
    assert gone(pid)


def test_a_running_server_is_not_started_twice(own_zookeeper: ZooKeeperServer) -> None:
    with pytest.raises(ServerError, match=f"runs already .pid {own_zookeeper.pid}.: stop it first"):
        own_zookeeper.start()


def test_a_port_that_is_taken_is_told(own_zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    rival = ZooKeeperServer(tmp_path / "rival", port=own_zookeeper.settings.port)
    with pytest.raises(ServerError, match=f"{own_zookeeper.connect}, which is taken"):
        rival.start()


def test_a_server_that_dies_early_tells_its_exit_code_and_the_end_of_its_log(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path, heap="1k")
    with pytest.raises(ServerError, match=r"(?s)ended with exit code 1; .*zookeeper\.log:.*Too small maximum heap"):
        server.start()
    assert not server.running


def test_a_server_that_does_not_answer_in_time_is_told_and_not_left_behind(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path)
    with pytest.raises(ServerError, match="did not answer within 0 s"):
        server.start(deadline_s=0)
    assert not server.running


ORPHANED = """
import sys, threading
from pathlib import Path
from tandem.embedded import ZooKeeperServer
server = ZooKeeperServer(Path(sys.argv[1]))
starter = threading.Thread(target=server.start)
starter.start()
starter.join()
print(server.pid, server.settings.port, flush=True)
sys.stdin.read()
"""


def test_a_server_outlives_the_thread_that_started_it_but_not_the_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ORPHANED, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, port = map(int, parent.stdout.readline().split())
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"ruok")
            assert connection.recv(16) == b"imok"
        os.kill(parent.pid, signal.SIGKILL)
    assert eventually(lambda: gone(pid), within_s=5)


def test_ctrl_c_on_the_terminal_does_not_reach_the_servers(own_zookeeper: ZooKeeperServer) -> None:
    assert os.getpgid(own_zookeeper.pid) != os.getpgid(os.getpid())


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the only place that Spark's resolver looks in; jars put there are found without any network."""
    folder, conf = tmp_path / "mirror", tmp_path / "conf"
    folder.mkdir()
    conf.mkdir()
    (conf / "ivysettings.xml").write_text(
        '<ivysettings><settings defaultResolver="mirror"/><resolvers><filesystem name="mirror">'
        f'<artifact pattern="{folder}/[organisation]_[module]-[revision].[ext]"/>'
        "</filesystem></resolvers></ivysettings>"
    )
    (conf / "spark-defaults.conf").write_text(f"spark.jars.ivySettings {conf / 'ivysettings.xml'}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    return folder


def test_a_damaged_jar_in_the_cache_is_resolved_anew(mirror: Path, tmp_path: Path) -> None:
    for jar in Jars.resolve().folder.glob("org.apache.kafka_kafka_2.13-*.jar"):
        (mirror / jar.name).symlink_to(jar)
    file_system = Jars.resolve().spark_classpath()
    (mirror / file_system.name).symlink_to(file_system)
    damaged = tmp_path / "cache" / Jars.resolve().folder.name
    damaged.mkdir(parents=True)
    (damaged / "inventory.json").write_text(f'{{"{file_system.name}": {file_system.stat().st_size}}}')
    (damaged / file_system.name).write_bytes(b"half a jar")
    assert not Jars(damaged).complete

    mended = Jars.resolve(tmp_path / "cache")

    assert mended.complete
    assert spark_classpath(mended.folder).read_bytes() == file_system.read_bytes()
    assert sorted(path.suffix for path in (tmp_path / "cache").iterdir()) == [".1", ".lock", ".log"], "left-overs"


def test_a_resolver_that_fails_is_told_with_its_output_and_leaves_nothing(mirror: Path, tmp_path: Path) -> None:
    assert list(mirror.iterdir()) == []
    with pytest.raises(JarsError, match=r"(?s)check the network.*UNRESOLVED DEPENDENCIES"):
        Jars.resolve(tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("script", "complaint"),
    [("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "is Java 11"), ("exit 1", "does not tell its version")],
)
def test_a_java_of_no_use_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, complaint: str) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissingError, match=rf"JAVA_HOME\) {complaint}: install Java 17 or newer"):
        java_executable()


def test_a_missing_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissingError, match="no java on PATH"):
        java_executable()


@pytest.mark.parametrize(("output", "major"), [('version "1.8.0_392"', 8), ('version "22-ea"', 22), ("what?", None)])
def test_the_major_version_of_java_is_read(output: str, major: int | None) -> None:
    assert parse_major_version(output) == major
