"""A process is reached by IPv4 and by IPv6 where the machine has both, and says where in a form that others can use."""

from __future__ import annotations

import socket
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry

from tandem.coordination.beacon import Beacon, advertised_host
from tandem.engine.executors import CONF, Executors
from tandem.listening import in_brackets, is_everywhere, listen
from tandem.status.report import OrdererReport
from tandem.status.serving import Probes, ProcessServer

PROBES = Probes(lambda: False, lambda: True, lambda: OrdererReport("orderer-0"))
needs_ipv6 = pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")


def reached(address: str) -> set[str]:
    """By which loopback addresses a server at `address` is reached."""
    server = ProcessServer(CollectorRegistry(), PROBES, 0, address)
    found = set()
    for host in ("127.0.0.1", "::1"):
        try:
            with urlopen(f"http://{in_brackets(host)}:{server.port}/healthz", timeout=5) as answer:
                assert answer.status == 200
            found.add(host)
        except OSError:
            pass
    server.close()
    return found


@needs_ipv6
@pytest.mark.parametrize("address", ["", "::", "::0", "[::]"])
def test_who_listens_everywhere_is_reached_by_both_families(address: str) -> None:
    assert reached(address) == {"127.0.0.1", "::1"}


@needs_ipv6
def test_who_listens_at_one_address_is_reached_there_alone() -> None:
    assert reached("::1") == {"::1"}
    assert reached("127.0.0.1") == {"127.0.0.1"}
    assert reached("0.0.0.0") == {"127.0.0.1"}  # noqa: S104


def test_on_a_machine_without_ipv6_everywhere_is_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)

    for address in ("", "::"):
        assert reached(address) == {"127.0.0.1"}


def test_a_port_that_is_taken_is_refused() -> None:
    with listen("", 0) as first, pytest.raises(OSError, match="in use"):
        listen("", first.getsockname()[1])


@needs_ipv6
def test_a_replica_in_a_pod_with_an_ipv6_address_is_watched_there() -> None:
    advertised = advertised_host("", {"POD_IP": "::1"})
    assert advertised == "::1"
    beacon = Beacon("flights.replica-0.ab", "", advertised)
    with socket.create_connection((beacon.address.host, beacon.address.port), 5) as line, line.makefile("rb") as told:
        assert told.readline() == b"flights.replica-0.ab\n"
        beacon.close()
        assert told.readline() == b""


@pytest.mark.parametrize("bound", ["", "0.0.0.0", "::", "::0"])  # noqa: S104
def test_an_address_that_means_everywhere_is_told_to_nobody(bound: str) -> None:
    assert is_everywhere(bound)
    assert advertised_host(bound, {}) is None
    assert advertised_host(bound, {"POD_IP": "fd00::7"}) == "fd00::7"


def test_spark_gets_its_drivers_ipv6_address_in_brackets() -> None:
    conf = '{"spark.master": "k8s://x", "spark.executor.instances": "1", "spark.driver.host": "%s"}'

    for told, given in (("fd00::7", "[fd00::7]"), ("10.0.0.7", "10.0.0.7")):
        executors = Executors.of({CONF: conf % told}, "flights.replica-0.ab")
        assert executors is not None
        assert executors.given["spark.driver.host"] == given
