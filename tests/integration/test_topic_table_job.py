"""Real replicas of a job with a table: each event meets what the log says, whoever computes, restores or takes over."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from integration.apart import STAFFED_S, metric, running_apart
from integration.ruled_job import VERSIONS, Rules
from integration.workload import Cluster, Workload
from tandem.devservers import KafkaBroker, ZooKeeperServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


@pytest.fixture(params=["microBatch", "realTime"])
def job(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Workload, Rules]]:
    """An active and a standby that share no folder."""
    cluster, name = Cluster(kafka, zookeeper), f"table-{uuid.uuid4().hex[:6]}"
    rules = Rules(cluster, name)
    sources = rules.sources(f"{name}-in")
    ordering = {"mode": "leader", "minEpochInterval": "200ms", "maxRecordsPerEpoch": 500}
    spec = {}
    if request.param == "realTime":
        ordering["barrierInterval"], spec = "2s", {"engine": "realTime"}
    with running_apart(tmp_path, cluster, name, code=VERSIONS, sources=sources, ordering=ordering, **spec) as workload:
        yield workload, rules


@pytest.mark.thorough
def test_every_event_meets_the_table_that_the_log_has_whoever_dies(job: tuple[Workload, Rules]) -> None:
    workload, rules = job
    for _ in range(2):
        (active,), (standby,) = workload.when_staffed(1, 1, STAFFED_S)
        workload.wait(
            lambda standby=standby: metric(workload, standby, "tandem_standby_verified_epoch") > 0,  # type: ignore[misc]
            90,
            f"{standby} proves its state",
        )
        rules.change()
        workload.flows_on(200)
        workload.job.kill(active)
        rules.change()
        workload.flows_on(200)
        workload.wait(
            lambda standby=standby: workload.roles()[0] == [standby],  # type: ignore[misc]
            60,
            f"{standby} at the head",
        )
        assert not workload.logged(standby, "followed_state_wrong")
    check_versions(workload, rules)


def check_versions(workload: Workload, rules: Rules) -> None:
    """Each event has met a rule, no event an older version than an earlier one of its key, and the last ones the newest."""
    workload.check_copied_once()
    newest = workload.reader.newest
    workload.wait(lambda: workload.reader.has_passed(newest), 30, f"rows after those of epoch {newest}")
    copies, met = workload.reader.rows_until(newest)
    assert sum(map(len, met.values())) == len(copies), "an event met no rule: the table was not whole"
    for key, rows in met.items():
        assert all(before <= after for (_, before), (_, after) in pairwise(rows)), key
    assert {rows[-1][1] for rows in met.values()} == {rules.version}
