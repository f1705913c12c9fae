"""`kubectl tandem`: kubectl finds it as `kubectl-tandem` on the PATH."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated, Final, TypeVar

import typer
from kubernetes import client, config
from kubernetes.config import ConfigException
from pydantic import ValidationError
from rich.console import Console
from rich.live import Live
from urllib3.exceptions import HTTPError

from tandem.manifest import KIND
from tandem.process.info import ExitCode, stop_on_signals
from tandem.status.page import Page, Verdict, console, fit, show
from tandem.waiting import Deadline, wait_until
from tandem_operator.actions import Object
from tandem_operator.api import Api, ApiError
from tandem_operator.plugin.lanes import has_lanes, lanes_of, lanes_page
from tandem_operator.plugin.screen import now_utc, page
from tandem_operator.resources.names import JOB, LANES_OF, PREFIX
from tandem_operator.status import Request

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Inspect and control ReplicatedStreamJobs.")

Job = Annotated[str, typer.Argument(metavar="JOB", help="The job's name")]
Replica = Annotated[str, typer.Argument(metavar="REPLICA", help="E.g. replica-0; kubectl tandem status lists them")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Default: that of the current context")]
Context = Annotated[str, typer.Option(help="Of the kubeconfig. Default: the current one")]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help="How long to wait for the operator; 0: not at all")]

_WATCH_EVERY_S: Final = 2.0
_FOLLOWED: Final = 50
"""So many containers of a job, or of each of its lanes, `kubectl logs --follow` may follow."""
_Answer = TypeVar("_Answer")


@app.command()
def status(
    job: Job,
    watching: Annotated[
        bool, typer.Option("--watch", "-w", help=f"Every {_WATCH_EVERY_S:.0f} s, until Ctrl-C")
    ] = False,
    namespace: Namespace = "",
    context: Context = "",
) -> None:
    """Is it safe? Who publishes? How far behind is each? When was the last failover, and how long was the gap?"""
    api, where = _connect(namespace, context)
    out = console()
    first = _told(lambda: _look(api, where, job), where, job)
    if watching:
        _told(lambda: _watch(out, lambda: _look(api, where, job), first), where, job)
    else:
        show(out, first)


@app.command()
def promote(
    job: Job, replica: Replica, timeout: Timeout = 180, namespace: Namespace = "", context: Context = ""
) -> None:
    """Planned switchover: a standby becomes active, and the active that it replaces becomes a standby."""
    _request("promote", job, replica, timeout, namespace, context)


@app.command()
def drain(job: Job, replica: Replica, timeout: Timeout = 180, namespace: Namespace = "", context: Context = "") -> None:
    """A standby takes over from a replica, which then gets a new pod, e.g. to service its node."""
    _request("drain", job, replica, timeout, namespace, context)


@app.command()
def fence(job: Job, replica: Replica, timeout: Timeout = 180, namespace: Namespace = "", context: Context = "") -> None:
    """Delete a replica's pod at once, without a handover: for one that misbehaves. The others continue."""
    _request("fence", job, replica, timeout, namespace, context)


@app.command()
def savepoint(
    job: Job,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the savepoint")],
    timeout: Timeout = 180,
    namespace: Namespace = "",
    context: Context = "",
) -> None:
    """Name the newest snapshot, so that it is kept, and can be started from."""
    _request("savepoint", job, name, timeout, namespace, context)


@app.command()
def suspend(job: Job, namespace: Namespace = "", context: Context = "") -> None:
    """Delete the job's pods, and keep everything else: `resume` continues where it stopped."""
    _change(job, {"spec": {"suspend": True}}, namespace, context)
    typer.echo(f"{job} will be suspended")


@app.command()
def resume(job: Job, namespace: Namespace = "", context: Context = "") -> None:
    """Start a suspended job again."""
    _change(job, {"spec": {"suspend": False}}, namespace, context)
    typer.echo(f"{job} will be resumed")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def logs(arguments: typer.Context, job: Job, namespace: Namespace = "", context: Context = "") -> None:
    """The logs of all processes of a job. Further options go to kubectl logs, e.g. --follow --since 5m."""
    scope = [*(["--namespace", namespace] if namespace else []), *(["--context", context] if context else [])]
    label, lanes = _label_of_pods(job, namespace, context)
    most = str(_FOLLOWED * lanes)
    selector = ["--selector", f"{label}={job}", "--all-containers", "--prefix", "--max-log-requests", most]
    os.execvp("kubectl", ["kubectl", *scope, "logs", *selector, *arguments.args])  # noqa: S606, S607 - the user's own kubectl


def _label_of_pods(job: str, namespace: str, context: str) -> tuple[str, int]:
    """By which label a job's pods are found, and how many lanes it has. One that cannot be read may have pods, too."""
    api, where = _connect(namespace, context)
    try:
        body = api.get(KIND, where, job)
    except (ApiError, HTTPError):
        return JOB, 1
    return (LANES_OF, max(1, lanes_of(body))) if has_lanes(body) else (JOB, 1)


