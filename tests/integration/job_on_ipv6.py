"""Run by `test_ipv6_only` on a machine that others reach by IPv6 alone: a job goes through what jobs go through.

python -m integration.job_on_ipv6 FOLDER ADDRESS
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from urllib.request import urlopen

from integration.workload import Cluster, Workload, write_manifest
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.listening import EVERYWHERE
from tandem.local.plan import PlannedProcess
from tandem.status.report import OrdererReport, ReplicaReport
from tandem_operator.reports import Reports

NAME = "six"
REPLICAS = ("replica-0", "replica-1", "replica-2")


def main(folder: Path, address: str) -> None:
    """Two active replicas and a standby; the one that publishes is killed, and each record comes once."""
    be_started_as_in_pods(address)
    with (
        KafkaBroker(folder / "kafka", host=address) as kafka,
        ZooKeeperServer(folder / "zookeeper", host=address) as zookeeper,
    ):
        assert kafka.bootstrap.startswith(f"[{address}]:")
        servers = {"connect": f"[{address}]:1,{zookeeper.connect}/tandem"}  # of several, one that answers is taken
        cluster = Cluster(kafka, zookeeper)
        spec: dict[str, object] = {"replicas": 2, "standbys": 1, "zookeeper": servers}
        workload = Workload(cluster, write_manifest(folder / "job", cluster, NAME, **spec), NAME)
        workload.job.start()
        try:
            workload.when_staffed(2, 1)
            check_probes(workload, address)
            victim = workload.publisher()
            with workload.output_goes_on(30.0):
                workload.job.kill(victim)
                workload.flows_on(400)
            assert victim in ended(workload), workload.story()
            workload.check_exactly_once()
        finally:
            workload.close()


def be_started_as_in_pods(address: str) -> None:
    """As the operator starts processes: they listen everywhere, and are told which address others reach them by."""
    argv = PlannedProcess.argv

    def as_in_a_pod(*given: object, **named: object) -> tuple[str, ...]:
        return (*argv(*given, **named), "--metrics-address", EVERYWHERE)  # type: ignore[arg-type]

    PlannedProcess.argv = as_in_a_pod  # type: ignore[method-assign]
    os.environ["POD_IP"] = address


def check_probes(workload: Workload, address: str) -> None:
    """The kubelet and the operator ask at the pod's address."""
    ports = {name: workload.job.announcement(name).metrics_port for name in workload.job.names}  # type: ignore[union-attr]
    for name in REPLICAS:
        with urlopen(f"http://[{address}]:{ports[name]}/readyz", timeout=10) as answer:
            assert answer.status == 200
    told = asyncio.run(asked([(address, port) for port in ports.values()]))
    assert {one.replica for one in told if isinstance(one, ReplicaReport)} == set(REPLICAS)
    assert sum(one.leading for one in told if isinstance(one, OrdererReport)) == 1


async def asked(addresses: list[tuple[str, int]]) -> list[ReplicaReport | OrdererReport]:
    reports = Reports()
    try:
        return list((await reports.of(addresses)).values())
    finally:
        await reports.close()


def ended(workload: Workload) -> set[str]:
    """The replicas of which others have learnt by their connections that they ended: that is by IPv6, too."""
    told = [line["incarnation"] for name in REPLICAS for line in workload.logged(name, "replica_ended")]
    return {name for name in REPLICAS if any(name in incarnation for incarnation in told)}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
