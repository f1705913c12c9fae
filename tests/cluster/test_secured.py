"""A job whose Kafka, ZooKeeper and S3 refuse whoever has no password, by TLS: from Secrets (docs/how-to/secure.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from cluster.commands import one_of, plugin
from cluster.jobs import START_S, ClusterJob, running_job, submit
from cluster.kubernetes import Kubectl, Object, holds
from integration.s3_server import KEY, SECRET, S3Server
from integration.secured import PASSWORD, USER, Secured, secured_servers
from integration.workload import Cluster
from tandem.kafka.topics import Topics

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0
CA = "/etc/tandem/tls/ca.crt"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_servers(tmp_path_factory.mktemp("secured"), os.environ["KUBE_LAB_HOST"]) as servers:
        yield servers


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3"), os.environ["KUBE_LAB_HOST"])
    server.start()
    yield server
    server.stop()


def secrets(secured: Secured, password: str = PASSWORD) -> list[Object]:
    contents = {
        "kafka-login": {"password": password},
        "zookeeper-login": {"credentials": f"{USER}:{PASSWORD}"},
        "s3-login": {"access-key": KEY, "secret-key": SECRET},
        "authority": {"ca.crt": secured.certificate.ca.read_text()},
    }
    return [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}
        for name, data in contents.items()
    ]


def spec(secured: Secured, s3: S3Server) -> Object:
    def secret(name: str, key: str) -> Object:
        return {"secretKeyRef": {"name": name, "key": key}}

    mounts = [{"name": "authority", "mountPath": "/etc/tandem/tls", "readOnly": True}]
    return {
        "kafka": {
            "bootstrapServers": secured.kafka.sasl_bootstrap,
            "properties": {**secured.kafka_properties(), "ssl.ca.location": CA},
            "secretProperties": {"sasl.password": secret("kafka-login", "password")},
        },
        "zookeeper": {
            "connect": secured.zookeeper_tls,
            "useTls": True,
            "caFile": CA,
            "auth": {"credentials": secret("zookeeper-login", "credentials")},
        },
        "snapshots": {
            "store": "s3://bucket/snapshots",
            "properties": {"endpoint_url": s3.endpoint},
            "secretProperties": {"key": secret("s3-login", "access-key"), "secret": secret("s3-login", "secret-key")},
        },
        "podTemplate": {
            "spec": {
                "containers": [{"name": name, "volumeMounts": mounts} for name in ("replica", "orderer")],
                "volumes": [{"name": "authority", "secret": {"secretName": "authority"}}],
            }
        },
        "replicas": 1,
        "standbys": 1,
        "deletionPolicy": "Delete",
    }


def files(s3: S3Server) -> list[str]:
    """What is in the store."""
    return sorted(str(path) for path in (s3.folder / "bucket").rglob("*") if path.is_file())


def test_a_job_works_through_tls_and_passwords_and_its_standby_takes_over(
    secured: Secured,
    s3: S3Server,
    tandem: str,  # noqa: ARG001, it must be installed
    kubectl: Kubectl,
) -> None:
    kubectl.apply(*secrets(secured))
    servers = Cluster(secured.kafka, secured.zookeeper)
    with running_job(kubectl, servers, "secured", **spec(secured, s3)) as job:
        job.when_staffed(1, 1)
        assert job.is_true("OrderingAvailable"), job.condition("OrderingAvailable")
        job.wait(
            lambda: job.is_true("StandbyFresh") and bool(files(s3)), START_S, "the standby proved, snapshots in S3"
        )
        killed(job)
        promoted(job)
        job.delete()
        assert files(s3) == []
        assert not [topic for topic in Topics(servers.connection).all() if topic.startswith("secured.")]


def test_a_password_that_is_refused_is_told_and_mended(
    secured: Secured,
    s3: S3Server,
    tandem: str,  # noqa: ARG001, it must be installed
    kubectl: Kubectl,
) -> None:
    name, wrong = "locked-out", "a-guess"
    kubectl.apply(*secrets(secured, wrong))
    submit(kubectl, Cluster(secured.kafka, secured.zookeeper), name, **spec(secured, s3))

    def said() -> Object:
        conditions = kubectl.get("rsj", name).get("status", {}).get("conditions", ())
        return next((one for one in conditions if one["type"] == "Progressing"), {})

    kubectl.wait(lambda: said().get("reason") == "Refused", START_S, "the job says that it is refused")
    assert f"Kafka at {secured.kafka.sasl_bootstrap} refused the connection" in said()["message"]
    assert "spec.kafka.secretProperties" in said()["message"]
    assert wrong not in kubectl("logs", f"-ltandem.dev/job={name}", "--all-containers", "--prefix")

    kubectl.apply(*secrets(secured))
    kubectl.wait(lambda: holds(kubectl.get("rsj", name), "Ready"), START_S, "with the right password it works")
    kubectl("delete", "rsj", name, "--timeout=180s", timeout_s=200)


def killed(job: ClusterJob) -> None:
    """The pod of who publishes is killed: the standby takes over, and another one comes."""
    _, pod = job.publishing()
    with job.output_goes_on(MASKED_S):
        job.kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")
        job.flows_on(2_000)
    job.when_staffed(1, 1)


def promoted(job: ClusterJob) -> None:
    """A switchover, by a task that has to know the passwords, too."""
    standby = one_of(job, "standby")
    with job.output_goes_on(MASKED_S):
        plugin(job, "promote", standby)
        job.flows_on(2_000)
    job.wait(lambda: job.publisher() == standby, 60, f"{standby} publishes")
