"""`kubectl tandem` of a job with lanes: its lanes' jobs and their pods."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tandem.manifest import KIND
from tandem.status.page import show
from tandem_operator.api import ApiError
from tandem_operator.plugin import cli
from tandem_operator.plugin.lanes import has_lanes, lanes_page
from tandem_operator.resources.names import JOB, LANE, LANES_OF
from unit.operator import test_plugin_screen as screen

LABELS = {LANES_OF: "flights"}


def _whole(**status: Any) -> dict[str, Any]:
    body = screen.body(*screen.WHOLE, members=[], lanes="2/2", active="2/2", standby="0/0", **status)
    return {**body, "spec": {"lanes": 2}}


def _lane(lane: int) -> dict[str, Any]:
    name = f"flights-lane-{lane}"
    member = {"name": "replica-0", "pod": f"{name}-replica-0-x", "role": "active", "epoch": 7, "ready": True}
    body = screen.body(*screen.WHOLE, members=[member], epoch=7 + lane, active="1/1")
    labels = {**LABELS, LANE: str(lane)}
    spec = {"lanes": 2, "laneOf": {"job": "flights", "lane": lane}}
    return {**body, "metadata": {**body["metadata"], "name": name, "labels": labels}, "spec": spec}


def _pod(lane: int, ready: str = "True") -> dict[str, Any]:
    pod = screen.pod(ready, f"flights-lane-{lane}-replica-0-x")
    labels = {**LABELS, JOB: f"flights-lane-{lane}"}
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}


LANES, PODS = (_lane(0), _lane(1)), (_pod(0), _pod(1))


def _lines(whole: dict[str, Any], lanes: Sequence[Any] = LANES, pods: Sequence[Any] | None = PODS) -> str:
    out = Console(file=io.StringIO(), width=160)
    show(out, lanes_page(whole, lanes, pods, screen.NOW))
    assert isinstance(out.file, io.StringIO)
    found = [" ".join(line.split()) for line in out.file.getvalue().splitlines()]
    return "\n".join(line for line in found if "──" not in line)


def test_all_lanes_are_shown() -> None:
    assert (
        _lines(_whole())
        == """\
streaming/flights Running · 2 lanes · leader · exactlyOnce
Safe: a failure of any one replica is masked

Lane Phase Active Standby Epoch Lag Publisher Job
0 Running 1/1 1/1 7 12 replica-0 flights-lane-0
1 Running 1/1 1/1 8 12 replica-0 flights-lane-1

Lanes 2/2 ready
Lag 12 records that no replica of the slowest lane has computed yet
Replicas 2/2 active, 0/0 standbys
Measured 40 s ago"""
    )


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        ((_pod(0), _pod(1, "False")), "NOT SAFE: not ready: replica-0 of lane 1"),
        ((_pod(0),), "NOT SAFE: not ready: replica-0 of lane 1"),
        (None, "You may not list its pods"),
    ],
)
def test_a_pod_that_kubernetes_does_not_call_ready_outweighs_a_status_that_is_older(pods: Any, said: str) -> None:
    assert said in _lines(_whole(), pods=pods)


def test_a_lane_without_a_job_is_not_safe() -> None:
    assert "NOT SAFE: not ready: lane 1, which has no job" in _lines(_whole(), LANES[:1])


def test_lanes_that_are_not_as_they_should_be_are_listed() -> None:
    degraded = [{"lane": 1, "phase": "Degraded", "message": "1 of 2 active replicas"}]
    assert "! lane 1 is Degraded: 1 of 2 active replicas" in _lines(_whole(degradedLanes=degraded))


def _change(stage: str, before: int = 1, to: int = 4) -> dict[str, Any]:
    return {"before": before, "to": to, "stage": stage, "generation": 4, "since": "2026-11-21T21:04:00Z"}


@pytest.mark.parametrize("stage", ["Checking", "Stopping", "Dividing", "Refused", None])
def test_a_job_of_one_lane_that_is_to_get_four_is_shown_as_it_runs(monkeypatch: pytest.MonkeyPatch, stage: Any) -> None:
    change = {} if stage is None else {"laneChange": _change(stage)}
    whole = {**screen.body(*screen.WHOLE, active="1/1", **change), "spec": {"lanes": 4}}
    pod = screen.pod()
    pod = {**pod, "metadata": {**pod["metadata"], "labels": {JOB: "flights"}}}
    api = _Api({"flights": whole}, (pod,))
    monkeypatch.setattr(cli, "_connect", lambda *_: (api, "streaming"))

    output = CliRunner().invoke(cli.app, ["status", "flights"]).output

    assert "Safe: " in output
    assert "flights-replica-0-x" in output
    assert cli._label_of_pods("flights", "", "") == (JOB, 1)


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        (4, {"laneChange": _change("Beginning")}, True),
        (4, {"laneChange": _change("Checking", before=2)}, True),
        (1, {"laneChange": _change("Checking", before=2, to=1)}, True),
        (1, {"lanes": "2/2"}, True),
        (4, {}, True),
        (1, {}, False),
    ],
)
def test_a_job_has_lanes_when_they_begin(spec: int, status: dict[str, Any], expected: bool) -> None:
    assert has_lanes({"spec": {"lanes": spec}, "status": status}) is expected


class _Api:
    """An API server with one job with two lanes, and a lane's job that one asks for by its name."""

    def __init__(self, jobs: dict[str, Any] | None = None, pods: Sequence[Any] = PODS) -> None:
        self.jobs = jobs or {"flights": _whole(), "flights-lane-1": LANES[1]}
        self.pods = pods

    def get(self, kind: str, namespace: str, name: str) -> Mapping[str, Any]:
        assert (kind, namespace) == (KIND, "streaming")
        if name not in self.jobs:
            raise ApiError(403, "Forbidden", "no")
        return self.jobs[name]

    def list(self, kind: str, namespace: str, selector: Mapping[str, str]) -> list[Mapping[str, Any]]:
        assert namespace == "streaming"
        things = LANES if kind == KIND else self.pods
        return [one for one in things if selector.items() <= one["metadata"]["labels"].items()]


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_connect", lambda *_: (_Api(), "streaming"))
    monkeypatch.setattr(cli, "now_utc", lambda: screen.NOW)


def test_status_looks_at_the_pods_of_all_lanes() -> None:
    told = CliRunner().invoke(cli.app, ["status", "flights"])
    assert (told.exit_code, "Safe: " in told.output, "flights-lane-1" in told.output) == (0, True, True), told.output
    told = CliRunner().invoke(cli.app, ["status", "flights-lane-1"])
    assert "Safe: " in told.output
    assert "flights-lane-1-replica-0-x" in told.output


@pytest.mark.parametrize(
    ("job", "selector", "most"),
    [
        ("flights", "tandem.dev/lanes-of=flights", "100"),
        ("flights-lane-1", "tandem.dev/job=flights-lane-1", "50"),
        ("secret", "tandem.dev/job=secret", "50"),
    ],
)
def test_logs_are_those_of_all_lanes(monkeypatch: pytest.MonkeyPatch, job: str, selector: str, most: str) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(cli.os, "execvp", lambda _, arguments: ran.append(arguments))
    CliRunner().invoke(cli.app, ["logs", job, "--follow"])
    (arguments,) = ran
    assert arguments[arguments.index("--selector") + 1] == selector
    assert arguments[arguments.index("--max-log-requests") + 1] == most
    assert arguments[-1] == "--follow"
