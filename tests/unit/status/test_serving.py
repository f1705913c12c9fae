"""What a process serves over HTTP."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from prometheus_client import CollectorRegistry, Gauge

from tandem.core.failovers import Failover
from tandem.status.report import OrdererReport, ReplicaReport, decode, encode
from tandem.status.serving import Probes, ProcessServer


@dataclass
class Process:
    stuck: bool = False
    ready: bool = False


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
def port(process: Process) -> Iterator[int]:
    registry = CollectorRegistry()
    Gauge("height", "m", registry=registry).set(12)
    probes = Probes(lambda: process.stuck, lambda: process.ready, lambda: OrdererReport("orderer-0", process.ready, 7))
    server = ProcessServer(registry, probes, 0)
    yield server.port
    server.close()


def get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_metrics_are_served(port: int) -> None:
    status, body = get(port, "/metrics")

    assert status == 200
    assert b"height 12.0" in body


def test_health_and_readiness_follow_the_process(port: int, process: Process) -> None:
    assert (get(port, "/healthz")[0], get(port, "/readyz")[0]) == (200, 503)

    process.stuck, process.ready = True, True

    assert (get(port, "/healthz")[0], get(port, "/readyz")[0]) == (503, 200)


def test_the_report_can_be_read_back(port: int) -> None:
    status, body = get(port, "/status")

    assert status == 200
    assert decode(body) == OrdererReport("orderer-0", leading=False, epoch=7)


def test_another_path_is_not_found_and_says_which_there_are(port: int) -> None:
    status, body = get(port, "/secrets")

    assert status == 404
    assert b"/metrics" in body


def test_a_whole_report_of_a_replica_can_be_read_back() -> None:
    report = ReplicaReport(
        "replica-1",
        "flights.replica-1.aa",
        "active",
        ready=True,
        epoch=12,
        failover=Failover(11, "flights.replica-0.bb", "flights.replica-1.aa", 230, 1_700_000_000_000),
        slots={0: "flights.replica-1.aa"},
        roles={"flights.replica-1.aa": "is at the head"},
    )

    assert decode(encode(report)) == report


@pytest.mark.parametrize("content", [b"", b"{}", b"<html>", b'{"replica": "replica-0"}'])
def test_something_else_is_no_report(content: bytes) -> None:
    with pytest.raises(ValueError, match="no report of a process"):
        decode(content)
