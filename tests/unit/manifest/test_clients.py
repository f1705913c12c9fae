"""From a manifest to the configuration of Kafka's and ZooKeeper's clients, secrets from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from tandem.kafka.client import KafkaConnection, OutputLimits
from tandem.manifest import KafkaSpec, SecretError, SecretReference, ZooKeeperAuth, ZooKeeperSpec
from tandem.manifest.kafka_properties import ALLOWED, JAVA_ONLY, OWNED, SECRET


def kafka_with(reference: SecretReference) -> KafkaSpec:
    return KafkaSpec(
        bootstrap_servers="a:1, b:2",
        properties={"security.protocol": "SASL_SSL"},
        secret_properties={"sasl.password": reference},
    )


def test_a_secret_comes_from_the_environment() -> None:
    kafka = kafka_with(SecretReference(env="PASSWORD"))

    assert kafka.client_properties({"PASSWORD": "geheim", "OTHER": "x"}) == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_SSL",
        "sasl.password": "geheim",
    }


@pytest.mark.parametrize("content", ["s3cret\n", "s3cret\r\n"])
def test_a_secret_from_the_environment_has_no_last_line_break_either(content: str) -> None:
    """As a Secret of Kubernetes has that was made with `echo`."""
    assert SecretReference(env="PASSWORD").resolve({"PASSWORD": content}, Path(), "x") == "s3cret"


@pytest.mark.parametrize("content", ["geheim", "geheim\n", "geheim\r\n"])
def test_a_secret_comes_from_a_file_without_its_last_line_break(content: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(content.encode())

    relative = kafka_with(SecretReference(file="password")).client_properties({}, tmp_path)
    absolute = kafka_with(SecretReference(file=str(tmp_path / "password"))).client_properties({})

    assert relative["sasl.password"] == absolute["sasl.password"] == "geheim"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            SecretReference(env="ABSENT"),
            r"secretProperties\[sasl.password\]: the environment variable ABSENT is not set",
        ),
        (SecretReference(env="EMPTY"), "the environment variable EMPTY is empty"),
        (SecretReference(file="absent"), "cannot read the secret file .*absent: No such file"),
        (SecretReference(file="empty"), "the secret file .*empty is empty"),
        (SecretReference(file="binary"), "the secret file .*binary: it is not UTF-8 text"),
        (SecretReference(file="."), "Is a directory"),
    ],
)
def test_a_secret_that_is_not_there_is_named(reference: SecretReference, message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff")

    with pytest.raises(SecretError, match=message):
        kafka_with(reference).client_properties({"EMPTY": ""}, tmp_path)


def test_kazoo_gets_its_time_out_in_seconds_and_no_tls_unless_wanted() -> None:
    spec = ZooKeeperSpec(connect="a:1, b:2/tandem")

    assert spec.client_options({}) == {"hosts": "a:1,b:2/tandem", "timeout": 2.0}


def test_kazoo_gets_files_from_the_manifests_folder_and_secrets_from_elsewhere(tmp_path: Path) -> None:
    spec = ZooKeeperSpec(
        connect="a:1",
        use_tls=True,
        ca_file="ca.pem",
        cert_file="/etc/cert.pem",
        key_file="key.pem",
        key_password=SecretReference(env="KEY"),
        auth=ZooKeeperAuth(credentials=SecretReference(env="AUTH")),
    )

    assert spec.client_options({"KEY": "k", "AUTH": "user:password"}, tmp_path) == {
        "hosts": "a:1",
        "timeout": 2.0,
        "auth_data": [("digest", "user:password")],
        "use_ssl": True,
        "verify_certs": True,
        "check_hostname": True,
        "ca": str(tmp_path / "ca.pem"),
        "certfile": "/etc/cert.pem",
        "keyfile": str(tmp_path / "key.pem"),
        "keyfile_password": "k",
    }


def known_to_librdkafka(name: str) -> bool:
    """Whether the installed librdkafka has such a property; the value is refused either way."""
    try:
        Producer({"log_level": "0", name: "\0"})
    except (KafkaException, TypeError, ValueError) as error:
        return "No such configuration property" not in str(error) and "not supported" not in str(error)
    return True


def test_every_property_that_may_be_set_is_one_of_librdkafka() -> None:
    assert sorted(name for name in ALLOWED | SECRET | OWNED.keys() if not known_to_librdkafka(name)) == []


def test_no_property_of_the_java_client_is_one_of_librdkafka() -> None:
    assert sorted(name for name in JAVA_ONLY if known_to_librdkafka(name)) == []


def test_a_property_has_one_kind() -> None:
    kinds = [ALLOWED, SECRET, frozenset(OWNED), frozenset(JAVA_ONLY)]

    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("socket.timeout.ms", "60000"),
        ("socket.timeout.ms", "300000"),
        ("reconnect.backoff.ms", "1000"),
        ("reconnect.backoff.max.ms", "10000"),
        ("reconnect.backoff.max.ms", "10"),
        ("batch.size", "16000000"),
        ("retry.backoff.ms", "5000"),
        ("queue.buffering.max.messages", "1"),
    ],
)
def test_a_property_that_agrees_with_librdkafka_agrees_with_what_tandem_sets(name: str, value: str) -> None:
    connection = KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0", name: value})
    rows = OutputLimits().producer(connection.properties)

    AdminClient(connection.admin())
    Consumer(connection.consumer()).close()
    for settings in (connection.appender(), connection.plain_producer(), connection.transactional("id", 10_000)):
        Producer(settings | rows)
    others = [connection.admin(), connection.consumer(), connection.appender(), connection.plain_producer()]
    assert all(settings[name] == value for settings in others)


def test_a_batch_is_as_small_as_the_user_says_and_as_small_as_the_topics_say() -> None:
    limits = OutputLimits(record=1_000, batch=500_000)

    assert limits.producer({"batch.size": "16384"})["batch.size"] == 16_384
    assert limits.producer({"batch.size": "16000000"})["batch.size"] == 500_000
    assert limits.producer()["batch.size"] == 500_000
    assert OutputLimits(batch=50_000_000).producer()["batch.size"] == 1_000_000
