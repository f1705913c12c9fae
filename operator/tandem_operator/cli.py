"""The operator's command line."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable
from typing import Annotated, Final

import kopf
import typer
from kubernetes import client, config
from kubernetes.config import ConfigException
from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from urllib3.exceptions import HTTPError

from tandem import logs
from tandem.manifest import KIND
from tandem.process.info import ExitCode
from tandem.waiting import Deadline, wait_until
from tandem_operator.actions import Verb
from tandem_operator.api import Api, ApiError
from tandem_operator.begun import Clocks
from tandem_operator.kopf_lines import KopfLines
from tandem_operator.loop import Loop
from tandem_operator.metrics import OperatorMetrics
from tandem_operator.reach import Reach
from tandem_operator.reconciler import Reconciler
from tandem_operator.reports import Reports
from tandem_operator.resources import Settings
from tandem_operator.resources.settings import USER
from tandem_operator.server_clock import ServerClock
from tandem_operator.store import Store
from tandem_operator.wiring import Scope, registry_of, settings

app = typer.Typer(no_args_is_help=True, add_completion=False, help="The operator of ReplicatedStreamJobs.")

_INSTALL: Final = " Install the CRD: kubectl apply -f crds/"
_INSTALLED_S: Final = 30.0
"""For so long after the CRD was made the API server may not know the kind yet."""
_LOOK_S: Final = 1.0
_CHOOSES = "empty: the platform chooses"

Namespaces = Annotated[
    str, typer.Option(help="Look for jobs only there, several separated by commas. Default: in all namespaces")
]


@app.command()
def run(
    default_image: Annotated[str, typer.Option(help="The image of jobs that name none")],
    namespaces: Namespaces = "",
    health_port: Annotated[int, typer.Option(help="Port of /healthz")] = 8080,
    metrics_port: Annotated[int, typer.Option(help="Port of /metrics")] = 9090,
    log_level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR")] = "INFO",
    run_as_user: Annotated[str, typer.Option(help=f"User of the jobs' pods; {_CHOOSES}")] = str(USER),
    run_as_group: Annotated[str, typer.Option(help=f"Group of the jobs' pods; {_CHOOSES}")] = str(USER),
    fs_group: Annotated[str, typer.Option(help=f"Group of what the jobs' pods mount; {_CHOOSES}")] = str(USER),
) -> None:
    """Look after all jobs until SIGTERM. Run one operator at a time; jobs keep their promise without any."""
    logs.configure(log_level, component="operator")
    KopfLines().install()
    scope = Scope(_names(namespaces))
    own = os.environ.get("POD_NAMESPACE", "tandem-system")
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    start_http_server(metrics_port, "::" if socket.has_dualstack_ipv6() else "0.0.0.0", registry)  # noqa: S104
    metrics = OperatorMetrics(registry)
    ids = [int(text) if text else None for text in (run_as_user, run_as_group, fs_group)]
    given = Settings(default_image, own, run_as_user=ids[0], run_as_group=ids[1], fs_group=ids[2])
    clock = ServerClock()
    api = _api(metrics.asked, clock.saw)
    if not wait_until(lambda: _is_known(api, scope.namespaces or (own,)), Deadline(_INSTALLED_S), _LOOK_S):
        typer.echo(f"The API server knows no {KIND}.{_INSTALL}", err=True)  # kopf would wait for ever, and seem healthy
        raise typer.Exit(ExitCode.FAILED)
    asyncio.run(_run(api, given, scope, metrics, health_port, Clocks(clock.now_ms)))


@app.command()
def check(namespaces: Namespaces = "") -> None:
    """Whether the API server answers, knows the kind, and lets us see the jobs. Exit code 0: all of that."""
    api, has_failed = _api(), False
    for namespace in _names(namespaces or os.environ.get("POD_NAMESPACE", "default")):
        try:
            jobs = api.list(KIND, namespace)
            api.list("Pod", namespace, most=1)
            typer.echo(f"{namespace}: {len(jobs)} {KIND}s")
        except ApiError as error:
            has_failed = True
            remedy = _INSTALL if error.status == 404 else ""
            typer.echo(f"{namespace}: the API server refuses: {error}.{remedy}", err=True)
    if has_failed:
        raise typer.Exit(ExitCode.FAILED)


def _names(namespaces: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in namespaces.split(","))))


def _api(asked: Callable[[Verb], None] = lambda _: None, dated: Callable[[str], None] = lambda _: None) -> Api:
    try:
        config.load_incluster_config()
    except ConfigException:
        try:
            config.load_kube_config()
        except ConfigException as error:
            typer.echo(f"There is no cluster: run this in a pod, or set KUBECONFIG ({error})", err=True)
            raise typer.Exit(ExitCode.USAGE) from error
    configuration = client.Configuration.get_default_copy()
    configuration.retries = False  # every call has one deadline; what fails is tried again by the next pass
    return Api(client.ApiClient(configuration), asked, dated)


def _is_known(api: Api, namespaces: Iterable[str]) -> bool:
    """Whether there is such a kind, or that cannot be known now: `Reach` says what else is wrong."""
    for namespace in namespaces:
        try:
            api.list(KIND, namespace, most=1)
        except ApiError as error:
            if error.status == 404:
                return False
        except HTTPError:
            return True
    return True


def _probed() -> str:
    """All addresses of the family by which the kubelet asks; kopf listens on one family only."""
    return "[::]" if ":" in os.environ.get("POD_IP", "") else "0.0.0.0"  # noqa: S104


async def _run(
    api: Api, given: Settings, scope: Scope, metrics: OperatorMetrics, health_port: int, clocks: Clocks
) -> None:
    store, reports = Store(), Reports()
    reconciler = Reconciler(api, store, reports, given, metrics, socket.gethostname(), clocks)
    reach = Reach(api, scope.namespaces, metrics)
    loop = Loop(reach.guarding(reconciler.reconcile), metrics, reconciler.forget)
    looking = asyncio.create_task(reach.watch(), name="reach")
    try:
        await kopf.operator(
            registry=registry_of(store, loop, scope),
            settings=settings(),
            standalone=True,
            clusterwide=scope.is_clusterwide,
            namespaces=scope.namespaces,
            liveness_endpoint=f"http://{_probed()}:{health_port}/healthz",
        )
    finally:
        looking.cancel()
        await loop.stop()
        await reports.close()
