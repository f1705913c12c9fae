"""Planned switchover, drain and SIGTERM of real replicas under load: readers notice nothing, and nothing is lost."""

from __future__ import annotations

import json
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from typer.testing import CliRunner

from integration.workload import Cluster, Workload, write_manifest
from tandem.cli.main import app
from tandem.coordination.handover import MarkerWatch, Requester, Switched, switch
from tandem.core.active_role import ActiveRoleSettings
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.scrape import scrape
from tandem.protocol.switchover import Stage, plan_promotion

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

UNNOTICED_S = 1.0
"""Nobody asks about a gap as short as this, whatever the others are."""
COPIES = """
def job(events):
    rows = events.select("key", "value")
    return {"copies": rows, "counts": rows}
"""
STAFFED_S = 300.0


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workload]:
    """One active replica and one standby, each with an orderer."""
    folder = tmp_path_factory.mktemp("switchover")
    name = f"switchover-{uuid.uuid4().hex[:6]}"
    with KafkaBroker(folder / "kafka") as kafka, ZooKeeperServer(folder / "zookeeper") as zookeeper:
        cluster = Cluster(kafka, zookeeper)
        patient = {
            "connect": zookeeper.connect,
            "sessionTimeout": "10s",
        }  # here, and below: a busy machine is not silent
        spec = {"replicas": 1, "standbys": 1, "zookeeper": patient, "takeOver": {"minBound": "2s", "maxBound": "2s"}}
        manifest = write_manifest(folder / "job", cluster, name, COPIES, **spec)
        workload = Workload(cluster, manifest, name)
        workload.job.start()
        try:
            yield workload
            workload.check_copied_once()
        finally:
            workload.close()


@pytest.fixture
def pair(workload: Workload) -> tuple[str, str]:
    """The active replica and the standby, when the job is whole."""
    (active,), (standby,) = workload.when_staffed(1, 1, STAFFED_S)
    return active, standby


