"""A process that cannot have its metrics port says which field of the manifest that is, and what to do."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from tandem.local.restarts import Ending, RestartPolicy, Then, decide
from tandem.process.ending import End, EndKind
from tandem.process.entry import Lifecycle
from tandem.process.errors import PortTakenError
from tandem.process.info import ExitCode
from tandem.status.report import OrdererReport
from tandem.status.serving import LOOPBACK, Probes
from unit.local.heartbeat_job import heartbeat_job

PROBES = Probes(lambda: False, lambda: True, lambda: OrdererReport("replica-1"))


def refused(folder: Path, port: int) -> tuple[str, ExitCode]:
    """What a replica says that is to serve on that port, and what it exits with."""
    lifecycle, job = Lifecycle("replica-1", "replica", folder), heartbeat_job(folder)
    with pytest.raises(PortTakenError) as caught:  # noqa: SIM117
        with lifecycle.announced(job, CollectorRegistry(), PROBES, (LOOPBACK, port)):
            raise AssertionError("it serves")
    return str(caught.value), lifecycle.ended(caught.value)


def test_a_port_that_is_taken_is_reported_with_the_field_that_it_follows_from(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        said, code = refused(tmp_path, port)

    assert f"replica-1 cannot serve its metrics on port {port}: Address already in use" in said
    assert "Replica i has port spec.metrics.port + i. End what listens there, or set spec.metrics.port to" in said
    end = End.read(tmp_path, "replica-1")
    assert end is not None
    assert (end.kind, end.reason, code) == (EndKind.UNREACHABLE, said, ExitCode.REFUSED)
    first = Ending(code, 1.0, 0, end.kind, came_up=False)
    assert decide(RestartPolicy(), first).then is Then.STOP_JOB, "a mistake of the manifest"
    assert decide(RestartPolicy(), replace(first, job_ran=True)).then is Then.RESTART, "another may end what has it"


def test_a_port_that_does_not_exist_is_no_bare_error_either(tmp_path: Path) -> None:
    assert "replica-1 cannot serve its metrics on port 65536: " in refused(tmp_path, 65_536)[0]


def test_in_a_pod_another_container_has_the_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "flights-replica-1-abcde")
    with socket.create_server((LOOPBACK, 0)) as other:
        said, _ = refused(tmp_path, other.getsockname()[1])

    assert "Give the other container of the pod that listens there another port, in spec.podTemplate" in said
    assert "spec.metrics.port" not in said