def _request(name: str, job: str, value: str, timeout_s: float, namespace: str, context: str) -> None:
    """Write a request into an annotation, and wait for what becomes of it."""
    api, where = _connect(namespace, context)
    requested = f"{value}@{now_utc():%Y%m%dT%H%M%S}"  # so that the same can be requested again
    request = {"metadata": {"annotations": {f"{PREFIX}{name}": requested}}}
    _told(lambda: api.merge(KIND, where, job, request), where, job)
    found: Request | None = None
    trouble = ""

    def is_over() -> bool:
        nonlocal found, trouble
        try:
            body = api.get(KIND, where, job)
        except (ApiError, HTTPError) as error:
            if isinstance(error, ApiError) and not error.is_passing:
                raise
            trouble = f" {_unreachable(error)}."  # the request is written: only its outcome is not known yet
            return False
        trouble = ""
        answer = body.get("status", {}).get("requests", {}).get(name)
        found = None if answer is None else Request.model_validate(answer)
        return found is not None and found.value == requested and found.outcome != "Pending"

    if not timeout_s:
        typer.echo(f"{name} {value} is requested")
    elif not _told(lambda: wait_until(is_over, Deadline(timeout_s), 0.5), where, job) or found is None:
        what = f"Not done within {timeout_s:.0f} s; it is still requested."
        typer.echo(f"{what}{trouble} kubectl describe rsj {job}", err=True)
        raise typer.Exit(ExitCode.FAILED)
    else:
        typer.echo(found.message or f"{name} {value}: {found.outcome}", err=found.outcome == "Refused")
        raise typer.Exit(ExitCode.OK if found.outcome == "Done" else ExitCode.FAILED)


def _change(job: str, change: Object, namespace: str, context: str) -> None:
    api, where = _connect(namespace, context)
    _told(lambda: api.merge(KIND, where, job, change), where, job)


def _look(api: Api, namespace: str, job: str) -> Page:
    """How the job stands. Raises `ApiError`, `HTTPError`."""
    body = api.get(KIND, namespace, job)
    if not has_lanes(body):
        return page(body, _pods(api, namespace, {JOB: job}), now_utc())
    labels = {LANES_OF: job}
    return lanes_page(body, api.list(KIND, namespace, labels), _pods(api, namespace, labels), now_utc())


def _pods(api: Api, namespace: str, labels: Mapping[str, str]) -> Sequence[Object] | None:
    try:
        return api.list("Pod", namespace, labels)
    except ApiError as error:
        if error.status == 403:  # who may see jobs may not see pods, perhaps
            return None
        raise


def _watch(out: Console, look: Callable[[], Page], shown: Page) -> None:
    """Show it until somebody stops it. While the API server does not answer, what was seen last stays."""
    stopping = stop_on_signals()
    with Live(console=out, auto_refresh=False) if out.is_terminal else nullcontext() as display:
        while True:
            if display is None:
                show(out, shown)
            else:
                display.update(fit(out, shown), refresh=True)
            if stopping.wait(_WATCH_EVERY_S):
                return
            try:
                shown = look()
            except (ApiError, HTTPError) as error:
                if isinstance(error, ApiError) and not error.is_passing:
                    raise
                shown = replace(shown, verdict=Verdict("unknown", f"NOT KNOWN: {_unreachable(error)}"))


def _told(call: Callable[[], _Answer], namespace: str, job: str) -> _Answer:
    try:
        return call()
    except ApiError as error:
        what = f"There is no job {job} in namespace {namespace}" if error.status == 404 else str(error)
        typer.echo(what, err=True)
        raise typer.Exit(ExitCode.FAILED) from error
    except HTTPError as error:
        typer.echo(_unreachable(error), err=True)
        raise typer.Exit(ExitCode.FAILED) from error
    except ValidationError as error:
        typer.echo(f"The status of {job} was written by a newer operator: update kubectl-tandem", err=True)
        raise typer.Exit(ExitCode.FAILED) from error


def _unreachable(error: ApiError | HTTPError) -> str:
    what = "does not answer" if isinstance(error, ApiError) else "cannot be reached"
    return f"The API server {what}: {getattr(error, 'reason', None) or error}"


def _connect(namespace: str, context: str) -> tuple[Api, str]:
    try:
        contexts, current = config.list_kube_config_contexts()
        config.load_kube_config(context=context or None)
    except ConfigException as error:
        typer.echo(f"There is no cluster: set KUBECONFIG ({error})", err=True)
        raise typer.Exit(ExitCode.USAGE) from error
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # it would tell of every attempt
    chosen = next((one for one in contexts if one["name"] == context), current)
    return Api(client.ApiClient()), namespace or chosen.get("context", {}).get("namespace", "default")