def tandem(workload: Workload, command: str, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a command on the running job."""
    where = ("--run-directory", str(workload.job.run_directory))
    result = CliRunner().invoke(app, [command, workload.name, *arguments, *where])
    return result.exit_code, result.output


@contextmanager
def unnoticed(workload: Workload) -> Iterator[None]:
    """While the block runs, no gap in the output stands out: a machine that is busy makes all of them long, not one."""
    began = time.monotonic()
    yield
    times = [began, *(at for at in list(workload.reader.times) if at > began), time.monotonic()]
    third, _, longest = sorted(b - a for a, b in pairwise(times))[-3:]
    assert longest <= max(UNNOTICED_S, 3 * third), f"a gap of {longest:.1f} s stands out\n{workload.story()}"


def options(workload: Workload) -> dict[str, Any]:
    return {"hosts": workload.cluster.zookeeper.connect, "timeout": 2.0}


def events(workload: Workload, replica: str) -> str:
    return workload.job.log_file(replica).read_text()


def last(workload: Workload, replica: str, event: str) -> float:
    """When a replica last logged an event, Unix s."""
    lines = [json.loads(line) for line in events(workload, replica).splitlines() if f'"event": "{event}"' in line]
    return datetime.fromisoformat(lines[-1]["timestamp"]).timestamp()


@pytest.mark.thorough
def test_a_promoted_standby_takes_over_without_a_gap_and_the_other_stands_by(
    workload: Workload, pair: tuple[str, str]
) -> None:
    active, standby = pair
    with unnoticed(workload):
        code, output = tandem(workload, "promote")
        workload.flows_on(200)

    assert code == 0, output
    assert f"{standby} is active, {active} stands by again" in output
    assert f"{active} published up to epoch" in output
    assert "longest time without an epoch" in output
    both_s = last(workload, standby, "took_over_slot") - last(workload, standby, "first_epoch")
    assert both_s >= ActiveRoleSettings().settled_ms / 1000, (
        "who leaves computes on while its successor's first epochs are slow"
    )
    workload.when_staffed(1, 1, STAFFED_S)
    assert workload.roles() == ([standby], [active])
    assert workload.leader() == standby.replace("replica", "orderer"), "the orderer beside the old active has resigned"


@pytest.mark.thorough
def test_a_standby_killed_while_it_takes_over_leaves_the_active_in_its_place(
    workload: Workload, pair: tuple[str, str]
) -> None:
    active, standby = pair
    pid = workload.job.process(active).pid
    killed: list[str] = []

    def kill_when_it_catches_up(stage: Stage) -> None:
        if stage is Stage.CATCHING_UP and not killed:
            workload.job.kill(standby)
            killed.append(standby)

    with unnoticed(workload):
        switched = promoted(workload, kill_when_it_catches_up)
        workload.flows_on(200)

    assert killed == [standby]
    assert switched.stage is Stage.SUCCESSOR_GONE
    workload.when_staffed(1, 1, STAFFED_S)
    assert workload.roles() == ([active], [standby])
    assert workload.job.process(active).pid == pid, "it has not even stepped down"


def promoted(workload: Workload, seen: Any) -> Switched:
    with (
        Requester.connected(options(workload), workload.name) as requester,
        MarkerWatch(workload.cluster.connection, f"{workload.name}.commits") as watch,
    ):
        before = requester.look()
        return switch(requester, plan_promotion(before, None, None, "w1"), before, watch, 120.0, seen)


@pytest.mark.thorough
def test_a_request_that_is_withdrawn_on_the_way_ends_with_the_old_roles(
    workload: Workload, pair: tuple[str, str]
) -> None:
    active, standby = pair

    def give_up(stage: Stage) -> None:
        if stage is Stage.CATCHING_UP:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        promoted(workload, give_up)

    workload.when_staffed(1, 1, STAFFED_S)
    assert workload.roles() == ([active], [standby])


@pytest.mark.thorough
def test_a_drained_replica_stays_down_until_it_is_started(workload: Workload, pair: tuple[str, str]) -> None:
    active, standby = pair
    beside = active.replace("replica", "orderer")
    with unnoticed(workload):
        code, output = tandem(workload, "drain", active)
        workload.flows_on(200)

    assert code == 0, output
    assert f"{active} is drained" in output
    assert f"tandem start {workload.name} {active} brings it back" in output
    assert workload.job.process(active).state == "down"
    workload.wait(lambda: workload.job.process(beside).state == "down", 30, f"{beside} is down")
    workload.when_staffed(1, 0, STAFFED_S)
    assert workload.roles() == ([standby], [])

    assert tandem(workload, "drain", standby) == (
        1,
        f"Not done: {standby} is active and no replica stands by to take over from it; "
        "wait until one does, or give --force\n",
    )
    code, output = tandem(workload, "promote")
    assert (code, output) == (
        1,
        "Not done: no replica stands by that could take over; wait until one does: tandem status\n",
    )

    code, output = tandem(workload, "start", active)
    assert code == 0, output
    workload.when_staffed(1, 1, STAFFED_S)
    assert workload.roles() == ([standby], [active])
    assert workload.job.process(beside).state == "running"


@pytest.mark.thorough
def test_a_drained_standby_ends_at_once(workload: Workload, pair: tuple[str, str]) -> None:
    active, standby = pair
    code, output = tandem(workload, "drain", standby)

    assert code == 0, output
    assert workload.job.process(standby).state == "down"
    workload.when_staffed(1, 0, STAFFED_S)
    assert workload.roles() == ([active], [])
    assert tandem(workload, "start", standby)[0] == 0


def test_unknown_names_are_refused(workload: Workload, pair: tuple[str, str]) -> None:
    there = "Not done: there is no replica replica-9 that is up; there are: replica-0, replica-1\n"
    assert tandem(workload, "promote", "replica-9") == (1, there)
    assert tandem(workload, "drain", "replica-9") == (1, there)
    assert tandem(workload, "promote", pair[0]) == (
        1,
        f"Not done: {pair[0]} is active already; standing by: {pair[1]}\n",
    )


def test_a_replica_that_becomes_active_warns_of_inputs_that_are_not_kept(
    workload: Workload, pair: tuple[str, str]
) -> None:
    _, standby = pair
    set_policy(workload, "compact")
    assert tandem(workload, "promote")[0] == 0
    warned = '"event": "retention_thin"'
    workload.wait(lambda: warned in events(workload, standby), 30, "the warning")
    set_policy(workload, "delete")

    line = next(line for line in events(workload, standby).splitlines() if warned in line)
    assert f"{workload.name}-in/0: cleanup.policy has compact, but a restart" in line
    assert f"--entity-name {workload.name}-in --add-config cleanup.policy=delete" in line


def set_policy(workload: Workload, policy: str) -> None:
    entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, f"{workload.name}-in", incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": workload.cluster.kafka.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def gap_around(workload: Workload, replica: str, number: signal.Signals) -> float:
    """The longest time without output from a signal on until a while after the replica has ended."""
    began = time.monotonic()
    pid = workload.job.process(replica).pid
    workload.job.kill(replica, number)
    workload.wait(lambda: workload.job.process(replica).pid != pid, 60, f"{replica} has ended")
    workload.flows_on(400)
    return workload.reader.longest_gap(began, time.monotonic())


@pytest.mark.thorough
def test_a_replica_that_gets_sigterm_hands_over_before_it_ends(workload: Workload, pair: tuple[str, str]) -> None:
    active, standby = pair
    took_over = take_overs(workload, standby)
    workload.job.kill(active, signal.SIGTERM)
    workload.wait(lambda: workload.job.process(active).state == "down", 60, f"{active} ends")
    workload.flows_on(100)

    assert '"event": "handed_over"' in events(workload, active)
    assert workload.publisher() == standby
    assert take_overs(workload, standby) == took_over, (
        "an epoch was waited for until its owner had been silent too long"
    )
    workload.job.start(active)
    workload.when_staffed(1, 1, STAFFED_S)
    assert workload.roles() == ([standby], [active])


def take_overs(workload: Workload, replica: str) -> int:
    """Epochs that a replica took over from a silent owner."""
    announcement = workload.job.announcement(replica)
    assert announcement is not None
    sample = scrape(announcement.metrics_port, 5.0)
    assert sample is not None
    return sample.count("tandem_take_overs_total")
